"""What a class does, after changes of every kind: as it is reckoned from every row, on servers that remember."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, event, func, insert
from sqlmodel import Session, col, select

from app.classes.people.activity import work_in
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_with,
    change_assignment,
    create_assignment,
)
from app.classes.people.classes import Member, create_class, enroll, members_of, number_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.server.db.claims import claim_rows
from app.server.db.migrations import migrate
from app.server.db.people import MemberRow, MergeRow, OverrideRow, PersonRow, RegradeRow
from app.server.db.personal import delete_everything
from app.server.db.session import connect, open_session, open_writing_session
from app.server.db.tables import AttemptRow

SECRET = "secret"
NAMES = ("a/one", "a/two", "a/three")
START = datetime(2026, 10, 1, 12, tzinfo=UTC)
Figures = tuple[int, int, int | None, float | None, datetime | None, Mapping[str, int], bool | None]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Engine]]:
    """Two servers of one database, each of which remembers on its own: they know it by different addresses."""
    folder = tmp_path_factory.mktemp("activity")
    migrate(f"sqlite:///{folder / 'wallclock.db'}")
    (folder / "same").symlink_to(folder, target_is_directory=True)
    made = [connect(f"sqlite:///{path / 'wallclock.db'}") for path in (folder, folder / "same")]
    yield made
    for one in made:
        one.dispose()


@dataclass(slots=True)
class Room:
    """A class of five students with an assignment, and what happens in it, drawn at random."""

    engine: Engine
    draw: random.Random
    class_id: int = 0
    assignment: int = 0
    clock: datetime = START
    persons: list[int] = field(default_factory=list)
    learners: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        with open_writing_session(self.engine) as session:
            self.class_id = number_of(create_class(session, SECRET, "Systems"))
            for name in ("Ann", "Bo", "Cleo", "Dan", "Eve"):
                person = new_person(session, name)
                enroll(session, self.class_id, person.id or 0).joined = START
                self.persons.append(person.id or 0)
                self.learners.append(person.learner)
            entries = [AssignmentEntry(name, 2.0) for name in NAMES]
            self.assignment = create_assignment(session, self.class_id, "Week 1", self._policy(), entries)
            session.commit()
        self.learners += [f"{self.draw.getrandbits(128):032x}" for _ in range(2)]  # browsers
        with open_writing_session(self.engine) as session:
            for _ in range(30):
                self.answers(session)
            session.commit()

    def _policy(self) -> Policy:
        return Policy(due=START + timedelta(days=9), variants=self.draw.choice(("own", "own", "same", "many")))

    def change(self) -> None:
        """One change by whichever server, as any part of it may make it."""
        kinds: list[Callable[[Session], None]] = [
            *[self.answers] * 4, self.deletes, self.answers_again, self.exchanges, self.claims, self.erases, self.regrades,
            self.gives_points, self.merges, self.undoes, self.leaves, self.changes_rules,
        ]  # fmt: skip
        self.clock += timedelta(seconds=self.draw.uniform(1, 600))
        with open_writing_session(self.engine) as session:
            self.draw.choice(kinds)(session)
            session.commit()

    def answers(self, session: Session) -> None:
        """An answer, mostly to a drawing that counts; of PostgreSQL, one may be seen after those that came later."""
        learner, name = self.draw.choice(self.learners), self.draw.choice(NAMES)
        whose = self.draw.choice((learner, learner, "", *self.learners[:3]))
        right = self.draw.random() < 0.3
        last = session.exec(select(func.max(AttemptRow.id))).one() or 0
        near = session.exec(select(AttemptRow.id).where(col(AttemptRow.id) > last - 10)).all()
        free = set(range(max(1, last - 9), last + 3)) - set(near)
        session.add(
            AttemptRow(
                id=self.draw.choice(sorted(free)), learner=learner, exercise=name,
                seed=variant_seed(SECRET, self.assignment, name, whose), answer="1", correct=right,
                score=float(right), hints=0, revealed=self.draw.random() < 0.2, digest="d", drawn="{}",
                seconds=self.draw.choice((None, 5.0, 60.0)), mistake=None if right else self.draw.choice((None, "x", "y")),
                carried=self.draw.random() < 0.1, at=self.clock,
            )
        )  # fmt: skip

    def deletes(self, session: Session) -> None:
        if row := self._answer(session):
            session.delete(row)

    def answers_again(self, session: Session) -> None:
        """SQLite gives the number of the last row, once that is deleted, to the next one."""
        row = session.exec(select(AttemptRow).order_by(col(AttemptRow.id).desc())).first()
        if row:
            again = row.model_dump() | {"correct": not row.correct, "mistake": None, "at": self.clock}
            session.delete(row)
            session.flush()
            session.connection().execute(insert(AttemptRow), again)

    def exchanges(self, session: Session) -> None:
        """Two learners have as many answers as before, but others."""
        one, other = self._answer(session), self._answer(session)
        if one and other:
            one.learner, other.learner = other.learner, one.learner

    def claims(self, session: Session) -> None:
        one, other = self.draw.sample(self.learners, 2)
        claim_rows(session, one, other)

    def erases(self, session: Session) -> None:
        delete_everything(session, self.draw.choice(self.learners))

    def regrades(self, session: Session) -> None:
        if row := self._answer(session):
            right = self.draw.random() < 0.5
            digest = self.draw.choice(("m", "n"))
            session.merge(
                RegradeRow(attempt=row.id or 0, digest=digest, score=float(right), correct=right, at=self.clock)
            )

    def gives_points(self, session: Session) -> None:
        """Points by hand; or the last ones are taken back."""
        mine = select(OverrideRow).where(OverrideRow.assignment == self.assignment)
        last = session.exec(mine.order_by(col(OverrideRow.id).desc())).first()
        points: float | None = self.draw.choice((0.0, 2.0))
        person, name = self.draw.choice(self.persons), self.draw.choice(NAMES)
        if last and last.points is not None:
            person, name, points = last.person, last.exercise, None
        session.add(OverrideRow(assignment=self.assignment, person=person, exercise=name, points=points))

    def merges(self, session: Session) -> None:
        kept, gone = self.draw.sample(self.persons, 2)
        session.add(MergeRow(kept=kept, gone=gone, moved=json.dumps({"attempt": []})))

    def undoes(self, session: Session) -> None:
        for row in session.exec(select(MergeRow).where(col(MergeRow.undone).is_(None))):
            row.undone = self.clock

    def leaves(self, session: Session) -> None:
        """Someone leaves the class, or joins it again: from then on, with answers to many drawings."""
        row = session.get_one(MemberRow, (self.class_id, self.draw.choice(self.persons)))
        row.left, row.joined = (None, self.clock) if row.left else (self.clock, row.joined)

    def changes_rules(self, session: Session) -> None:
        pool = self.draw.choice((0, 0, 1))
        names = NAMES if pool else self.draw.sample(NAMES, self.draw.choice((2, 3)))
        entries = [AssignmentEntry(name, self.draw.choice((1.0, 2.0)) if not pool else 2.0, pool) for name in names]
        draws = [2] if pool else []
        change_assignment(session, self.assignment, "Week 1", self._policy(), entries, draws=draws)

    def _answer(self, session: Session) -> AttemptRow | None:
        rows = session.exec(select(AttemptRow).where(col(AttemptRow.learner).in_(self.learners))).all()
        return self.draw.choice(rows) if rows else None


def _found(engine: Engine, room: Room) -> Mapping[tuple[int, str], Figures]:
    with open_session(engine) as session:
        assignment = assignment_with(session, room.assignment)
        work = work_in(session, SECRET, assignment, members_of(session, room.class_id))
        return {
            (one.person, one.exercise):
            (one.tries, one.first, one.right, one.seconds, one.last, dict(one.mistakes), one.by_hand)
            for one in work
        }  # fmt: skip


def _reckoned(engine: Engine, room: Room) -> Mapping[tuple[int, str], Figures]:
    """The same from every row, as it is described."""
    found = {}
    with open_session(engine) as session:
        assignment = assignment_with(session, room.assignment)
        for member in members_of(session, room.class_id):
            for name in assignment.drawn(member.learner):
                if figures := _reckoned_of(session, assignment, member, name):
                    found[member.person, name] = figures
    return found


def _reckoned_of(session: Session, assignment: Assignment, member: Member, name: str) -> Figures | None:
    points = {one.exercise: one.points for one in assignment.entries}
    rows = session.exec(
        select(AttemptRow).where(
            AttemptRow.learner == member.learner, AttemptRow.exercise == name, ~col(AttemptRow.carried)
        )
    ).all()
    match assignment.policy.variants:
        case "many":
            joined = session.get_one(MemberRow, (assignment.class_id, member.person)).joined
            rows = [row for row in rows if row.at >= joined]
        case "same":
            rows = [row for row in rows if row.seed == variant_seed(SECRET, assignment.id, name)]
        case _:
            own = {variant_seed(SECRET, assignment.id, name, one) for one in _learners_of(session, member.person)}
            rows = [row for row in rows if row.seed in own]
    verdicts = {row.id or 0: row.correct for row in rows}
    for one in session.exec(
        select(RegradeRow).where(col(RegradeRow.attempt).in_(verdicts)).order_by(col(RegradeRow.at))
    ):
        verdicts[one.attempt] = one.correct
    given = session.exec(
        select(OverrideRow)
        .where(
            OverrideRow.assignment == assignment.id, OverrideRow.person == member.person, OverrideRow.exercise == name
        )
        .order_by(col(OverrideRow.id).desc())
    ).first()
    by_hand = None if given is None or given.points is None else given.points >= points[name]
    if not rows and not by_hand:
        return None
    return (
        len(rows),
        min((row.id or 0 for row in rows), default=0),
        min((row.id or 0 for row in rows if verdicts[row.id or 0] and not row.revealed), default=None),
        max((row.seconds for row in rows if row.seconds is not None), default=None),
        max((row.at for row in rows), default=None),
        dict(Counter(row.mistake for row in rows if row.mistake and not verdicts[row.id or 0])),
        by_hand,
    )


def _learners_of(session: Session, person: int, before: int = 2**62) -> set[str]:
    """The learner of *person*, and those of everyone who became this person before a merge."""
    found = {session.get_one(PersonRow, person).learner}
    for row in session.exec(select(MergeRow).where(MergeRow.kept == person, col(MergeRow.undone).is_(None))).all():
        if (row.id or 0) < before:
            found |= _learners_of(session, row.gone, row.id or 0)
    return found


def _compare(servers: Sequence[Engine], sequences: range, changes: int) -> None:
    for seed in sequences:
        room = Room(servers[0], random.Random(seed))
        for place in range(changes):
            room.change()
            expected = _reckoned(servers[0], room)
            for number, server in enumerate(servers):
                if room.draw.random() < 0.7:  # else it is not asked this time, and knows what was before
                    assert _found(server, room) == expected, (seed, place, number)


def test_what_is_remembered_is_what_is_reckoned_from_every_row(servers: Sequence[Engine]) -> None:
    _compare(servers, range(10), 25)


@pytest.mark.sweep
def test_what_is_remembered_is_what_is_reckoned_from_every_row_in_long_terms(servers: Sequence[Engine]) -> None:
    _compare(servers, range(10, 50), 50)


def test_a_look_reads_the_answers_of_those_alone_who_gave_one_since_the_last(servers: Sequence[Engine]) -> None:
    server, room = servers[0], Room(servers[0], random.Random(1))
    read: list[str] = []

    def note(_: object, __: object, statement: str, values: object, *___: object) -> None:
        if "GROUP BY" in statement and "attempt.mistake" in statement:
            read.extend(one for one in room.learners if one in str(values))

    event.listen(server, "before_cursor_execute", note)
    with open_writing_session(server) as session:
        for place, learner in enumerate(room.learners[:5]):
            session.add(_plain_answer(learner, 100 + place))
        session.commit()
    _found(server, room)
    assert sorted(read) == sorted(room.learners[:5])
    _found(server, room)
    assert len(read) == 5
    with open_writing_session(server) as session:
        session.add(_plain_answer(room.learners[3], 200))
        session.commit()
    _found(server, room)
    assert read[5:] == [room.learners[3]]


def _plain_answer(learner: str, seed: int) -> AttemptRow:
    return AttemptRow(
        learner=learner, exercise=NAMES[0], seed=seed, answer="1", correct=True, score=1.0, digest="d", drawn="{}",
        at=START,
    )  # fmt: skip
