"""An answer is graded, stored and counted, or refused and not stored."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlmodel import col, select

from app.core.errors import AnswerError, AppError
from app.course.kinds import Answer, Verdict
from app.server.aside.fair_queue import Client
from app.server.db.session import open_session
from app.server.db.tables import Attempt, AttemptRow
from app.server.metrics import verdicts
from app.site import Site
from app.site.grading.check import check

RING = "collectives/ring-all-reduce-time"


def stored(site: Site, learner: str) -> list[AttemptRow]:
    with open_session(site.engine) as session:
        return list(session.exec(select(AttemptRow).where(AttemptRow.learner == learner).order_by(col(AttemptRow.id))))


def ask(site: Site, answer: Answer, learner: str, exercise: str = RING, **more: object) -> tuple[Verdict, Attempt]:
    asked = site.catalog.exercise(exercise)
    return asyncio.run(check(site, asked, 7, answer, learner, Client(learner), **more))  # type: ignore[arg-type]


def counted(kind: str) -> list[float]:
    return [verdicts(kind, one)._value.get() for one in ("correct", "incorrect", "unreadable")]


def test_an_answer_is_stored_with_its_verdict_when_this_returns(site: Site) -> None:
    right = site.catalog.exercise(RING).right_answer(7)
    assert isinstance(right, str)
    before = counted("numeric")
    ask(site, "1 us", "check-1", hints=2, revealed=True, seconds=3.5)
    verdict, attempt = ask(site, right, "check-1")
    wrong, correct = stored(site, "check-1")
    assert (wrong.correct, wrong.score, wrong.hints, wrong.revealed, wrong.seconds) == (False, 0, 2, True, 3.5)
    assert (correct.correct, correct.score, correct.hints, correct.revealed, correct.seconds) == (
        True,
        1,
        0,
        False,
        None,
    )
    assert (correct.exercise, correct.seed, correct.answer, correct.mistake) == (RING, 7, right, None)
    assert correct.drawn == site.catalog.exercise(RING).draw(7).as_json
    assert verdict.correct
    assert (attempt.learner, attempt.answer, attempt.correct) == ("check-1", right, True)
    assert [now - was for was, now in zip(before, counted("numeric"), strict=True)] == [1, 1, 0]


def test_an_answer_that_cannot_be_read_or_is_too_long_is_not_stored(site: Site) -> None:
    before = counted("numeric")
    with pytest.raises(AnswerError):
        ask(site, "much", "check-2")
    assert [now - was for was, now in zip(before, counted("numeric"), strict=True)] == [0, 0, 1]
    short = replace(site, settings=site.settings.model_copy(update={"answer_limit": 4}))
    with pytest.raises(AppError, match="at most 4 characters"):
        ask(short, "10 us", "check-2")
    assert stored(site, "check-2") == []
    assert ask(short, "1 us", "check-2")


def test_a_mistake_that_the_exercise_explains_is_stored_by_its_key(site: Site) -> None:
    right = site.catalog.exercise(RING).right_answer(7)
    assert isinstance(right, str)
    number, unit = right.split()
    ask(site, f"{float(number) / 2} {unit}", "check-3")  # the reduce-scatter alone
    (attempt,) = stored(site, "check-3")
    assert attempt.mistake
    assert not attempt.correct


def test_an_answer_of_several_parts_is_stored_as_json_as_it_was_written(site: Site) -> None:
    exercise = next(one for one in site.catalog.exercises if isinstance(one.right_answer(7), list))
    given = exercise.right_answer(7)
    assert isinstance(given, list)
    ask(site, given, "check-4", exercise.id)
    assert json.loads(stored(site, "check-4")[0].answer) == given


def test_an_answer_is_stored_in_its_turn(site: Site) -> None:
    order: list[int] = []

    @asynccontextmanager
    async def turn() -> AsyncIterator[None]:
        order.append(len(stored(site, "check-5")))
        yield

    ask(site, "1 us", "check-5", turn=turn())
    assert (order, len(stored(site, "check-5"))) == ([0], 1)
