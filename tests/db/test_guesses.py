"""Guesses on questions of a day, which earlier versions asked: they stay with their learner."""

from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from sqlalchemy import Engine

from app.server.db.personal import collect_everything, delete_everything, merge
from app.server.db.records import PersonalRows
from app.server.db.session import open_session
from app.server.db.tables import DailyGuess
from tests.db.test_rows import NOON
from tests.each import each

DAY = date(2026, 3, 1)


def guess(**changes: object) -> DailyGuess:
    values: dict[str, object] = {
        "learner": "l", "day": DAY, "question": "ring 1", "answer": "70 ms", "value": 0.07,
        "place": 0, "at": NOON,
    }  # fmt: skip
    return DailyGuess.model_validate({**values, **changes})


def guesses_alone(rows: Sequence[DailyGuess]) -> PersonalRows:
    return PersonalRows(attempts=[], reveals=[], predictions=[], guesses=rows, runs=[])


def test_guesses_of_an_earlier_version_are_exported_and_deleted(engine: Engine) -> None:
    rows = [guess(), guess(answer="later"), guess(day=DAY + timedelta(1))]
    assert merge(engine, "l", guesses_alone(rows)).added == 2
    assert merge(engine, "l", guesses_alone([guess(answer="later")])).added == 0
    with open_session(engine) as session:
        found = collect_everything(session, "l")["guesses"]
        assert not isinstance(found, str)
        assert [(one["day"], one["answer"]) for one in found] == [("2026-03-01", "70 ms"), ("2026-03-02", "70 ms")]
        assert delete_everything(session, "l") == 2
        assert collect_everything(session, "l")["guesses"] == []


@each(
    "change",
    [{"value": 0.0}, {"value": float("inf")}, {"value": float("nan")}, {"place": 101},
     {"answer": "\0"}, {"answer": "x" * 501}, {"day": "2026-03-01"}, {"question": ""}],
)  # fmt: skip
def test_a_guess_that_no_database_should_see_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        guess(**change)
