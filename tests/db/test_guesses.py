"""Guesses of a day: the first one stays, and a spread is counted in an index."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from sqlalchemy import Engine, text

from app.server.db.guesses import MOST, count_of_guesses, counting, latest_guesses, spread_of
from app.server.db.personal import delete_everything, everything
from app.server.db.session import open_session
from app.server.db.tables import DailyGuess
from app.server.db.writer import store
from tests.db.test_rows import NOON
from tests.each import each

DAY = date(2026, 3, 1)


def guess(**changes: object) -> DailyGuess:
    values: dict[str, object] = {
        "learner": "l", "day": DAY, "question": "ring 1", "answer": "70 ms", "value": 0.07,
        "place": 0, "at": NOON,
    }  # fmt: skip
    return DailyGuess.model_validate({**values, **changes})


def test_of_several_guesses_at_once_one_stays(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: store(engine, [guess(answer=f"{n} ms")] * 2), range(1, 5)))
    store(engine, [guess(answer="later"), guess(answer="the next day", day=DAY + timedelta(1))])
    with open_session(engine) as session:
        found = latest_guesses(session, "l", 9)
        assert [one.day for one in found] == [DAY + timedelta(1), DAY]
        assert found[1].answer in {"1 ms", "2 ms", "3 ms", "4 ms"}
        assert count_of_guesses(session, "l") == 2
        assert delete_everything(session, "l") == 2
        assert everything(session, "l")["guesses"] == []


def test_a_spread_counts_the_guesses_on_one_question(engine: Engine) -> None:
    places = [0, 0, 5, -12, None]
    store(engine, [guess(learner=f"l{n}", place=place) for n, place in enumerate(places)])
    store(engine, [guess(learner="x", question="another"), guess(learner="y", day=date(2026, 3, 2))])
    with open_session(engine) as session:
        assert spread_of(session, DAY, "ring 1", range(-12, 13)) == {0: 2, 5: 1, -12: 1}
        for n, _ in enumerate(places):
            delete_everything(session, f"l{n}")


def test_a_spread_is_counted_in_an_index_up_to_a_limit(engine: Engine) -> None:
    rows = [guess(learner=f"l{n}", place=n % 2) for n in range(MOST + 1)]
    store(engine, [*rows, *(guess(learner=f"m{n}") for n in range(MOST))])
    with open_session(engine) as session:
        assert spread_of(session, DAY, "ring 1", [0, 1]) == {0: MOST, 1: MOST // 2}
    query = counting(DAY, "ring 1", [0, 1]).compile(engine, compile_kwargs={"literal_binds": True})
    with engine.connect() as connection:
        plan = [row[3] for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    read = [line for line in plan if "daily_guess" in line]
    assert len(read) == 2
    assert all("USING COVERING INDEX ix_daily_guess_spread" in line for line in read)


@each(
    "change",
    [{"value": 0.0}, {"value": float("inf")}, {"value": float("nan")}, {"place": 101},
     {"answer": "\0"}, {"answer": "x" * 501}, {"day": "2026-03-01"}, {"question": ""}],
)  # fmt: skip
def test_a_guess_that_no_database_should_see_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        guess(**change)
