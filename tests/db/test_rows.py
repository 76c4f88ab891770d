from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.core.errors import InputError, NotFoundError
from app.server.db.exercise_histories import last_answers, reveals_of
from app.server.db.history import RevealedParts, streak
from app.server.db.lab_runs import enqueue
from app.server.db.learner_cookie import (
    Grant,
    Tokens,
    create_token,
    list_tokens,
    new_learner,
    revoke_token,
    sign,
    unsign,
)
from app.server.db.personal import collect_everything, delete_everything
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt, Prediction, Reveal
from app.server.db.writer import store
from tests.db.queue import run
from tests.each import each

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def attempt(**changes: object) -> Attempt:
    values: dict[str, object] = {
        "learner": "l", "exercise": "a/b", "seed": 0, "answer": "1", "correct": False,
        "score": 0.0, "digest": "d", "drawn": "{}", "at": NOON,
    }  # fmt: skip
    return Attempt.model_validate({**values, **changes})


@each(
    "change",
    [{"learner": ""}, {"learner": "x" * 65}, {"seed": -1}, {"seed": 2**60}, {"seed": "1"},
     {"answer": "\0"}, {"answer": "\ud800"}, {"answer": "x" * 20_001}, {"score": 1.5},
     {"score": float("nan")}, {"seconds": -1.0}, {"at": datetime(2026, 1, 1)}, {"correct": 1}],
)  # fmt: skip
def test_a_row_that_no_database_should_see_is_refused_at_the_door(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        attempt(**change)


def test_an_attempt_is_never_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        attempt().answer = "2"  # type: ignore[misc]


def test_a_standing_tells_tried_solved_and_unaided(engine: Engine) -> None:
    store(
        engine,
        [
            attempt(exercise="a/tried"),
            attempt(exercise="a/helped", correct=True, hints=1),
            attempt(exercise="a/alone"),
            attempt(exercise="a/alone", correct=True),
            attempt(exercise="a/shown", correct=True, revealed=True),
            attempt(exercise="a/other", correct=True, learner="someone else"),
        ],
    )
    with open_session(engine) as session:
        known = StoredRecords(session, "l").standings()
    assert {n: (s.tried, s.solved, s.unaided) for n, s in known.items()} == {
        "a/tried": (1, False, False),
        "a/helped": (1, True, False),
        "a/alone": (2, True, True),
        "a/shown": (1, False, False),
    }
    assert known["a/alone"].last == NOON


def test_a_reveal_is_stored_once(engine: Engine) -> None:
    reveals = [Reveal(learner="l", exercise="a/b", seed=7, number=n) for n in (1, 2, 2, 0)]
    for reveal in reveals:
        store(engine, [reveal])
    with engine.connect() as connection:
        seen = reveals_of(connection, ["l", "m"], ["a/b"], [7, 8])
    assert seen == {("l", "a/b", 7): RevealedParts(2, True)}


def test_attempts_come_newest_first(engine: Engine) -> None:
    store(engine, [attempt(answer=str(n), exercise=f"a/{n % 2}") for n in range(9)])
    with open_session(engine) as session:
        assert [a.answer for a in StoredRecords(session, "l").latest_attempts(limit=3, skip=1)] == list("765")
        last = last_answers(session.connection(), ["l"], ["a/0", "a/2"])
    assert [one.answer for one in last["l", "a/0"].shown] == list("86420")
    assert list(last) == [("l", "a/0")]


def test_a_day_ends_at_midnight_utc(engine: Engine) -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    store(engine, [attempt(at=late), attempt(at=late + timedelta(hours=1)), attempt(at=NOON)])
    with open_session(engine) as session:
        days = StoredRecords(session, "l").attempts_by_day(date(2026, 3, 1))
    assert days == {date(2026, 3, 1): 2, date(2026, 3, 2): 1}


@each(
    ("ago", "length"),
    [
        ((), 0), ((0,), 1), ((1,), 1), ((2,), 1), ((3,), 0), ((1, 2, 3), 3),
        ((0, 1, 2, 4), 4), ((0, 1, 2, 5), 3), ((0, 2, 4), 2), ((0, 2, 3, 4, 5, 6, 7, 9), 8),
        ((0, 2, 3, 4, 5, 6, 8), 6),
    ],
)  # fmt: skip
def test_a_streak_forgives_one_missed_day_in_seven(ago: tuple[int, ...], length: int) -> None:
    today = date(2026, 3, 10)
    assert streak({today - timedelta(days=n) for n in ago}, today) == length


def test_everything_is_exported_and_deleted(engine: Engine) -> None:
    store(
        engine,
        [
            attempt(),
            attempt(learner="other"),
            Reveal(learner="l", exercise="a/b", seed=0, number=1),
            Prediction(learner="l", exercise="a/b", seed=0, answer="{}"),
        ],
    )
    enqueue(engine, run(learner="l"), most=9)
    tables = ("attempts", "reveals", "predictions", "runs")
    with open_session(engine) as session:
        kept = collect_everything(session, "l")
        assert [len(kept[k]) for k in tables] == [1, 1, 1, 1]
        assert delete_everything(session, "l") == 4
        assert [len(collect_everything(session, "l")[k]) for k in tables] == [0, 0, 0, 0]
        assert len(collect_everything(session, "other")["attempts"]) == 1


def test_a_token_is_valid_until_it_is_revoked(engine: Engine) -> None:
    with open_session(engine) as session:
        secret = create_token(session, "marie")
        assert Tokens(engine).grant(secret) == Grant("marie")
        assert Tokens(engine).grant(secret[:-1]) is None
        assert Tokens(engine).grant("\ud800") is None
        with pytest.raises(InputError, match="already"):
            create_token(session, "marie")
        with pytest.raises(NotFoundError, match="did you mean 'marie'"):
            revoke_token(session, "mari")
        revoke_token(session, "marie")
        assert Tokens(engine).grant(secret) is None
        assert [token.name for token in list_tokens(session)] == ["marie"]


def test_a_learner_is_known_only_by_a_signature() -> None:
    learner = new_learner()
    assert unsign(sign(learner, "a secret"), "a secret") == learner
    assert unsign(sign(learner, "another secret"), "a secret") is None
    assert unsign(learner, "a secret") is None
