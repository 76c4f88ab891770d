"""/classes/ID/regrade: answers that an older version of an exercise judged, judged again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.db.session import open_session
from app.network.routes import LazyRoute
from app.people.classes import Role
from app.people.regrading import Judged, Stale, regraded, stale_answers
from app.sandbox.fair_queue import Client
from app.site import Here, Site
from app.web.frame.aside import aside
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.visitor import FromHere, Visiting, spend
from app.web.people.guard import Membership, in_class
from app.web.people.head import ClassHead, head_of
from app.web.people.ideas import link_to

router = APIRouter(prefix="/classes/{class_id:int}/regrade", route_class=LazyRoute)
MOST = 2_000  # answers that are judged in a request
_SHOWN = 200  # changes
_WORTH = 50  # answers judged again that take as much as one new answer


@dataclass(frozen=True, slots=True)
class Mended:
    """An exercise that has changed, and how many answers an older version of it judged."""

    link: Hyperlink
    exercise: str
    answers: int


@dataclass(frozen=True, slots=True)
class Change:
    """A score that would change, in percent."""

    name: str
    href: str
    exercise: Hyperlink
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradePage:
    """The exercises that have changed; once one was tried, the scores that would change."""

    head: ClassHead
    teaches: bool
    mended: tuple[Mended, ...]
    most: int
    tried: Hyperlink | None = None
    exercise: str = ""
    lower: bool = False
    judged: int = 0
    changes: tuple[Change, ...] = ()
    more: int = 0
    lowered: int = 0
    kept: tuple[tuple[str, int], ...] = ()
    stored: int | None = None


@router.get("")
async def regrade_page(
    request: Request, site: Here, visiting: Visiting, class_id: int, stored: str = ""
) -> Response:
    """The exercises of a class that were changed after they were answered."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    stale = await aside(_stale, site, class_id)
    known = stored.isascii() and stored.isdecimal() and len(stored) <= len(str(MOST))
    page = replace(_page(site, member, stale), stored=int(stored) if known else None)
    return _render(request, page)


@router.post("", dependencies=[FromHere])
async def regrade(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    exercise: Annotated[str, Form()] = "",
    lower: Annotated[str, Form()] = "",
    sure: Annotated[str, Form()] = "",
) -> Response:
    """Show what judging again changes; once that was seen, change it."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    stale = await aside(_stale, site, class_id)
    those = [one for one in stale if one.exercise == exercise][:MOST]
    spend(request, site.allowances.answers, "regrades", 1 + len(those) / _WORTH)
    found = await regraded(
        site.engine,
        those,
        site.catalog,
        site.runner.on_behalf_of(Client(member.person.learner)),
        lower=lower == "yes",
        store=sure == "yes",
    )
    if sure == "yes":
        href = f"/classes/{class_id}/regrade?stored={found.raised + found.lowered}"
        return RedirectResponse(href, 303)
    why = Counter(found.kept)
    page = replace(
        _page(site, member, stale),
        tried=link_to(site, exercise),
        exercise=exercise,
        lower=lower == "yes",
        judged=found.judged,
        changes=tuple(_change(site, class_id, one) for one in found.changes[:_SHOWN]),
        more=max(0, len(found.changes) - _SHOWN),
        lowered=found.lowered,
        kept=tuple(why.most_common()),
    )
    return _render(request, page)


def _stale(site: Site, class_id: int) -> Sequence[Stale]:
    with open_session(site.engine) as session:
        return stale_answers(session, site.secret, site.catalog, class_id)


def _page(site: Site, member: Membership, stale: Sequence[Stale]) -> RegradePage:
    counts = Counter(one.exercise for one in stale)
    return RegradePage(
        head=head_of(member, "Grades"),
        teaches=member.teaches,
        mended=tuple(
            Mended(link_to(site, name), name, count) for name, count in counts.most_common()
        ),
        most=MOST,
    )


def _change(site: Site, class_id: int, one: Judged) -> Change:
    person = one.stale.member
    return Change(
        name=person.name,
        href=f"/classes/{class_id}/people/{person.person}",
        exercise=link_to(site, one.stale.exercise, one.stale.seed),
        before=f"{100 * one.stale.before:.3g} %",
        after=f"{100 * one.score:.3g} %",
    )


def _render(request: Request, page: RegradePage) -> Response:
    around = frame(request, f"{page.head.name}, judge again", here="classes")
    return render("people/regrade.html", around, page)
