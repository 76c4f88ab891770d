"""A roster of a class against what is stored; who is known already, by an id, over the years."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, insert
from sqlmodel import Session, col, select

from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Member, Role, class_with, enroll, members_of, role_in
from app.classes.people.csv_rosters import RosterEntry
from app.classes.people.members import holder_of_id, in_other_classes, in_parts, remove_members, with_identity
from app.classes.people.merges import merge_persons
from app.classes.people.persons import WayIn
from app.core.errors import input_error, nearest
from app.core.translation import translate
from app.server.db.learner_cookie import new_learner
from app.server.db.people import MemberRow, PersonRow
from app.server.db.tables import now

_NEAREST = 2_000  # members among whom the closest is looked for


def bare_id(outside: str) -> str:
    """An id without the zeros that a spreadsheet takes off: 007 is 7."""
    return outside.lstrip("0") if outside.isdecimal() else outside


def learner_called(session: Session, text: str, class_id: int | None) -> str:
    """The learner of the member called *text*: by the id of other systems, or by number.

    Of one class, or of all if *class_id* is None.

    Raises:
        InputError: nobody is called so, or several persons are; the message offers the closest id.
    """
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else -1  # noqa: PLR2004
    present: list[ColumnElement[bool]] = [col(MemberRow.left).is_(None)]
    if class_id is not None:
        present.append(col(MemberRow.class_id) == class_id)
    for called in (col(MemberRow.outside_id) == text, col(MemberRow.person) == number):
        statement = (
            select(PersonRow.learner)
            .join(MemberRow, col(MemberRow.person) == col(PersonRow.id))
            .where(called, *present)
            .distinct()
            .limit(2)
        )
        found = session.exec(statement).all()
        if len(found) == 1:
            return found[0]
        if found:
            raise input_error("learner: several people are called {text!r}; send the number", text=text[:60])
    ids = select(MemberRow.outside_id).where(*present, MemberRow.outside_id != "").limit(_NEAREST)
    raise input_error(
        "learner: nobody in this class is called {text!r}{near}", text=text[:60], near=nearest(text, session.exec(ids))
    )


def classes_of_the_same(session: Session, class_id: int) -> set[int]:
    """The class, and those that only teachers of it teach."""
    taught = select(MemberRow).where(MemberRow.role == Role.TEACHER.word, col(MemberRow.left).is_(None))
    own = {row.person for row in session.exec(taught.where(MemberRow.class_id == class_id))}
    theirs = {row.class_id for row in session.exec(taught.where(col(MemberRow.person).in_(own)))}
    rows = session.exec(taught.where(col(MemberRow.class_id).in_(theirs), col(MemberRow.person).not_in(own)))
    return {class_id} | theirs - {row.class_id for row in rows}


def claimable_member(session: Session, class_id: int, outside: str) -> int | None:
    """The member of a class with that id in other systems, if a platform may say who that is.

    It may not if they have another way in, or are in a class of others: those who keep the roster of
    this one would get in there.
    """
    holder = holder_of_id(session, class_id, outside)
    if holder is None or holder.role != Role.STUDENT.word:
        return None
    person = [holder.person]
    barred = with_identity(session, person) or in_other_classes(session, person, classes_of_the_same(session, class_id))
    return None if barred else holder.person


def joined_member(session: Session, class_id: int, known: int | None, outside: str) -> int | None:
    """The claimable member who is one with a person *known* to a platform; None: there is none."""
    if known is not None and role_in(session, class_id, known) is not None:
        return None
    return claimable_member(session, class_id, outside)


def recognize(session: Session, class_id: int, known: int | None, outside: str, way: WayIn) -> int | None:
    """The person who comes from a platform by *way*, is *known* to it, or has an id of the roster.

    One who is both becomes one, and that can be undone. Not committed.
    """
    member = joined_member(session, class_id, known, outside)
    if known is None or member is None:
        return member if known is None else known
    merge_persons(session, known, member, translate("known from before, found by id"), way=way, class_id=class_id)
    return known


def known_students(session: Session, class_id: int, ids: Iterable[str]) -> Mapping[str, MemberRow]:
    """Who of a roster is known, by those of the *ids* that say it, with the place where they are.

    Those who have left the class; else those of other classes of the same teachers, who may be in this
    one without an id. Nobody who is in a class of others, and none whose id means two.
    """
    wanted = {bare_id(one): one for one in ids if bare_id(one)}
    same = classes_of_the_same(session, class_id) if wanted else {class_id}
    rows = select(MemberRow, PersonRow).where(
        col(MemberRow.class_id).in_(same),
        MemberRow.outside_id != "",
        MemberRow.role != Role.TEACHER.word,
        PersonRow.id == MemberRow.person,
        col(PersonRow.deleted).is_(None),
    )
    found: dict[str, list[MemberRow]] = {}
    for row, _ in session.exec(rows):
        if bare_id(row.outside_id) in wanted and (row.class_id == class_id) == (row.left is not None):
            found.setdefault(wanted[bare_id(row.outside_id)], []).append(row)
    persons = [row.person for those in found.values() for row in those]
    barred = in_other_classes(session, persons, same) | _with_id(session, class_id, persons)
    chosen = {
        outside: _place_of_person([one for one in those if one.person not in barred], class_id)
        for outside, those in found.items()
    }
    return {outside: row for outside, row in chosen.items() if row is not None}


def _place_of_person(rows: Collection[MemberRow], class_id: int) -> MemberRow | None:
    """Where the one person of *rows* is, this class before others; None: there are several."""
    here = [row for row in rows if row.class_id == class_id] or list(rows)
    newest = max(here, key=lambda row: row.class_id, default=None)
    return newest if len({row.person for row in here}) == 1 else None


def _with_id(session: Session, class_id: int, persons: Iterable[int]) -> set[int]:
    """Those of *persons* who are in a class with an id."""
    found: set[int] = set()
    for some in in_parts(persons):
        rows = select(MemberRow.person).where(
            MemberRow.class_id == class_id,
            MemberRow.outside_id != "",
            col(MemberRow.left).is_(None),
            col(MemberRow.person).in_(some),
        )
        found |= set(session.exec(rows))
    return found


MOST_MEMBERS = 10_000


@dataclass(frozen=True, slots=True)
class ChangedMember:
    """A member, and how a roster lists them."""

    member: Member
    listed: RosterEntry


@dataclass(frozen=True, slots=True)
class DuplicateLine:
    """A line of a roster that is left out, because an earlier one is the same person."""

    listed: RosterEntry
    first: RosterEntry


@dataclass(frozen=True, slots=True)
class FormerStudent:
    """A person whom the teachers of a class know from before, by id, and how a roster lists them."""

    person: int
    name: str
    listed: RosterEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterChanges:
    """What a roster would change.

    *known* are persons from earlier classes who enter this one: they are not made again. *found*
    are members without an id who have the name of one on the roster: they get the id.
    *missing* are students who are not on it; they stay, unless they are removed on purpose.
    """

    added: tuple[RosterEntry, ...]
    changed: tuple[ChangedMember, ...]
    found: tuple[ChangedMember, ...]
    missing: tuple[Member, ...]
    doubled: tuple[DuplicateLine, ...]
    same: int
    known: tuple[FormerStudent, ...] = ()

    @property
    def digest(self) -> str:
        """A short text that is another for another difference, wherever its lines are."""
        changes = [(one.member, replace(one.listed, line=0)) for one in (*self.changed, *self.found)]
        said = repr(([replace(one, line=0) for one in self.added], changes, self.missing))
        said += repr([(one.person, replace(one.listed, line=0)) for one in self.known])
        return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change, unless those who are missing are removed."""
        return not (self.added or self.known or self.changed or self.found)


def roster_difference(members: Sequence[Member], roster: Sequence[RosterEntry]) -> RosterChanges:
    """What *roster* would change among the *members* of a class.

    A person is found by number, if the roster has it; by the id of the other system; without one,
    by a name that only one has.

    Raises:
        InputError: the class would have too many members, or nobody in it has a number.
    """
    once, doubled = _without_doubles(roster)
    find = RosterFinder(members, once)
    added: list[RosterEntry] = []
    changed: list[ChangedMember] = []
    found: list[ChangedMember] = []
    same = 0
    claimed: dict[int, RosterEntry] = {}
    for one in once:
        member, by_name = find.member(one)
        if member is not None and _is_shortened(one.outside_id, member.outside_id):
            one = replace(one, outside_id=member.outside_id)
        if member is None:
            added.append(one)
        elif member.person in claimed:
            doubled.append(DuplicateLine(one, claimed[member.person]))
        else:
            claimed[member.person] = one
            differs = _differs(member, one)
            same += not differs
            if differs:
                (found if by_name and one.outside_id else changed).append(ChangedMember(member, one))
    if len(members) + len(added) > MOST_MEMBERS:
        total = len(members) + len(added)
        raise input_error(
            "a class has at most {most_members:,} members; this would make {total:,}",
            most_members=MOST_MEMBERS,
            total=total,
        )
    return RosterChanges(
        added=tuple(added),
        changed=tuple(changed),
        found=tuple(found),
        missing=tuple(one for one in members if one.person not in claimed and one.role is Role.STUDENT),
        doubled=tuple(doubled),
        same=same,
    )


def roster_changes(session: Session, class_id: int, roster: Sequence[RosterEntry]) -> RosterChanges:
    """What *roster* would change in a class; who is known from before, by id, is not made again.

    Raises:
        InputError: as `roster_difference` does.
    """
    found = roster_difference(members_of(session, class_id), roster)
    places = known_students(session, class_id, [one.outside_id for one in found.added if one.outside_id])
    known = [
        FormerStudent(row.person, row.label or one.name, _as_known(one, row))
        for one in found.added
        if (row := places.get(one.outside_id))
    ]
    added = tuple(one for one in found.added if one.outside_id not in places)
    return replace(found, added=added, known=tuple(known))


def import_roster(session: Session, class_id: int, found: RosterChanges, *, remove_missing: bool = False) -> None:
    """Make a class as the roster of *found* says; not committed.

    Anyone who is new gets a seat code. So that they do not come in a second time, by the join link,
    this closes for all who are not on the roster.

    Raises:
        InputError: the class would have no teacher.
    """
    apply(session, class_id, found, remove_missing=remove_missing)
    row = class_with(session, class_id)
    if row.joining == "open" and (found.added or found.known):
        row.joining = "roster"
        session.add(row)


def apply(session: Session, class_id: int, found: RosterChanges, *, remove_missing: bool = False) -> None:
    """Make a class as the roster of *found* says; not committed.

    Raises:
        InputError: the class would have no teacher.
    """
    _add(session, class_id, [*found.added, *(one.listed for one in found.known)])
    changes = {one.member.person: one.listed for one in (*found.changed, *found.found)}
    if changes:
        rows = select(MemberRow).where(MemberRow.class_id == class_id, col(MemberRow.left).is_(None))
        for row in session.exec(rows):
            if listed := changes.get(row.person):
                row.label = listed.name
                row.outside_id = listed.outside_id or row.outside_id
                row.role = listed.role.word if listed.role else row.role
                row.group_name = row.group_name if listed.group is None else listed.group
                row.time_factor = row.time_factor if listed.time is None else listed.time
                session.add(row)
        session.flush()
        if any(one.group is not None or one.time is not None for one in changes.values()):
            mark_changed(session, class_id)  # groups have dates of their own
        if session.exec(rows.where(MemberRow.role == Role.TEACHER.word)).first() is None:
            raise input_error("with this roster the class would have no teacher; nothing was changed")
    if remove_missing:
        remove_members(session, class_id, [member.person for member in found.missing])


def _add(session: Session, class_id: int, added: Sequence[RosterEntry]) -> None:
    """Let in who is known from before; make a person and a member of the others, with two statements."""
    places = known_students(session, class_id, [one.outside_id for one in added])
    for one in added:
        if row := places.get(one.outside_id):
            way = WayIn(trusts=True)  # only the same teachers can have made ways in
            outside = _as_known(one, row).outside_id
            entered = enroll(session, class_id, row.person, one.role or Role.STUDENT, one.name, outside, way)
            entered.group_name = entered.group_name if one.group is None else one.group
            entered.time_factor = entered.time_factor if one.time is None else one.time
            session.add(entered)
    added = [one for one in added if one.outside_id not in places]
    if not added:
        return
    made = now()
    persons = [
        {"learner": new_learner(), "name": one.name, "made": made, "deleted": None, "entered": True} for one in added
    ]
    statement = insert(PersonRow).returning(col(PersonRow.id), sort_by_parameter_order=True)
    numbers = session.connection().execute(statement, persons).scalars()
    session.connection().execute(
        insert(MemberRow),
        [
            {
                "class_id": class_id,
                "person": number,
                "role": (one.role or Role.STUDENT).word,
                "label": one.name,
                "outside_id": one.outside_id,
                "group_name": one.group or "",
                "time_factor": one.time or 1.0,
                "code_digest": None,
                "joined": made,
                "left": None,
            }
            for number, one in zip(numbers, added, strict=True)
        ],
    )


def _as_known(listed: RosterEntry, row: MemberRow) -> RosterEntry:
    """A line of a roster, with the id that a spreadsheet has shortened in it."""
    return replace(listed, outside_id=row.outside_id) if _is_shortened(listed.outside_id, row.outside_id) else listed


def _is_shortened(listed: str, stored: str) -> bool:
    """Whether a roster has an id without its zeros, or not at all."""
    return len(listed) < len(stored) and bare_id(listed) in ("", bare_id(stored))


def namesakes(members: Iterable[Member]) -> Sequence[tuple[Member, Member]]:
    """Students with one name of whom only the first has an id, or none: one person, perhaps."""
    found: dict[str, list[Member]] = {}
    for one in members:
        if one.role is Role.STUDENT:
            found.setdefault(one.name.casefold(), []).append(one)
    pairs = [sorted(those, key=lambda one: not one.outside_id)[:2] for those in found.values() if len(those) > 1]
    return [(first, second) for first, second in pairs if not second.outside_id]


class MemberIndex:
    """Members by what a file may call them: a number, an id, or a name that only one has."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.numbers = {one.person: one for one in members}
        self.ids = {one.outside_id: one for one in members if one.outside_id}
        names = Counter(one.name.casefold() for one in members)
        self.names = {one.name.casefold(): one for one in members if names[one.name.casefold()] == 1}
        bare = Counter(bare_id(one.outside_id) for one in members)
        self._bare = {bare_id(one): member for one, member in self.ids.items() if bare[bare_id(one)] == 1}

    def with_id(self, outside: str) -> Member | None:
        """The member with that id, or the only one who has it without its zeros."""
        bare = bare_id(outside)
        return self.ids.get(outside) or (self._bare.get(bare) if bare else None)


class RosterFinder(MemberIndex):
    """Finds the member whom a line of a roster is about."""

    def __init__(self, members: Sequence[Member], roster: Sequence[RosterEntry]) -> None:
        super().__init__(members)
        self._listed = Counter(one.name.casefold() for one in roster)

    def member(self, listed: RosterEntry) -> tuple[Member | None, bool]:
        """The member, and whether it is the name that they have in common."""
        if listed.number is not None:
            return self._numbered(listed, listed.number), False
        if known := self.with_id(listed.outside_id):
            return known, False
        name = listed.name.casefold()
        namesake = self.names.get(name) if self._listed[name] == 1 else None
        if namesake and listed.outside_id and namesake.outside_id:
            return None, False  # two persons with one name
        return namesake, True

    def _numbered(self, listed: RosterEntry, number: int) -> Member:
        """The member with a number; an id on the roster is theirs, or nobody's."""
        member = self.numbers.get(number)
        if member is None:
            raise input_error("nobody in this class has the number {number}", number=number)
        holder = self.ids.get(listed.outside_id, member)
        if holder is not member:
            raise input_error(
                "the id {id!r} is that of {holder}, not of number {number}",
                id=listed.outside_id[:60],
                holder=holder.name,
                number=number,
            )
        return member


def _without_doubles(roster: Sequence[RosterEntry]) -> tuple[list[RosterEntry], list[DuplicateLine]]:
    """The first line of each person, and the others. Namesakes with ids of their own are two."""
    first: dict[str, RosterEntry] = {}
    doubled = []
    for one in roster:
        key = f"id {one.outside_id}" if one.outside_id else f"name {one.name.casefold()}"
        key = key if one.number is None else f"number {one.number}"
        if key in first:
            doubled.append(DuplicateLine(one, first[key]))
        else:
            first[key] = one
    return list(first.values()), doubled


def _differs(member: Member, listed: RosterEntry) -> bool:
    return (
        member.name != listed.name
        or (listed.role is not None and listed.role is not member.role)
        or bool(listed.outside_id and listed.outside_id != member.outside_id)
        or (listed.group is not None and listed.group != member.group)
        or (listed.time is not None and listed.time != member.time_factor)
    )
