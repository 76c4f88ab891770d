"""What is read together, for a class that answers at the same instant, is what each would read."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Engine, event
from sqlmodel import col, select

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import create_class, join_as_new, number_of
from app.classes.people.counted_answers import extend
from app.classes.people.policy import Policy
from app.classes.people.work import StudentDrawing, StudentHistory, student_histories
from app.core.errors import UnavailableError
from app.server.db.exercise_histories import histories
from app.server.db.history import ExerciseHistory, LearnerDrawing, RevealedParts
from app.server.db.learner_cookie import new_learner
from app.server.db.people import PersonRow
from app.server.db.session import BatchedLookup, Outage, open_writing_session
from app.server.db.tables import Reveal, now
from app.server.db.writer import NewRow, store
from app.site.members import SignedIn
from tests.db.test_rows import NOON, attempt

_SECRET = "secret"
_DAY = timedelta(days=1)


def two_at(engine: Engine) -> Sequence[StudentDrawing]:
    """Two students of a class, the first of whom has an extension."""
    with open_writing_session(engine) as session:
        row = create_class(session, _SECRET, "Systems", "Europe/Berlin")
        policy = Policy(due=now() + _DAY, attempts=3)
        first = create_assignment(session, number_of(row), "Week 1", policy, [AssignmentEntry("t/e", 2.0)])
        hidden = replace(policy, show_points=False, variants="same")
        create_assignment(session, number_of(row), "Week 2", hidden, [AssignmentEntry("t/hidden", 1.0)])
        for name in ("Ada", "Bo"):
            join_as_new(session, _SECRET, row, name, f"form {name}")
        newest = select(PersonRow).order_by(col(PersonRow.id).desc()).limit(2)
        bo, ada = session.exec(newest)
        extend(session, first, [number_of(ada)], now() + 5 * _DAY)
        session.commit()
        persons = [SignedIn(number_of(one), one.learner, one.name) for one in (ada, bo)]
    return [StudentDrawing(LearnerDrawing(one.learner, "t/e", 7), one, now()) for one in persons]


def _read(engine: Engine, those: Sequence[StudentDrawing]) -> Sequence[StudentHistory]:
    return student_histories(engine, _SECRET, those)


def _seen(history: ExerciseHistory) -> object:
    """A history without the moment at which it was read."""
    if not isinstance(history, StudentHistory):
        return history
    return replace(history, works=[replace(work, now=NOON) for work in history.works])


def test_what_is_read_together_is_what_each_would_read(engine: Engine) -> None:
    those, visitor = two_at(engine), LearnerDrawing(new_learner(), "t/e", 8)
    ada, bo = (one.drawing.learner for one in those)
    (hidden,) = {seed for name, seed in _read(engine, those)[0].veil if name == "t/hidden"}
    assert hidden is not None
    own = visitor.learner
    rows: list[NewRow] = [
        attempt(learner=ada, exercise="t/e", seed=7, correct=True, at=now()),
        attempt(learner=ada, exercise="t/hidden", seed=hidden, correct=True, at=now()),
        attempt(learner=bo, exercise="t/other", seed=1, correct=True, hints=1, at=now()),
        *(attempt(learner=own, exercise="t/e", seed=8, answer=str(n)) for n in range(7)),
        attempt(learner=own, exercise="t/e", seed=9, correct=True, revealed=True),
        Reveal(learner=bo, exercise="t/e", seed=7, number=2),
        Reveal(learner=own, exercise="t/e", seed=9, number=0),
    ]
    store(engine, rows)
    together = _read(engine, those)
    for history, one in zip(together, those, strict=True):
        (alone,) = _read(engine, [one])
        assert _seen(history) == _seen(alone)
    other = LearnerDrawing(ada, "t/e", 8)
    third, fourth = histories(engine, [visitor, other])
    assert [third, fourth] == [*histories(engine, [visitor]), *histories(engine, [other])]
    first, second = together
    assert (first.works[0].extended, second.works[0].extended) == (True, False)
    assert (set(first.last.right), set(first.known)) == ({7}, {"t/e"})
    assert (second.seen, second.last.shown) == (RevealedParts(1, solution=False), ())
    assert [one.answer for one in third.last.shown] == ["1", "6", "5", "4", "3"]
    assert (set(third.last.right), third.known["t/e"].solved) == ({9}, False)


Read = Callable[[int], ExerciseHistory]  # the history at the drawing with a seed


def readers(engine: Engine) -> Iterator[tuple[str, int, Read]]:
    """Who has a history: two students and a visitor, with the drawing that counts."""

    def of_student(student: StudentDrawing, seed: int) -> ExerciseHistory:
        at = replace(student.drawing, seed=seed)
        return _read(engine, [replace(student, drawing=at)])[0]

    def of_visitor(learner: str, seed: int) -> ExerciseHistory:
        return histories(engine, [LearnerDrawing(learner, "t/e", seed)])[0]

    for student in two_at(engine):
        (before,) = _read(engine, [student])
        yield student.drawing.learner, before.works[0].seed or 0, partial(of_student, student)
    visitor = new_learner()
    yield visitor, 8, partial(of_visitor, visitor)


@pytest.mark.parametrize("correct", [True, False])
def test_the_past_after_an_answer_is_what_is_read_after_it(engine: Engine, *, correct: bool) -> None:
    for learner, seed, read in readers(engine):
        before = read(seed)
        answer = attempt(learner=learner, exercise="t/e", seed=seed, correct=correct, at=now())
        store(engine, [answer])
        after = read(seed)
        assert _seen(before.after_answer(answer)) == _seen(after)
        for number in (1, 0):
            store(engine, [Reveal(learner=learner, exercise="t/e", seed=seed, number=number)])
            shown = read(seed)
            assert after.after_reveal(number).seen == shown.seen
            after = shown


def test_the_past_after_several_answers_and_reveals() -> None:
    past = ExerciseHistory(seen=RevealedParts(2, solution=False))
    assert past.after_reveal(1).seen == RevealedParts(2, solution=False), "an earlier hint again"
    assert past.after_reveal(0).after_reveal(3).seen == RevealedParts(3, solution=True)
    for number in range(7):
        past = past.after_answer(attempt(answer=str(number), seed=number, correct=number == 1))
    assert ([one.answer for one in past.last.shown], past.last.right) == (list("65432"), frozenset({1}))
    assert (past.has_solved("a/b", 1), past.has_solved("a/b", 2)) == (True, False)
    hidden = replace(past, veil=frozenset({("a/b", None)}))
    assert not hidden.has_solved("a/b", 1)
    assert hidden.after_answer(attempt(correct=True)).known == past.known
    for given, solved, unaided in (({}, True, True), ({"hints": 1}, True, False), ({"revealed": True}, False, False)):
        after = ExerciseHistory().after_answer(attempt(correct=True, **given)).known["a/b"]
        assert (after.tried, after.solved, after.unaided) == (1, solved, unaided)


def test_a_class_that_asks_at_once_is_read_by_as_many_queries_as_one_student(engine: Engine) -> None:
    those, asked = two_at(engine), []
    event.listen(engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    _read(engine, those[:1])
    alone = len(asked)
    gathered = BatchedLookup[StudentDrawing, StudentHistory](lambda keys: _read(engine, keys), Outage())

    async def together() -> Sequence[StudentHistory]:
        return await asyncio.gather(*map(gathered.of, those))

    found = asyncio.run(together())
    assert len(asked) == 2 * alone
    assert [len(history.works) for history in found] == [1, 1]


def test_look_ups_are_bounded_and_an_error_reaches_everyone_who_waits() -> None:
    sizes = []

    def look_up(keys: Sequence[int]) -> Sequence[int]:
        sizes.append(len(keys))
        if 3 in keys:
            raise UnavailableError("the database cannot be reached")
        return [2 * key for key in keys]

    async def ask(*keys: int) -> list[int | BaseException]:
        gathered = BatchedLookup[int, int](look_up, Outage(), most=2)
        together = await asyncio.gather(*map(gathered.of, keys), return_exceptions=True)
        return [*together, await gathered.of(7)]

    answers = asyncio.run(ask(1, 2, 3, 4, 5))
    assert sizes == [2, 2, 1, 1]
    assert (answers[:2], answers[4:]) == ([2, 4], [10, 14])
    assert all(isinstance(answer, UnavailableError) for answer in answers[2:4])
