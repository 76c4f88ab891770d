"""/classes/ID/people: who is in a class and how one joins it, codes, and a member to change, merge or delete."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Response

from app.classes.pages import class_router
from app.classes.people.assignment_copies import how_far, on_the_calendar
from app.classes.people.classes import Member, Role, members_of, renew_join_link
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import (
    SeatCode,
    change_role,
    last_seen,
    member_row,
    new_seat_codes,
    remove_members,
    rename_member,
    set_time_factor,
    taught_by,
)
from app.classes.people.merges import merge_members, merges_in, undo_or_ask
from app.classes.people.policy import read_factor
from app.classes.people.rosters import namesakes
from app.core.errors import input_error
from app.core.translation import noted, translate
from app.server.db.people import REASON_LIMIT, MemberRow, MergeRow, PersonRow
from app.server.db.tables import now
from app.site.web.progress.file import progress_file

router = class_router.ClassRouter("/classes/{class_id:int}/people", "People")
_log = logging.getLogger(__name__)
_SHOWN = 50  # pairs of namesakes
_AT_ONCE = 300  # members on a page
_MOST_PAGES = 999
_JOINING = ("open", "roster", "closed")


class JoinForm(class_router.ClassForm):
    """Who may join by the link, or that it is to be renewed."""

    do: str = ""


class CodesForm(class_router.ClassForm):
    """Whose codes are made: all, or those that are missing."""

    which: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The people of a class: those on this page, and how many there are.

    Of each in *lines*, the text says when they were seen last. *namesakes* may be one person.
    """

    link: class_router.JoinLink
    lines: tuple[tuple[Member, str], ...]
    total: int
    students: int
    without_code: int
    has_groups: bool
    has_times: bool
    sought: str
    place: int
    places: int
    namesakes: tuple[tuple[Member, Member], ...]


@dataclass(frozen=True, slots=True)
class SlipsPage:
    """New seat codes to print and cut, where to type them, and those for whom none was made."""

    slips: tuple[SeatCode, ...]
    without: tuple[str, ...]
    address: str
    is_own: bool


router.register(SlipsPage, "slips", noted("Codes"))


@router.page("", "people", noted("People of {name}"), least=Role.ASSISTANT)
def people_page(visit: class_router.ClassVisit, q: str = "", page: str = "1") -> PeoplePage:
    """Everyone in a class, or those whose name or id contains *q*."""
    sought, place = " ".join(q.split())[:100], page_number(page)
    members = sorted(members_of(visit.session, visit.class_id), key=lambda one: -one.role)
    found = find_matching(members, sought) if sought else members
    places = max(1, -(-len(found) // _AT_ONCE))
    place = min(max(1, place), places)
    shown = found[(place - 1) * _AT_ONCE : place * _AT_ONCE]
    seen = last_seen(visit.session, shown)
    students = [one for one in members if one.role is Role.STUDENT]

    return PeoplePage(
        link=class_router.join_link(visit.request, visit.site, visit.member),
        lines=tuple(
            (one, how_far(seen[one.person], visit.zone, visit.now) if one.person in seen else "never") for one in shown
        ),
        total=len(found),
        students=len(students),
        without_code=sum(not one.has_code for one in students),
        has_groups=any(one.group for one in members),
        has_times=any(one.time_factor != 1.0 for one in members),
        sought=sought,
        place=place,
        places=places,
        namesakes=tuple(namesakes(members)[:_SHOWN]),
    )


@router.form("/link", people_page)
def change_join_link(visit: class_router.ClassVisit, sent: JoinForm) -> str:
    """Renew the join link, or say who may join by it."""
    row = visit.row
    if sent.do == "renew":
        renew_join_link(visit.session, visit.site.secret, row)
    else:
        if sent.do not in _JOINING:
            raise input_error(
                "the link can be {joining} or renewed, not {do!r}", joining=", ".join(_JOINING), do=sent.do[:20]
            )
        row.joining = sent.do
        visit.session.add(row)
    return f"{visit.class_href}/people#link"


@router.form("/{person:int}/code", people_page, least=Role.ASSISTANT)
def renew_code(visit: class_router.ClassVisit, person: int) -> SlipsPage:
    """A new code of one member; everyone who teaches may renew their own."""
    if person != visit.member.person.person:
        class_router.refuse_student_and_assistant(visit.member)
    found = [one for one in members_of(visit.session, visit.class_id) if one.person == person]
    if not found:
        raise input_error("this person is not in the class; they may have left a moment ago")
    return _slips_page(visit, found, is_own=person == visit.member.person.person)


@router.form("/codes", people_page)
def renew_codes(visit: class_router.ClassVisit, sent: CodesForm) -> SlipsPage:
    """New codes of all students, or of those who have none."""
    if sent.which not in ("missing", "all"):
        raise input_error("say for which students: missing or all")
    students = [one for one in members_of(visit.session, visit.class_id) if one.role is Role.STUDENT]
    return _slips_page(visit, [one for one in students if sent.which == "all" or not one.has_code])


def find_matching(members: Sequence[Member], sought: str) -> Sequence[Member]:
    """Those of *members* whose name or id contains *sought*."""
    words = sought.casefold()
    return [one for one in members if words in f"{one.name} {one.outside_id}".casefold()]


def page_number(text: str) -> int:
    """The number of a page in an address; the first, if it is not one."""
    known = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_PAGES))
    return int(text) if known else 1


def _slips_page(visit: class_router.ClassVisit, chosen: Sequence[Member], *, is_own: bool = False) -> SlipsPage:
    slips = new_seat_codes(visit.session, visit.class_id, chosen, visit.member.person.person)
    made = {slip.member.person for slip in slips}
    address = urlsplit(class_router.root_of(visit.request, visit.site) + "/sign-in")
    return SlipsPage(
        slips=tuple(slips),
        without=tuple(one.name for one in chosen if one.person not in made),
        address=address.netloc + address.path,
        is_own=is_own,
    )


_LARGEST = len(str(2**63)) - 1  # digits of a number


class MemberForm(class_router.ClassForm):
    """How a class calls a member, here and in other systems, the role, and the factor of the time in exams."""

    name: str = ""
    outside_id: str = ""
    role: str = ""
    time_factor: str | None = None


class RemovalForm(class_router.ClassForm):
    """Whether the teacher is sure."""

    sure: str = ""


class MergeForm(class_router.ClassForm):
    """The number of the other student."""

    other: str = ""


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

    heading: str
    href: str
    name: str
    outside_id: str
    role: str
    time_factor: str
    has_code: bool
    is_visitor: bool
    others: tuple[Member, ...]
    merges: tuple[PastMerge, ...]


@router.page("/{person:int}/edit", "member")
def member_page(visit: class_router.ClassVisit, person: int) -> MemberPage:
    """A member's name, id and role."""
    member_row(visit.session, visit.class_id, person)
    everyone = members_of(visit.session, visit.class_id)
    one = next(other for other in everyone if other.person == person)
    merges = [row for row in merges_in(visit.session, visit.class_id) if row.kept == person]
    return MemberPage(
        heading=one.name,
        href=f"{visit.class_href}/people/{person}",
        name=one.name,
        outside_id=one.outside_id,
        role=one.role.word,
        time_factor=f"{one.time_factor:g}",
        has_code=one.has_code,
        is_visitor=person == visit.member.person.person,
        others=tuple(other for other in everyone if {one.role, other.role} == {Role.STUDENT} and other is not one),
        merges=tuple(_past(visit, row) for row in merges),
    )


@router.form("/{person:int}/edit", member_page)
def change_member(visit: class_router.ClassVisit, person: int, sent: MemberForm) -> str:
    """Change a member's name, id, role and time in exams."""
    rename_member(visit.session, visit.class_id, person, sent.name, sent.outside_id)
    change_role(visit.session, visit.class_id, person, Role.read(sent.role))
    if sent.time_factor is not None:
        set_time_factor(visit.session, member_row(visit.session, visit.class_id, person), read_factor(sent.time_factor))
    return f"{visit.class_href}/people"


@router.form("/{person:int}/remove", member_page)
def remove_member(visit: class_router.ClassVisit, person: int, sent: RemovalForm) -> str:
    """Take a member out of the class."""
    if sent.sure != "yes":
        raise input_error("Nobody was removed: tick the box to confirm, then remove again.")
    remove_members(visit.session, visit.class_id, [person])
    return f"{visit.class_href}/people"


@router.form("/{person:int}/merge", member_page)
def merge_member(visit: class_router.ClassVisit, person: int, sent: MergeForm) -> str:
    """Make another student and this one the same person."""
    other = sent.other
    if not (other.isascii() and other.isdecimal() and len(other) <= _LARGEST):
        raise input_error("choose the other student")
    teacher = visit.member.person
    own = taught_by(visit.session, teacher.person)
    merge_members(visit.session, visit.class_id, person, int(other), own=own, by=teacher.name)
    return f"{visit.class_href}/people/{person}/edit#merges"


@router.form("/merges/{number:int}/undo", None)
def undo_member_merge(visit: class_router.ClassVisit, number: int) -> str:
    """Let two persons be two again."""
    undo_or_ask(visit.session, visit.class_id, number, taught_by(visit.session, visit.member.person.person))
    return f"{visit.class_href}/people"


def _past(visit: class_router.ClassVisit, row: MergeRow) -> PastMerge:
    gone = visit.session.get(PersonRow, row.gone)
    return PastMerge(
        href=f"{visit.class_href}/people/merges/{row.id}/undo",
        name=(gone.name if gone else "") or translate("someone without a name"),
        by=row.by,
        at=on_the_calendar(row.at, visit.zone, now()),
        waits=bool(row.waits),
        undone=bool(row.waits and row.moved),
    )


class ReasonForm(RemovalForm):
    """Why something is done, which the log of the server says."""

    why: str = ""


@router.form("/{person:int}/everything", member_page, archived=True)
def export_member(visit: class_router.ClassVisit, person: int, sent: ReasonForm) -> Response:
    """What the class has stored about a member, as a file, for a reason."""
    why = _reason(sent.why, sure=True)
    text = progress_file(about_member(visit.session, visit.site.secret, _student(visit, person)))
    _note(visit, person, "exported", why)
    name = f"class-{visit.class_id}-person-{person}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


@router.form("/{person:int}/delete", member_page, archived=True)
def delete_member(visit: class_router.ClassVisit, person: int, sent: ReasonForm) -> str:
    """Delete what the class has stored about a member, who leaves it, for a reason."""
    why = _reason(sent.why, sure=sent.sure == "yes")
    forget_member(visit.session, visit.site.secret, _student(visit, person))
    _note(visit, person, "deleted", why)
    return f"{visit.class_href}/people"


def _reason(why: str, *, sure: bool) -> str:
    """The reason that is written to the log of the server."""
    if not sure:
        raise input_error("nobody was deleted: tick the box to confirm")
    if not (given := " ".join(why.split())[:REASON_LIMIT]):
        raise input_error("give a reason: it is written to the log of the server")
    return given


def _note(visit: class_router.ClassVisit, person: int, what: str, why: str) -> None:
    teacher = visit.member.person.person
    _log.info("what class %d stored about person %d was %s by %d: %s", visit.class_id, person, what, teacher, why)


def _student(visit: class_router.ClassVisit, person: int) -> MemberRow:
    """A student of the class."""
    row = member_row(visit.session, visit.class_id, person)
    if row.role != Role.STUDENT.word:
        raise input_error("this is not a student: they can do it on their account page")
    return row
