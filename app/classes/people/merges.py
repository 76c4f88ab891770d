"""Two members who turn out to be one person: everything of one becomes the other's.

What was moved is stored by the numbers of its rows, so that a merge can be undone. Nobody decides
over another person: who signs in by themselves, or has entered a class of others, is asked first.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Role, role_in
from app.classes.people.members import hold, in_other_classes, member_row, with_identity
from app.classes.people.persons import NO_WAY, WayIn, close_every_browser, speaks_for
from app.core.errors import NotFoundError, input_error
from app.core.translation import translate
from app.server.db.claims import give_rows, movable_rows
from app.server.db.people import (
    ExtensionRow,
    IdentityRow,
    MemberRow,
    MergeRow,
    OutboxRow,
    OverrideRow,
    PersonRow,
    SessionRow,
    SittingRow,
)
from app.server.db.tables import now
from app.site.members import SignedIn

_OF_AN_ASSIGNMENT: Mapping[str, type[ExtensionRow | SittingRow]] = {"extensions": ExtensionRow, "sittings": SittingRow}
_OF_MEMBERS = ("role", "label", "outside_id", "group_name", "time_factor")


def merge_members(session: Session, class_id: int, kept: int, gone: int, *, own: Collection[int], by: str) -> int:
    """The number of a merge of two students of a class; not committed.

    The answers of *gone*, their dates, points given by hand and ways to sign in become those of
    *kept*. Who merges them may change the classes *own*. If one of them signs in by themselves, or
    is in another class, the merge waits for their yes.

    Raises:
        InputError: they are the same, or one of them teaches.
        NotFoundError: one of them is not in the class.
    """
    hold(session, class_id)
    _refuse_others(session, class_id, kept, gone)
    both = [kept, gone]
    waits = with_identity(session, both) | in_other_classes(session, both, own)
    if not waits:
        return merge_persons(session, kept, gone, by, class_id=class_id)
    same = MergeRow.class_id == class_id, MergeRow.kept == kept, MergeRow.gone == gone
    row = session.exec(select(MergeRow).where(*same, MergeRow.moved == "")).first()
    row = row or MergeRow(kept=kept, gone=gone, by=by, moved="", class_id=class_id)
    row.waits = _numbers(waits)
    session.add(row)
    session.flush()
    return row.id or 0


def merge_persons(
    session: Session,
    kept: int,
    gone: int,
    by: str,
    *,
    way: WayIn = NO_WAY,
    class_id: int | None = None,
    asked: MergeRow | None = None,
) -> int:
    """The number of a merge of two persons, in each class of *gone*; not committed.

    The browsers of both are signed out, but that of *way*, and their seat codes stop working.

    Raises:
        InputError: they are the same.
        NotFoundError: the person does not exist.
    """
    if kept == gone:
        raise input_error("these are the same person: choose another one")
    stays, goes = _person(session, kept), _person(session, gone)
    identities = select(IdentityRow).where(IdentityRow.person == gone)
    moved: dict[str, Any] = {
        "rows": movable_rows(session, goes.learner, stays.learner),
        "identities": [(row.issuer, row.subject) for row in session.exec(identities)],
        "overrides": list(session.exec(select(OverrideRow.id).where(OverrideRow.person == gone))),
        **{name: _free(session, one, kept, gone) for name, one in _OF_AN_ASSIGNMENT.items()},
        "classes": [one.class_id for person in (kept, gone) for one in _present(session, person)],
        "members": [_enter_merged(session, row, kept) for row in _present(session, gone)],
    }
    stays.entered = stays.entered or goes.entered
    session.add(stays)
    session.flush()
    give_rows(session, moved["rows"], stays.learner)
    _give(session, moved, gone, kept)
    session.connection().execute(delete(OutboxRow).where(col(OutboxRow.person) == gone))
    _sign_out(session, (kept, gone), way.browser, kept)
    row = asked or MergeRow(kept=kept, gone=gone, by=by, class_id=class_id, moved="")
    row.moved, row.waits, row.at = json.dumps(moved), "", now()
    session.add(row)
    session.flush()
    _mark(session, moved)
    return row.id or 0


def undo_or_ask(session: Session, class_id: int, number: int, own: Collection[int]) -> bool:
    """Undo a merge of a class, for who may change the classes *own*, and return whether it is; not committed.

    One that waits is taken back. That of someone who signs in by themselves waits for their yes.

    Raises:
        InputError: one of the two was merged again since, or has entered another class.
        NotFoundError: no merge of the class has this number, or it was undone already.
    """
    row = _merge(session, number, class_id)
    if not row.moved:
        session.delete(row)
        session.flush()
        return True
    _refuse_older(session, row)
    if _entered_since(session, row, own):
        raise input_error(
            "one of them has entered another class since; an operator can undo it: wallclock person unmerge {number}",
            number=number,
        )
    if not with_identity(session, [row.kept, row.gone]):
        undo_merge(session, number)
        return True
    row.waits, row.class_id = _numbers([row.kept]), row.class_id or class_id
    session.add(row)
    session.flush()
    return False


def undo_merge(session: Session, number: int, class_id: int | None = None, *, way: WayIn = NO_WAY) -> None:
    """Undo a merge: what was moved becomes that of the other person again. Not committed.

    Seat codes and browsers stay signed out, and so are those of who stayed, but for that of *way*. With
    *class_id*, it must be a merge in that class.

    Raises:
        InputError: one of the two was merged again since.
        NotFoundError: no merge has this number, or it was undone already.
    """
    row = _merge(session, number, class_id)
    if not row.moved:
        session.delete(row)
        session.flush()
        return
    moved = json.loads(row.moved)
    _refuse_older(session, row)
    give_rows(session, moved["rows"], _person(session, row.gone).learner)
    _give(session, moved, row.kept, row.gone)
    for one in moved["members"]:
        _restore(session, one, row)
    here = session.get(SessionRow, way.browser) if way.browser else None
    goes = here is not None and [here.issuer, here.subject] in moved["identities"]
    _sign_out(session, (row.kept, row.gone), way.browser, row.gone if goes else row.kept)
    row.undone, row.waits = now(), ""
    session.add(row)
    session.flush()
    _mark(session, moved)


def waiting_merges(session: Session, person: int) -> Sequence[MergeRow]:
    """The merges, and those to be undone, that wait for the yes of *person*; the oldest first."""
    rows = select(MergeRow).where(
        MergeRow.waits != "",
        col(MergeRow.undone).is_(None),
        or_(col(MergeRow.kept) == person, col(MergeRow.gone) == person),
    )
    mine = [row for row in session.exec(rows.order_by(col(MergeRow.id))) if str(person) in row.waits.split()]
    return [
        row
        for row in mine
        if row.moved or all(role_in(session, row.class_id or 0, one) is Role.STUDENT for one in (row.kept, row.gone))
    ]


def answer_merge(session: Session, number: int, person: SignedIn, *, agrees: bool) -> None:
    """Do what waits for the yes of *person*, or drop it; not committed.

    Raises:
        InputError: this browser may be someone else's, or one of the two has left the class.
        NotFoundError: nothing with this number waits for *person*.
    """
    row = next((one for one in waiting_merges(session, person.person) if one.id == number), None)
    if row is None:
        raise NotFoundError(translate("this was answered already, or taken back"))
    if agrees and not speaks_for(session, person):
        raise input_error("this browser was signed in with a code: sign in with your own account, and answer there")
    left = [one for one in row.waits.split() if one != str(person.person)] if agrees else []
    row.waits = " ".join(left)
    session.add(row)
    if agrees and not left:
        way = WayIn(browser=person.browser)
        if row.moved:
            undo_merge(session, row.id or 0, way=way)
        else:
            _refuse_others(session, row.class_id or 0, row.kept, row.gone)
            merge_persons(session, row.kept, row.gone, row.by, way=way, asked=row)
    elif not agrees and not row.moved:
        session.delete(row)
    session.flush()


def _refuse_others(session: Session, class_id: int, kept: int, gone: int) -> None:
    rows = [member_row(session, class_id, person) for person in (kept, gone)]
    if kept == gone:
        raise input_error("these are the same member: choose another one")
    if any(row.role != Role.STUDENT.word for row in rows):
        raise input_error("only students can be merged: make both students first")


def _entered_since(session: Session, row: MergeRow, own: Collection[int]) -> bool:
    """Whether one of the two has entered another class than *own* since a merge."""
    here = [one for person in (row.kept, row.gone) for one in _present(session, person)]
    before = json.loads(row.moved).get("classes")  # those of earlier versions do not say it
    new = {one.class_id for one in here if (one.joined > row.at if before is None else one.class_id not in before)}
    return bool(new - set(own))


def _sign_out(session: Session, persons: Collection[int], browser: str, here: int) -> None:
    """Sign *persons* out, and end their codes; the *browser* of who acts is that of *here* then."""
    for person in persons:
        close_every_browser(session, person, browser)
    session.exec(update(MemberRow).where(col(MemberRow.person).in_(persons)).values(code_digest=None))
    if acting := session.get(SessionRow, browser) if browser else None:
        acting.person = here
        session.add(acting)


def _numbers(persons: Iterable[int]) -> str:
    return " ".join(map(str, sorted(persons)))


def _merge(session: Session, number: int, class_id: int | None) -> MergeRow:
    """A merge that was not undone; of a class, if that is given."""
    row = session.get(MergeRow, number)
    if row is None or row.undone is not None or (class_id is not None and class_id not in _classes_of(row)):
        raise NotFoundError(translate("no merge has this number, or it was already undone"))
    return row


def _classes_of(row: MergeRow) -> Collection[int]:
    """The classes that a merge is about."""
    if not row.moved:
        return {row.class_id} if row.class_id is not None else set()
    return {one["class_id"] for one in json.loads(row.moved)["members"]}


def merges_in(session: Session, class_id: int) -> Sequence[MergeRow]:
    """The merges of members of a class that were not undone, or that wait; the newest first."""
    gone = columns(col(MemberRow.person)).where(col(MemberRow.class_id) == class_id)
    statement = (
        select(MergeRow)
        .where(col(MergeRow.undone).is_(None), col(MergeRow.gone).in_(gone))
        .order_by(col(MergeRow.id).desc())
    )
    return [row for row in session.exec(statement) if class_id in _classes_of(row)]


def merged_into(session: Session, person: int) -> Collection[int]:
    """The persons who became part of *person*, by however many merges."""
    found: set[int] = set()
    waiting = [person]
    while waiting:
        done = MergeRow.moved != "", col(MergeRow.undone).is_(None)
        rows = select(MergeRow.gone).where(MergeRow.kept == waiting.pop(), *done)
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


def _enter_merged(session: Session, row: MemberRow, kept: int) -> dict[str, Any]:
    """Let *kept* take the place of a member, who leaves; what both were before."""
    before = {name: getattr(row, name) for name in _OF_MEMBERS}
    mine = session.get(MemberRow, (row.class_id, kept))
    is_here = mine is not None and mine.left is None
    was = {name: getattr(mine, name) for name in _OF_MEMBERS} if is_here else None
    joined = mine.joined.isoformat() if mine is not None else None
    if mine is None:
        mine = MemberRow(class_id=row.class_id, person=kept, role=row.role, joined=row.joined)
    mine.joined = min(mine.joined, row.joined)
    if not is_here:
        mine.left, mine.role = None, row.role
    mine.label, mine.outside_id = mine.label or row.label, mine.outside_id or row.outside_id
    mine.group_name = mine.group_name or row.group_name
    mine.time_factor = max(mine.time_factor or 1.0, row.time_factor)
    row.left, row.code_digest, row.outside_id = now(), None, ""
    session.add(mine)
    session.add(row)
    session.flush()
    return {"class_id": row.class_id, "gone": before, "kept": was, "joined": joined}


def _restore(session: Session, one: Mapping[str, Any], merge: MergeRow) -> None:
    """Let both members be again what they were before a merge."""
    for person, was in ((merge.kept, one["kept"]), (merge.gone, one["gone"])):
        row = session.get(MemberRow, (one["class_id"], person))
        if row is None:
            continue
        for name, value in (was or {}).items():
            setattr(row, name, value)
        row.left = None if was else now()
        if person == merge.kept and one.get("joined"):
            row.joined = datetime.fromisoformat(one["joined"])
        session.add(row)
        session.flush()


def _refuse_older(session: Session, row: MergeRow) -> None:
    """Refuse to undo a merge before a later one of the same persons."""
    both = (row.kept, row.gone)
    later = select(MergeRow.id).where(
        col(MergeRow.id) > row.id,
        col(MergeRow.undone).is_(None),
        MergeRow.moved != "",
        or_(col(MergeRow.kept).in_(both), col(MergeRow.gone).in_(both)),
    )
    if session.exec(later).first() is not None:
        raise input_error("one of them was merged again since: undo that first")


def _mark(session: Session, moved: Mapping[str, Iterable[Mapping[str, int]]]) -> None:
    for one in moved["members"]:
        mark_changed(session, one["class_id"])
