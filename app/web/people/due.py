"""/classes/ID for a student: what is due, and when it counts."""

from dataclasses import dataclass

from fastapi import Request, Response

from app.db.session import open_session
from app.people.assignments import assignments_of, dates_for
from app.people.local_time import in_words
from app.site import Site
from app.web.frame.aside import aside
from app.web.frame.rendering import frame, render
from app.web.people.guard import Membership
from app.web.people.head import ClassHead, assignment_url, head_of


@dataclass(frozen=True, slots=True)
class DueLine:
    """An assignment, and when it is due for this student."""

    href: str
    title: str
    says: str


@dataclass(frozen=True, slots=True)
class DuePage:
    """What is due for a student in a class."""

    head: ClassHead
    lines: tuple[DueLine, ...]


async def due_page(request: Request, site: Site, member: Membership) -> Response:
    """The page of a class for a student."""
    return await aside(_due, request, site, member)


def _due(request: Request, site: Site, member: Membership) -> Response:
    now = site.clock()
    lines = []
    with open_session(site.engine) as session:
        for one in assignments_of(session, member.class_id):
            due = dates_for(session, one, member.person.person).due
            says = f"due {in_words(due, one.policy.zone, now)}" if due else "no due date"
            lines.append(DueLine(assignment_url(one.id), one.title, says))
    page = DuePage(head_of(member), tuple(lines))
    return render("people/due.html", frame(request, member.row.name, here="classes"), page)
