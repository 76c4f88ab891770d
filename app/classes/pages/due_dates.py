"""/classes/ID for a student: what is due, when it counts, and what it has earned."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request, Response

from app.classes.pages.class_head import ClassHead, assignment_url, class_head
from app.classes.pages.guard import Membership
from app.classes.pages.own_assignments import Mine, mine
from app.classes.people.assignments import assignments_of
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session
from app.site import Site
from app.site.web.frame.renderer import frame, render

_FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueLine:
    """An assignment, when it counts for this student, and the points so far."""

    href: str
    title: str
    says: tuple[str, ...]
    is_open: bool
    points: str
    tried: int
    exercises: int
    is_exam: bool
    is_late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePage:
    """The assignments of a class for one student: to do, not open yet, and over."""

    head: ClassHead
    due: tuple[DueLine, ...]
    later: tuple[DueLine, ...]
    past: tuple[DueLine, ...]
    earned: str


async def due_page(request: Request, site: Site, member: Membership) -> Response:
    """The page of a class for a student."""
    return await aside(_due, request, site, member)


def points_words(one: Mine) -> str:
    """The points so far, in words; when they are shown, while they are hidden."""
    if one.phase in ("before", "unstarted"):
        return translate("{points:g} points", points=one.assignment.points)
    if one.hidden:
        return translate("points {hidden}", hidden=one.hidden)
    return translate("{earned:.4g} of {points:g} points", earned=one.points, points=one.assignment.points)


def _due(request: Request, site: Site, member: Membership) -> Response:
    with open_session(site.engine) as session:
        all_of = [mine(session, site, member, one) for one in assignments_of(session, member.class_id)]
    shown = [one for one in all_of if not one.hidden and one.phase not in ("before", "unstarted")]
    possible = sum(one.assignment.points for one in shown)
    page = DuePage(
        head=class_head(member),
        due=_lines(one for one in all_of if one.phase in ("open", "late", "unstarted")),
        later=_lines(one for one in all_of if one.phase == "before"),
        past=_lines(one for one in all_of if one.phase == "closed"),
        earned=f"{sum(one.points for one in shown):.4g} of {possible:g}" if possible else "",
    )
    return render("people/due.html", frame(request, member.row.name, here="classes"), page)


def _lines(those: Iterable[Mine]) -> tuple[DueLine, ...]:
    ordered = sorted(those, key=lambda one: (one.dates.due or _FAR, one.assignment.id))
    return tuple(map(_due_dates_line, ordered))


def _due_dates_line(one: Mine) -> DueLine:
    return DueLine(
        href=assignment_url(one.assignment.id),
        title=one.assignment.title,
        says=tuple(one.said()),
        is_open=one.phase not in ("before", "unstarted"),
        points=points_words(one),
        tried=one.tried,
        exercises=len(one.assignment.entries),
        is_exam=bool(one.assignment.policy.sitting),
        is_late=one.phase == "late",
    )
