"""Rows that come from a file: none twice, none lost, whoever else writes at the same time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta, timezone

from sqlalchemy import Engine

from app.server.db.personal import collect_everything, merge
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt, DailyGuess, Prediction, Reveal
from app.server.db.writer import store
from tests.db.test_rows import NOON, attempt

THREADS = 4


def personal(*attempts: Attempt, learner: str = "l") -> PersonalRows:
    reveal = Reveal(learner=learner, exercise="a/b", seed=1, number=1, at=NOON)
    prediction = Prediction(learner=learner, exercise="a/b", seed=1, answer="{}", at=NOON)
    guess = DailyGuess(learner=learner, day=date(2026, 3, 1), question="a b", answer="1 s", value=1.0, at=NOON)
    return PersonalRows(attempts=attempts, reveals=[reveal], predictions=[prediction], guesses=[guess], runs=[])


def many(count: int) -> list[Attempt]:
    return [attempt(at=NOON + timedelta(seconds=n)) for n in range(count)]


def test_rows_are_merged_by_what_they_say(engine: Engine) -> None:
    store(engine, [attempt(), attempt(learner="another")])
    elsewhere = NOON.astimezone(timezone(timedelta(hours=9)))
    rows = personal(attempt(), attempt(at=elsewhere), attempt(seed=1), attempt(answer="2"))
    assert merge(engine, "l", rows) == MergeResult(added=5, known=2)
    assert merge(engine, "l", rows) == MergeResult(added=0, known=7)


def test_what_comes_later_is_not_taken_for_the_latest(engine: Engine) -> None:
    store(engine, [attempt(exercise="a/new", at=NOON)])
    merge(engine, "l", personal(attempt(exercise="a/old", at=NOON - timedelta(days=1))))
    with open_session(engine) as session:
        assert [one.exercise for one in StoredRecords(session, "l").answers()] == ["a/old", "a/new"]


def test_the_same_file_sent_by_several_at_once_is_taken_once(engine: Engine) -> None:
    rows = personal(*many(300))
    with ThreadPoolExecutor(THREADS) as threads:
        merged = list(threads.map(lambda _: merge(engine, "l", rows), range(THREADS)))
    assert sorted(one.added for one in merged) == [0, 0, 0, 303]
    with open_session(engine) as session:
        stored = collect_everything(session, "l")
    assert [len(stored[name]) for name in ("attempts", "reveals", "predictions", "guesses")] == [300, 1, 1, 1]
