"""Two members who turn out to be one person: everything of one becomes the other's.

What was moved is stored by the numbers of its rows, so that a merge can be undone.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, or_, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Role
from app.classes.people.members import hold, in_other_classes, member_row, with_identity
from app.core.errors import InputError, NotFoundError
from app.core.translation import translate
from app.server.db.claims import give_rows, movable_rows
from app.server.db.people import (
    ExtensionRow,
    IdentityRow,
    MemberRow,
    MergeRow,
    OverrideRow,
    PersonRow,
    SessionRow,
    SittingRow,
)
from app.server.db.platforms import OutboxRow
from app.server.db.tables import now

_OF_AN_ASSIGNMENT: Mapping[str, type[ExtensionRow | SittingRow]] = {"extensions": ExtensionRow, "sittings": SittingRow}
_OF_MEMBERS = ("role", "label", "outside_id", "group_name")


def merge_members(session: Session, class_id: int, kept: int, gone: int, *, own: Collection[int], by: str) -> int:
    """The number of a merge of two students of a class; not committed.

    The answers of *gone*, their dates, points given by hand and ways to sign in become those of
    *kept*. Who merges them may change the classes *own*.

    Raises:
        InputError: they are the same, one of them teaches, or is in a class of others.
        NotFoundError: one of them is not in the class.
    """
    hold(session, class_id)
    rows = [member_row(session, class_id, person) for person in (kept, gone)]
    if kept == gone:
        raise InputError(translate("these are the same member: choose another one"))
    if any(row.role != Role.STUDENT.word for row in rows):
        raise InputError(translate("only students can be merged: make both students first"))
    _refuse_strangers(session, kept, gone, own)
    return merge_persons(session, kept, gone, by)


def _refuse_strangers(session: Session, kept: int, gone: int, own: Collection[int]) -> None:
    """Nobody may get into a class of others, or change grades there, by a merge."""
    concerned = [kept, gone] if with_identity(session, [gone]) else [gone]
    if in_other_classes(session, concerned, own):
        raise InputError(
            translate(
                "one of them is in a class that you do not teach; an operator can merge them: "
                "wallclock person merge {kept} {gone}",
                kept=kept,
                gone=gone,
            )
        )


def merge_persons(session: Session, kept: int, gone: int, by: str) -> int:
    """The number of a merge of two persons, in each class of *gone*; not committed.

    The browsers of *gone* are signed out, and their seat codes stop working.

    Raises:
        InputError: they are the same.
        NotFoundError: the person does not exist.
    """
    if kept == gone:
        raise InputError(translate("these are the same person: choose another one"))
    stays, goes = _person(session, kept), _person(session, gone)
    moved: dict[str, Any] = {
        "rows": movable_rows(session, goes.learner, stays.learner),
        "identities": _identities(session, gone),
        "overrides": list(session.exec(select(OverrideRow.id).where(OverrideRow.person == gone))),
        **{name: _free(session, one, kept, gone) for name, one in _OF_AN_ASSIGNMENT.items()},
        "members": [_enter(session, row, kept) for row in _present(session, gone)],
    }
    give_rows(session, moved["rows"], stays.learner)
    _give(session, moved, gone, kept)
    for table in (SessionRow, OutboxRow):
        session.connection().execute(delete(table).where(col(table.person) == gone))
    row = MergeRow(kept=kept, gone=gone, by=by, moved=json.dumps(moved))
    session.add(row)
    session.flush()
    _mark(session, moved)
    return row.id or 0


def undo_merge(session: Session, number: int, class_id: int | None = None) -> None:
    """Undo a merge: what was moved becomes that of the other person again. Not committed.

    Seat codes and browsers stay signed out. With *class_id*, it must be a merge in that class.

    Raises:
        InputError: one of the two was merged again since.
        NotFoundError: no merge has this number, or it was undone already.
    """
    row = session.get(MergeRow, number)
    moved = json.loads(row.moved) if row is not None and row.undone is None else {}
    classes = {one["class_id"] for one in moved.get("members", ())}
    if row is None or not moved or (class_id is not None and class_id not in classes):
        raise NotFoundError(translate("no merge has this number, or it was already undone"))
    _refuse_older(session, row)
    give_rows(session, moved["rows"], _person(session, row.gone).learner)
    _give(session, moved, row.kept, row.gone)
    for one in moved["members"]:
        _restore(session, one, row)
    row.undone = now()
    session.add(row)
    session.flush()
    _mark(session, moved)


def merges_in(session: Session, class_id: int) -> Sequence[MergeRow]:
    """The merges of members of a class that were not undone, the newest first."""
    gone = columns(col(MemberRow.person)).where(col(MemberRow.class_id) == class_id)
    statement = (
        select(MergeRow)
        .where(col(MergeRow.undone).is_(None), col(MergeRow.gone).in_(gone))
        .order_by(col(MergeRow.id).desc())
    )
    return [
        row
        for row in session.exec(statement)
        if any(one["class_id"] == class_id for one in json.loads(row.moved)["members"])
    ]


def merged_into(session: Session, person: int) -> Collection[int]:
    """The persons who became part of *person*, by however many merges."""
    found: set[int] = set()
    waiting = [person]
    while waiting:
        rows = select(MergeRow.gone).where(MergeRow.kept == waiting.pop(), col(MergeRow.undone).is_(None))
        new = set(session.exec(rows)) - found
        found |= new
        waiting += new
    return found


def _person(session: Session, number: int) -> PersonRow:
    row = session.get(PersonRow, number)
    if row is None or row.deleted is not None:
        raise NotFoundError(translate("no person has the number {number}", number=number))
    return row


def _present(session: Session, person: int) -> Sequence[MemberRow]:
    """The memberships of *person*, who has not left."""
    rows = select(MemberRow).where(MemberRow.person == person, col(MemberRow.left).is_(None))
    return session.exec(rows.order_by(col(MemberRow.class_id))).all()


def _identities(session: Session, person: int) -> list[tuple[str, str]]:
    rows = session.exec(select(IdentityRow).where(IdentityRow.person == person))
    return [(row.issuer, row.subject) for row in rows]


def _free(session: Session, table: type[ExtensionRow | SittingRow], kept: int, gone: int) -> list[int]:
    """The assignments of rows of *gone* of which *kept* has none."""
    taken = columns(col(table.assignment)).where(col(table.person) == kept)
    rows = select(table.assignment).where(table.person == gone, col(table.assignment).not_in(taken))
    return list(session.exec(rows))


def _give(session: Session, moved: Mapping[str, Any], before: int, after: int) -> None:
    """Let what was moved, besides answers, be that of the person *after*."""
    run = session.connection().execute
    for issuer, subject in moved["identities"]:
        own = (col(IdentityRow.issuer) == issuer, col(IdentityRow.subject) == subject)
        run(update(IdentityRow).where(*own).values(person=after))
    given = col(OverrideRow.id).in_(moved["overrides"])
    run(update(OverrideRow).where(given, col(OverrideRow.person) == before).values(person=after))
    for name, table in _OF_AN_ASSIGNMENT.items():
        mine = col(table.person) == before, col(table.assignment).in_(moved[name])
        run(update(table).where(*mine).values(person=after))
    session.expire_all()


def _enter(session: Session, row: MemberRow, kept: int) -> dict[str, Any]:
    """Let *kept* take the place of a member, who leaves; what both were before."""
    before = {name: getattr(row, name) for name in _OF_MEMBERS}
    mine = session.get(MemberRow, (row.class_id, kept))
    is_here = mine is not None and mine.left is None
    was = {name: getattr(mine, name) for name in _OF_MEMBERS} if is_here else None
    if mine is None:
        mine = MemberRow(class_id=row.class_id, person=kept, role=row.role)
    if not is_here:
        mine.left, mine.role = None, row.role
    mine.label, mine.outside_id = mine.label or row.label, mine.outside_id or row.outside_id
    mine.group_name = mine.group_name or row.group_name
    row.left, row.code_digest, row.outside_id = now(), None, ""
    session.add(mine)
    session.add(row)
    session.flush()
    return {"class_id": row.class_id, "gone": before, "kept": was}


def _restore(session: Session, one: Mapping[str, Any], merge: MergeRow) -> None:
    """Let both members be again what they were before a merge."""
    for person, was in ((merge.kept, one["kept"]), (merge.gone, one["gone"])):
        row = session.get(MemberRow, (one["class_id"], person))
        if row is None:
            continue
        for name, value in (was or {}).items():
            setattr(row, name, value)
        row.left = None if was else now()
        session.add(row)
        session.flush()


def _refuse_older(session: Session, row: MergeRow) -> None:
    """Refuse to undo a merge before a later one of the same persons."""
    both = (row.kept, row.gone)
    later = select(MergeRow.id).where(
        col(MergeRow.id) > row.id,
        col(MergeRow.undone).is_(None),
        or_(col(MergeRow.kept).in_(both), col(MergeRow.gone).in_(both)),
    )
    if session.exec(later).first() is not None:
        raise InputError(translate("one of them was merged again since: undo that first"))


def _mark(session: Session, moved: Mapping[str, Iterable[Mapping[str, int]]]) -> None:
    for one in moved["members"]:
        mark_changed(session, one["class_id"])
