"""Rows that come from a file: none twice, none lost, whoever else writes at the same time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta, timezone

import pytest
from sqlalchemy import Engine
from sqlmodel import SQLModel

from app.core.errors import InputError
from app.server.db.assessments import AssessedAnswer, KnownChapter
from app.server.db.lab_runs import SENT, SENT_LIMIT, keep_sent
from app.server.db.measurements import MOST as MOST_MEASUREMENTS
from app.server.db.measurements import MeasurementRow
from app.server.db.personal import MOST, collect_everything, merge
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.run_state import RunState
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt, DailyGuess, Prediction, Reveal
from app.server.db.writer import store
from tests.db.queue import run
from tests.db.test_rows import NOON, attempt, saved

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


def test_rows_that_differ_in_one_field_that_names_them_are_others(engine: Engine) -> None:
    reveal = Reveal(learner="l", exercise="a/b", seed=0, number=1)
    prediction = Prediction(learner="l", exercise="a/b", seed=0, answer="{}")
    answer = AssessedAnswer(learner="l", assessment="final", draw=1, number=1, exercise="a/b", seed=0, outcome="right")
    changes: dict[str, tuple[SQLModel, list[dict[str, object]]]] = {
        "attempts": (attempt(), [{"exercise": "c/d"}, {"seed": 9}, {"answer": "9"}, {"at": NOON + timedelta(1)}]),
        "reveals": (reveal, [{"exercise": "c/d"}, {"seed": 9}, {"number": 2}]),
        "predictions": (prediction, [{"exercise": "c/d"}, {"seed": 9}]),
        "assessed": (answer, [{"assessment": "placement"}, {"draw": 2}, {"number": 2}]),
        "known_chapters": (KnownChapter(learner="l", chapter="a"), [{"chapter": "b"}]),
    }
    for name, (row, others) in changes.items():
        rows = [row, row.model_copy(), *(row.model_copy(update=change) for change in others)]
        for expected in (MergeResult(1 + len(others), 1), MergeResult(0, 2 + len(others))):
            assert merge(engine, "l", only(**{name: rows})) == expected, name


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


def only(**rows: object) -> PersonalRows:
    nothing: dict[str, object] = dict.fromkeys(("attempts", "reveals", "predictions", "guesses", "runs"), [])
    return PersonalRows(**{**nothing, **rows})  # type: ignore[arg-type]


def test_a_file_may_fill_each_limit_and_no_more(engine: Engine) -> None:
    with open_session(engine) as session:
        session.add_all(run(state="done") for _ in range(3))  # measured here: they do not count
        session.commit()
    keep_sent(engine, run(host=SENT, state="done"))
    sent = [run(host=SENT, state=RunState.DONE) for _ in range(SENT_LIMIT)]
    measured = [saved("l", str(number)) for number in range(MOST_MEASUREMENTS + 1)]
    with pytest.raises(InputError, match="sent runs"):
        merge(engine, "l", only(runs=sent))
    with pytest.raises(InputError, match="saved measurements"):
        merge(engine, "l", only(measurements=measured))
    with pytest.raises(InputError, match="answers"):
        merge(engine, "l", only(attempts=many(MOST + 1)))
    full = only(runs=sent[1:], measurements=measured[1:], attempts=many(MOST))
    assert merge(engine, "l", full) == MergeResult(SENT_LIMIT - 1 + MOST_MEASUREMENTS + MOST, 0)
    assert merge(engine, "l", only(attempts=many(2), runs=sent[2:], measurements=measured[2:])).added == 0
    assert merge(engine, "l", personal()).added == 3, "what has no limit, where there is no room for answers"


def test_a_name_that_is_someone_elses_is_left_to_them(engine: Engine) -> None:
    mine = MeasurementRow(name="n", learner="l", title="mine", report="{}")
    assert merge(engine, "m", only(measurements=[saved("m", "n")])) == MergeResult(1, 0)
    assert merge(engine, "l", only(measurements=[mine])) == MergeResult(0, 1)


def test_an_export_has_neither_places_nor_names_of_learners(engine: Engine) -> None:
    store(engine, [attempt()])
    with open_session(engine) as session:
        found = collect_everything(session, "l")["attempts"]
    assert not isinstance(found, str)
    (row,) = found
    assert not {"id", "learner", "carried"} & row.keys()
    assert row["at"] == "2026-03-01T12:00:00Z"
