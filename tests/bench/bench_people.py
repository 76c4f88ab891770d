"""A class: its gradebook and its live page, from a table of attempts that others share."""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, insert, text
from sqlmodel import Session

from app.classes.people.activity import ideas_in, turnouts, work_in
from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import extend, variant_seed
from app.classes.people.exercise_statistics import statistics_of
from app.classes.people.gradebook import gradebook_of
from app.classes.people.policy import Policy
from app.server.db.migrations import migrate
from app.server.db.people import ClassRow, MemberRow, PersonRow
from app.server.db.session import connect
from app.server.db.tables import AttemptRow
from tests.bench.figures import Figure
from tests.db.postgresql import cluster, programs

_SECRET = "bench"
_DUE = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
_EACH = 10  # exercises of an assignment
_OTHERS = 400_000  # answers of people who are in no class
_TURNS = 5


def measure() -> Iterator[Figure]:
    """On SQLite, and on PostgreSQL where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _on("SQLite", f"sqlite:///{folder}/w.db")
    if programs():
        with cluster() as address:
            yield from _on("PostgreSQL", address)


def _on(kind: str, database: str) -> Iterator[Figure]:
    migrate(database)
    with _open(database) as engine:
        draw = random.Random(1)
        _answers_of_others(engine, draw)
        small = _class_of(engine, draw, people=300, exercises=30)
        book = _best(lambda: _gradebook(engine, small))
        yield Figure(f"gradebook of 300 × 30, {kind}", 1e3 * book, "ms", 300)
        screen = _best(lambda: _live(engine, small))
        yield Figure(f"live page of 300, {kind}", 1e3 * screen, "ms", 100)
        large = _class_of(engine, draw, people=2000, exercises=100)
        book = _best(lambda: _gradebook(engine, large))
        yield Figure(f"gradebook of 2,000 × 100, {kind}", book, "s", 2)
        front = _best(lambda: _front_page(engine, large))
        yield Figure(f"front page of 2,000 × 100, {kind}", front, "s", 2)
        figures = _best(lambda: _statistics(engine, large))
        yield Figure(f"statistics of 2,000 × 100, {kind}", figures, "s", 3)


@contextmanager
def _open(database: str) -> Iterator[Engine]:
    engine = connect(database)
    try:
        yield engine
    finally:
        engine.dispose()


def _best(work: Callable[[], None]) -> float:
    """The shortest of some turns: other work on the machine only makes them longer."""
    times = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _gradebook(engine: Engine, class_id: int) -> None:
    with Session(engine) as session:
        assignments = assignments_of(session, class_id)
        book = gradebook_of(session, _SECRET, assignments, members_of(session, class_id))
    assert len(book) == len(assignments)


def _front_page(engine: Engine, class_id: int) -> None:
    with Session(engine) as session:
        assignments = assignments_of(session, class_id)
        found = turnouts(session, _SECRET, assignments, members_of(session, class_id))
    assert len(found) == len(assignments)


def _statistics(engine: Engine, class_id: int) -> None:
    with Session(engine) as session:
        members = members_of(session, class_id)
        for one in assignments_of(session, class_id):
            found = list(statistics_of(session, _SECRET, one, members))
            assert len(found) == len(one.entries)


def _live(engine: Engine, class_id: int) -> None:
    """What the live page asks of the database, and makes of it."""
    with Session(engine) as session:
        chosen = assignments_of(session, class_id)[0]
        work = work_in(session, _SECRET, chosen, members_of(session, class_id))
    assert len(ideas_in(work)) == len(chosen.entries)


def _class_of(engine: Engine, draw: random.Random, people: int, exercises: int) -> int:
    """A class whose members each gave 0 to 7 answers to their own drawing of each exercise."""
    with Session(engine, expire_on_commit=False) as session:
        row = ClassRow(name="Bench", join_digest=f"{draw.getrandbits(128):032x}")
        session.add(row)
        persons = [PersonRow(learner=f"{draw.getrandbits(128):032x}") for _ in range(people)]
        session.add_all(persons)
        session.flush()
        class_id = row.id or 0
        for number, person in enumerate(persons):
            session.add(MemberRow(class_id=class_id, person=person.id or 0, label=f"Student {number}"))
        policy = Policy(due=_DUE, closes=_DUE + timedelta(days=3), late=0.1)
        names = [_exercise(number) for number in range(exercises)]
        for start in range(0, exercises, _EACH):
            entries = [AssignmentEntry(name, 1.0) for name in names[start : start + _EACH]]
            made = create_assignment(session, class_id, f"Week {start}", policy, entries)
            late = [person.id or 0 for person in persons[:20]]
            extend(session, made, late, _DUE + timedelta(days=1))
        session.commit()
        given = [
            _answer(draw, person.learner, entry.exercise, _seed(one, entry, person))
            for one in assignments_of(session, class_id)
            for entry in one.entries
            for person in persons
            for _ in range(draw.randrange(8))
        ]
    draw.shuffle(given)  # as they arrive: those of one person are not beside each other
    _store(engine, given)
    return class_id


def _seed(assignment: Assignment, entry: AssignmentEntry, person: PersonRow) -> int:
    return variant_seed(_SECRET, assignment.id, entry.exercise, person.learner)


def _answers_of_others(engine: Engine, draw: random.Random) -> None:
    _store(
        engine,
        [_answer(draw, f"{number % 20_000:032x}", _exercise(draw.randrange(40)), number) for number in range(_OTHERS)],
    )


def _exercise(number: int) -> str:
    return f"chapter-{number % 12}/an-exercise-{number}"


def _answer(draw: random.Random, learner: str, exercise: str, seed: int) -> dict[str, object]:
    right = draw.random() < 0.4
    return {
        "learner": learner,
        "exercise": exercise,
        "seed": seed,
        "answer": "70 ms",
        "correct": right,
        "score": float(right),
        "hints": draw.randrange(3),
        "revealed": False,
        "digest": "d" * 64,
        "drawn": '{"ranks": "8", "size": "1 GB", "bandwidth": "50 GB/s"}',
        "seconds": 60.0,
        "mistake": None if right else draw.choice((None, "a" * 12, "b" * 12, "c" * 12)),
        "at": _DUE + timedelta(days=draw.uniform(-5, 2)),
    }


def _store(engine: Engine, rows: list[dict[str, object]]) -> None:
    with engine.begin() as connection:
        for start in range(0, len(rows), 20_000):
            connection.execute(insert(AttemptRow), rows[start : start + 20_000])
        connection.execute(text("ANALYZE"))  # as PostgreSQL does by itself within a minute
