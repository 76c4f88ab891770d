"""/classes/ID/people/PERSON/edit: a member's name, id and role, and that two of them are one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.aside import aside
from app.db.people import MergeRow, PersonRow
from app.db.session import open_session, open_writing_session
from app.db.tables import now
from app.errors import InputError, sentence
from app.network.routes import Router
from app.people.classes import Member, Role, members_of
from app.people.local_time import on_the_calendar
from app.people.members import change_role, hold, member_row, remove_members, rename_member, taught_by
from app.people.merges import merge_members, merges_in, undo_or_ask
from app.site import Here, Site
from app.translation import translate
from app.web.frame.renderer import frame, render
from app.web.frame.visitor import FromHere, Visiting
from app.web.people.class_head import ClassHead, class_head, class_url
from app.web.people.guard import Membership, in_class

router = Router(prefix="/classes/{class_id:int}/people")
_LARGEST = len(str(2**63)) - 1  # digits of a number


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherStudent:
    """A student who may be the same person."""

    person: int
    name: str
    outside_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMerge:
    """A merge that can be undone: who became part of the member, when, and by whom.

    It may *wait* for the yes of a person: to be done, or to be *undone*.
    """

    href: str
    name: str
    by: str
    at: str
    waits: bool
    undone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPage:
    """A member, to be changed, merged, removed or deleted."""

    head: ClassHead
    href: str
    name: str
    outside_id: str
    role: str
    has_code: bool
    is_visitor: bool
    others: tuple[OtherStudent, ...]
    merges: tuple[PastMerge, ...]
    problem: str


@router.get("/{person:int}/edit")
async def edit_member(request: Request, site: Here, visiting: Visiting, class_id: int, person: int) -> Response:
    """A member's name, id and role."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await aside(member_page, request, site, member, person)


@router.post("/{person:int}/edit", dependencies=[FromHere])
async def change_member(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    person: int,
    name: Annotated[str, Form()] = "",
    outside_id: Annotated[str, Form()] = "",
    role: Annotated[str, Form()] = "",
) -> Response:
    """Change a member's name, id and role."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    try:
        await aside(_change, site, class_id, person, name, outside_id, role)
    except InputError as error:
        return await aside(member_page, request, site, member, person, sentence(str(error)))
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


@router.post("/{person:int}/remove", dependencies=[FromHere])
async def remove_member(
    request: Request, site: Here, visiting: Visiting, class_id: int, person: int, sure: Annotated[str, Form()] = ""
) -> Response:
    """Take a member out of the class."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    if sure != "yes":
        says = translate("Nobody was removed: tick the box to confirm, then remove again.")
        return await aside(member_page, request, site, member, person, says)
    try:
        await aside(_remove, site, class_id, person)
    except InputError as error:
        return await aside(member_page, request, site, member, person, sentence(str(error)))
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


@router.post("/{person:int}/merge", dependencies=[FromHere])
async def merge_member(
    request: Request, site: Here, visiting: Visiting, class_id: int, person: int, other: Annotated[str, Form()] = ""
) -> Response:
    """Make another student and this one the same person."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    try:
        await aside(_merge, site, member, person, other)
    except InputError as error:
        return await aside(member_page, request, site, member, person, sentence(str(error)))
    return RedirectResponse(f"{class_url(class_id)}/people/{person}/edit#merges", 303)


@router.post("/merges/{number:int}/undo", dependencies=[FromHere])
async def undo_member_merge(request: Request, site: Here, visiting: Visiting, class_id: int, number: int) -> Response:
    """Let two persons be two again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    await aside(_undo, site, class_id, number, member.person.person)
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


def member_page(request: Request, site: Site, member: Membership, person: int, problem: str = "") -> Response:
    """The page of a member, and why nothing was changed."""
    with open_session(site.engine) as session:
        member_row(session, member.class_id, person)
        everyone = members_of(session, member.class_id)
        merges = [row for row in merges_in(session, member.class_id) if row.kept == person]
        past = tuple(_past(session, member, row) for row in merges)
    one = next(other for other in everyone if other.person == person)
    page = MemberPage(
        head=class_head(member, "People"),
        href=f"{class_url(member.class_id)}/people/{person}",
        name=one.name,
        outside_id=one.outside_id,
        role=one.role.word,
        has_code=one.has_code,
        is_visitor=person == member.person.person,
        others=_others(one, everyone),
        merges=past,
        problem=problem,
    )
    status = 422 if problem else 200
    return render("people/member.html", frame(request, one.name, here="classes"), page, status)


def _others(one: Member, everyone: Sequence[Member]) -> tuple[OtherStudent, ...]:
    """The other students of the class, if *one* is a student."""
    students = [other for other in everyone if other.role is Role.STUDENT]
    return tuple(
        OtherStudent(person=other.person, name=other.name, outside_id=other.outside_id)
        for other in students
        if one.role is Role.STUDENT and other.person != one.person
    )


def _past(session: Session, member: Membership, row: MergeRow) -> PastMerge:
    gone = session.get(PersonRow, row.gone)
    return PastMerge(
        href=f"{class_url(member.class_id)}/people/merges/{row.id}/undo",
        name=(gone.name if gone else "") or translate("someone without a name"),
        by=row.by,
        at=on_the_calendar(row.at, ZoneInfo(member.row.zone), now()),
        waits=bool(row.waits),
        undone=bool(row.waits and row.moved),
    )


def _change(site: Site, class_id: int, person: int, name: str, outside_id: str, role: str) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        rename_member(session, class_id, person, name, outside_id)
        change_role(session, class_id, person, Role.read(role))
        session.commit()


def _remove(site: Site, class_id: int, person: int) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        remove_members(session, class_id, [person])
        session.commit()


def _merge(site: Site, member: Membership, person: int, other: str) -> None:
    if not (other.isascii() and other.isdecimal() and len(other) <= _LARGEST):
        raise InputError(translate("choose the other student"))
    with open_writing_session(site.engine) as session:
        own, by = taught_by(session, member.person.person), member.person.name
        merge_members(session, member.class_id, person, int(other), own=own, by=by)
        session.commit()


def _undo(site: Site, class_id: int, number: int, teacher: int) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        undo_or_ask(session, class_id, number, taught_by(session, teacher))
        session.commit()
