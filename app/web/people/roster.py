"""/classes/ID/people: who is in a class, how one joins it, and what each may do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from app.aside import aside
from app.db.people import ClassRow
from app.db.session import open_session, open_writing_session
from app.errors import InputError
from app.network.routes import Router
from app.people.classes import Member, Role, class_with, members_of, renew_join_link
from app.people.local_time import how_far
from app.people.members import last_seen
from app.people.rosters import namesakes
from app.site import Here, Site
from app.translation import translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import FromHere, Visiting
from app.web.people.class_head import ClassHead, class_head, class_url
from app.web.people.guard import Membership, in_class
from app.web.people.join_link import JoinLink, join_link

router = Router(prefix="/classes/{class_id:int}/people")
_SHOWN = 50  # pairs of namesakes
_AT_ONCE = 300  # members on a page
_JOINING = ("open", "roster", "closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """A member in the roster; a student's name leads to their path through the class."""

    name: str
    href: str
    edit: str
    role: str
    outside_id: str
    group: str
    seen: str
    has_code: bool


@dataclass(frozen=True, slots=True)
class Namesakes:
    """Two entries with one *name* that may be one person; *merge* makes *other* part of the first."""

    name: str
    merge: str
    other: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The people of a class: those on this page, and how many there are."""

    head: ClassHead
    teaches: bool
    link: JoinLink
    lines: tuple[MemberLine, ...]
    total: int
    students: int
    without_code: int
    has_groups: bool
    sought: str
    place: int
    places: int
    namesakes: tuple[Namesakes, ...]


@router.get("")
async def people(
    request: Request, site: Here, visiting: Visiting, class_id: int, q: str = "", page: str = "1"
) -> Response:
    """Everyone in a class, or those whose name or id contains *q*."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    place = int(page) if page.isascii() and page.isdecimal() and len(page) < len("9999") else 1
    return await aside(_people, request, site, member, " ".join(q.split())[:100], place)


@router.post("/link", dependencies=[FromHere])
async def change_join_link(
    request: Request, site: Here, visiting: Visiting, class_id: int, do: Annotated[str, Form()] = ""
) -> Response:
    """Renew the join link, or say who may join by it."""
    await in_class(request, site, visiting, class_id, Role.TEACHER)
    await aside(_change_link, site, class_id, do)
    return RedirectResponse(f"{class_url(class_id)}/people#link", 303)


def matching(members: Sequence[Member], sought: str) -> Sequence[Member]:
    """Those of *members* whose name or id contains *sought*."""
    words = sought.casefold()
    return [one for one in members if words in f"{one.name} {one.outside_id}".casefold()]


def _people(request: Request, site: Site, member: Membership, sought: str, place: int) -> Response:
    now = site.clock()
    zone = ZoneInfo(member.row.zone)
    with open_session(site.engine) as session:
        members = sorted(members_of(session, member.class_id), key=lambda one: -one.role)
        found = matching(members, sought) if sought else members
        places = max(1, -(-len(found) // _AT_ONCE))
        place = min(max(1, place), places)
        shown = found[(place - 1) * _AT_ONCE : place * _AT_ONCE]
        seen = last_seen(session, shown)
    students = [one for one in members if one.role is Role.STUDENT]
    page = PeoplePage(
        head=class_head(member, "People"),
        teaches=member.teaches,
        link=join_link(request, site, member),
        lines=tuple(
            _roster_line(one, how_far(seen[one.person], zone, now) if one.person in seen else "never") for one in shown
        ),
        total=len(found),
        students=len(students),
        without_code=sum(not one.has_code for one in students),
        has_groups=any(one.group for one in members),
        sought=sought,
        place=place,
        places=places,
        namesakes=tuple(
            Namesakes(kept.name, f"{class_url(member.class_id)}/people/{kept.person}/merge", other.person)
            for kept, other in namesakes(members)[:_SHOWN]
        ),
    )
    around = frame(request, translate("People of {name}", name=member.row.name), here="classes")
    return render("people/people.html", around, page)


def _roster_line(one: Member, seen: str) -> MemberLine:
    href = f"{class_url(one.class_id)}/people/{one.person}"
    return MemberLine(
        name=one.name,
        href=href if one.role is Role.STUDENT else "",
        edit=f"{href}/edit",
        role=one.role.word,
        outside_id=one.outside_id,
        group=one.group,
        seen=seen,
        has_code=one.has_code,
    )


def _change_link(site: Site, class_id: int, do: str) -> None:
    with open_writing_session(site.engine) as session:
        row = class_with(session, class_id)
        _apply(row, do)
        if do == "renew":
            renew_join_link(session, site.secret, row)
        session.add(row)
        session.commit()


def _apply(row: ClassRow, do: str) -> None:
    if do in _JOINING:
        if row.archived and do != "closed":
            raise InputError(translate("this class is archived; take it out of the archive first"))
        row.joining = do
    elif do != "renew":
        raise InputError(
            translate("the link can be {joining} or renewed, not {do!r}", joining=", ".join(_JOINING), do=do[:20])
        )
