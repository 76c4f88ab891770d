"""A member's name, id and role; everything about them as a file, or deleted, for a reason."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Response

from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit
from app.classes.people.assignment_copies import on_the_calendar
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import (
    change_role,
    member_row,
    remove_members,
    rename_member,
    set_time_factor,
    taught_by,
)
from app.classes.people.merges import merge_members, merges_in, undo_or_ask
from app.classes.people.policy import read_factor
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.people import REASON_LIMIT, MemberRow, MergeRow, PersonRow
from app.server.db.tables import now
from app.site.web.progress.file import progress_file

router = ClassRouter("/classes/{class_id:int}/people", "People")
_LARGEST = len(str(2**63)) - 1  # digits of a number


class MemberForm(ClassForm):
    """How a class calls a member, here and in other systems, the role, and the factor of the time in exams."""

    name: str = ""
    outside_id: str = ""
    role: str = ""
    time_factor: str | None = None


class RemovalForm(ClassForm):
    """Whether the teacher is sure."""

    sure: str = ""


class MergeForm(ClassForm):
    """The number of the other student."""

    other: str = ""


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

    heading: str
    href: str
    name: str
    outside_id: str
    role: str
    time_factor: str
    has_code: bool
    is_visitor: bool
    others: tuple[OtherStudent, ...]
    merges: tuple[PastMerge, ...]


@router.page("/{person:int}/edit", "member")
def member_page(visit: ClassVisit, person: int) -> MemberPage:
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
        others=_other_students(one, everyone),
        merges=tuple(_past(visit, row) for row in merges),
    )


@router.form("/{person:int}/edit", member_page)
def change_member(visit: ClassVisit, person: int, sent: MemberForm) -> str:
    """Change a member's name, id, role and time in exams."""
    rename_member(visit.session, visit.class_id, person, sent.name, sent.outside_id)
    change_role(visit.session, visit.class_id, person, Role.read(sent.role))
    if sent.time_factor is not None:
        set_time_factor(visit.session, member_row(visit.session, visit.class_id, person), read_factor(sent.time_factor))
    return f"{visit.class_href}/people"


@router.form("/{person:int}/remove", member_page)
def remove_member(visit: ClassVisit, person: int, sent: RemovalForm) -> str:
    """Take a member out of the class."""
    if sent.sure != "yes":
        raise InputError(translate("Nobody was removed: tick the box to confirm, then remove again."))
    remove_members(visit.session, visit.class_id, [person])
    return f"{visit.class_href}/people"


@router.form("/{person:int}/merge", member_page)
def merge_member(visit: ClassVisit, person: int, sent: MergeForm) -> str:
    """Make another student and this one the same person."""
    other = sent.other
    if not (other.isascii() and other.isdecimal() and len(other) <= _LARGEST):
        raise InputError(translate("choose the other student"))
    teacher = visit.member.person
    own = taught_by(visit.session, teacher.person)
    merge_members(visit.session, visit.class_id, person, int(other), own=own, by=teacher.name)
    return f"{visit.class_href}/people/{person}/edit#merges"


@router.form("/merges/{number:int}/undo", None)
def undo_member_merge(visit: ClassVisit, number: int) -> str:
    """Let two persons be two again."""
    undo_or_ask(visit.session, visit.class_id, number, taught_by(visit.session, visit.member.person.person))
    return f"{visit.class_href}/people"


def _other_students(one: Member, everyone: Sequence[Member]) -> tuple[OtherStudent, ...]:
    """The other students of the class, if *one* is a student."""
    students = [other for other in everyone if other.role is Role.STUDENT]
    return tuple(
        OtherStudent(person=other.person, name=other.name, outside_id=other.outside_id)
        for other in students
        if one.role is Role.STUDENT and other.person != one.person
    )


def _past(visit: ClassVisit, row: MergeRow) -> PastMerge:
    gone = visit.session.get(PersonRow, row.gone)
    return PastMerge(
        href=f"{visit.class_href}/people/merges/{row.id}/undo",
        name=(gone.name if gone else "") or translate("someone without a name"),
        by=row.by,
        at=on_the_calendar(row.at, visit.zone, now()),
        waits=bool(row.waits),
        undone=bool(row.waits and row.moved),
    )


_log = logging.getLogger(__name__)


class ReasonForm(RemovalForm):
    """Why something is done, which the log of the server says."""

    why: str = ""


@router.form("/{person:int}/everything", member_page, archived=True)
def export_member(visit: ClassVisit, person: int, sent: ReasonForm) -> Response:
    """What the class has stored about a member, as a file, for a reason."""
    why = _reason(sent.why, sure=True)
    text = progress_file(about_member(visit.session, visit.site.secret, _student(visit, person)))
    _note(visit, person, "exported", why)
    name = f"class-{visit.class_id}-person-{person}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


@router.form("/{person:int}/delete", member_page, archived=True)
def delete_member(visit: ClassVisit, person: int, sent: ReasonForm) -> str:
    """Delete what the class has stored about a member, who leaves it, for a reason."""
    why = _reason(sent.why, sure=sent.sure == "yes")
    forget_member(visit.session, visit.site.secret, _student(visit, person))
    _note(visit, person, "deleted", why)
    return f"{visit.class_href}/people"


def _reason(why: str, *, sure: bool) -> str:
    """The reason that is written to the log of the server."""
    if not sure:
        raise InputError(translate("nobody was deleted: tick the box to confirm"))
    if not (given := " ".join(why.split())[:REASON_LIMIT]):
        raise InputError(translate("give a reason: it is written to the log of the server"))
    return given


def _note(visit: ClassVisit, person: int, what: str, why: str) -> None:
    teacher = visit.member.person.person
    _log.info("what class %d stored about person %d was %s by %d: %s", visit.class_id, person, what, teacher, why)


def _student(visit: ClassVisit, person: int) -> MemberRow:
    """A student of the class."""
    row = member_row(visit.session, visit.class_id, person)
    if row.role != Role.STUDENT.word:
        raise InputError(translate("this is not a student: they can do it on their account page"))
    return row
