from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.core.errors import InputError, NotFoundError
from app.server.db.exercise_histories import histories, last_answers, reveals_of, standings_by
from app.server.db.history import Effort, LearnerDrawing, RevealedParts
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
from app.server.db.measurements import (
    MOST,
    MeasurementRow,
    delete_measurement,
    is_measurement_name,
    measurement_name,
    rename_measurement,
    save_measurement,
    saved_measurement,
    saved_measurements,
    titles_of_measurements,
)
from app.server.db.personal import collect_everything, delete_everything
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt, Prediction, Reveal, now
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
    (history,) = histories(engine, [LearnerDrawing("l", "a/tried", 0)])
    for standings in (known, history.known):
        assert {n: (s.tried, s.solved, s.unaided) for n, s in standings.items()} == {
            "a/tried": (1, False, False),
            "a/helped": (1, True, False),
            "a/alone": (2, True, True),
            "a/shown": (1, False, False),
        }
    assert known["a/alone"].last == NOON


def test_hidden_answers_are_left_out_of_what_is_read(engine: Engine) -> None:
    right = [attempt(exercise=name, seed=seed, correct=True) for name in ("a/all", "a/one") for seed in (1, 2)]
    store(engine, [*right, attempt(exercise="a/one", seed=1), attempt(exercise="a/one", seed=2)])
    with open_session(engine) as session:
        veil = frozenset({("a/all", None), ("a/one", 1)})
        records = StoredRecords(session, "l", veil)
        together = standings_by(session.connection(), {"l": veil, "m": frozenset()})
        assert together["m"] == {}
        for standings in (records.standings(), together["l"]):
            assert {name: (one.tried, one.solved) for name, one in standings.items()} == {"a/one": (2, True)}
        assert [one.seed for one in records.last_right_answers(["a/all", "a/one"]).values()] == [2]
        assert [one.seed for one in (*records.wrong_attempts(9), *records.latest_attempts())] == [2, 2, 2]
        assert [one.own for one in records.answers()] == [True, False]
        assert records.efforts() == {"a/one": Effort(2, 1, None)}
        assert sum(records.attempts_by_day(NOON.date()).values()) == 6, "that one worked is no secret"


def test_the_last_right_answer_is_one_before_any_solution(engine: Engine) -> None:
    rows = [
        attempt(answer="first", correct=True),
        attempt(answer="second", correct=True),
        attempt(answer="wrong"),
        attempt(answer="shown", correct=True, revealed=True),
        attempt(answer="another's", correct=True, learner="m"),
    ]
    store(engine, rows)
    with open_session(engine) as session:
        records = StoredRecords(session, "l")
        assert [one.answer for one in records.last_right_answers(["a/b", "a/c"]).values()] == ["second"]
        assert [one.answer for one in records.wrong_attempts(9)] == ["wrong"]
        assert [(one.own, one.unaided) for one in records.answers()] == [(True, True)] * 2 + [(False, False)] * 2


def test_an_effort_sums_the_last_time_on_each_drawing(engine: Engine) -> None:
    times = [(1, 10.0), (1, 30.0), (2, 5.0), (2, None)]
    store(engine, [attempt(seed=seed, seconds=seconds, correct=seconds == 5.0) for seed, seconds in times])
    with open_session(engine) as session:
        assert StoredRecords(session, "l").efforts() == {"a/b": Effort(4, 1, 35.0)}


def test_a_prediction_is_forgotten_unless_it_is_another_one(engine: Engine) -> None:
    rows = [Prediction(learner=who, exercise="a/b", seed=seed, answer="old") for who in "lm" for seed in (1, 2)]
    store(engine, rows)
    with open_session(engine) as session:
        records = StoredRecords(session, "l")
        records.forget_prediction("a/b", 1, "new")
        assert records.prediction("a/b", 1) == "old"
        records.forget_prediction("a/b", 1, "old")
    with open_session(engine) as session:
        left = [StoredRecords(session, who).prediction("a/b", seed) for who in "lm" for seed in (1, 2)]
    assert left == [None, "old", "old", "old"]


def test_a_reveal_is_stored_once(engine: Engine) -> None:
    reveals = [Reveal(learner="l", exercise="a/b", seed=7, number=n) for n in (1, 2, 2, 0)]
    for reveal in reveals:
        store(engine, [reveal])
    with engine.connect() as connection:
        seen = reveals_of(connection, ["l", "m"], ["a/b"], [7, 8])
        assert not reveals_of(connection, ["l"], ["a/c"], [7])
    assert seen == {("l", "a/b", 7): RevealedParts(2, True)}


def test_attempts_come_newest_first(engine: Engine) -> None:
    store(engine, [attempt(answer=str(n), exercise=f"a/{n % 2}") for n in range(9)])
    with open_session(engine) as session:
        assert [a.answer for a in StoredRecords(session, "l").latest_attempts(limit=4)] == list("8765")
        last = last_answers(session.connection(), ["l"], ["a/0", "a/2"])
    assert [one.answer for one in last["l", "a/0"].shown] == list("86420")
    store(engine, [attempt(answer=text, exercise="a/solved", correct=text == "first") for text in ("first", *"23456")])
    (history,) = histories(engine, [LearnerDrawing("l", "a/solved", 0)])
    assert ([one.answer for one in history.last.shown], history.last.right) == (list("65432"), frozenset({0}))
    assert list(last) == [("l", "a/0")]


def test_a_day_ends_at_midnight_utc(engine: Engine) -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    midnight = datetime(2026, 3, 1, tzinfo=UTC)
    early = [attempt(at=midnight), attempt(at=midnight - timedelta(seconds=1))]
    store(engine, [attempt(at=late), attempt(at=late + timedelta(hours=1)), *early])
    with open_session(engine) as session:
        days = StoredRecords(session, "l").attempts_by_day(date(2026, 3, 1))
    assert days == {date(2026, 3, 1): 2, date(2026, 3, 2): 1}


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


def test_a_token_opens_one_class_all_or_none() -> None:
    grants = (Grant("a"), Grant("b", "class", 7), Grant("c", "admin"))
    assert [[grant.allows(number) for number in (7, 8)] for grant in grants] == [
        [False, False],
        [True, False],
        [True, True],
    ]


def test_a_token_that_makes_no_sense_is_not_made(engine: Engine) -> None:
    with open_session(engine) as session:
        for name in ("", " marie", "marie ", "x" * 101, "a\nb"):
            with pytest.raises(InputError, match="must have 1 to 100"):
                create_token(session, name)
        for scope, class_id in (("class", None), ("check", 7), ("admin", 7), ("all", None)):
            with pytest.raises(InputError, match="scope class"):
                create_token(session, "marie", scope, class_id)
        with pytest.raises(InputError, match="never be valid"):
            create_token(session, "marie", until=now())
        create_token(session, "x" * 100)


def test_a_token_that_is_known_works_for_a_second_after_its_end(engine: Engine) -> None:
    clock = [0.0]
    tokens = Tokens(engine, lambda: clock[0])
    with open_session(engine) as session:
        secret, ending = create_token(session, "a"), create_token(session, "b", until=now() + timedelta(days=1))
        assert tokens.grant(secret) == Grant("a")
        assert tokens.grant(ending) == Grant("b")
        revoke_token(session, "a")
        revoked = list_tokens(session)[0].revoked
        revoke_token(session, "a")
        assert list_tokens(session)[0].revoked == revoked, "it ended when it was revoked first"
        row = list_tokens(session)[1]
        row.until = now()
        session.commit()
    clock[0] = 0.9
    assert [tokens.grant(one) for one in (secret, ending)] == [Grant("a"), Grant("b")]
    clock[0] = 1.0
    assert [tokens.grant(one) for one in (secret, ending)] == [None, None]


def saved(learner: str, name: str, at: int = 0) -> MeasurementRow:
    return MeasurementRow(name=name, learner=learner, title=name, report="{}", at=NOON + timedelta(at))


def test_a_measurement_is_its_owners_to_name_and_to_delete(engine: Engine) -> None:
    assert [save_measurement(engine, saved(*of)) for of in (("l", "a"), ("l", "b"), ("m", "c"), ("m", "a"))] == [
        *[True] * 3,
        False,
    ]
    for read in (saved_measurements, titles_of_measurements):
        assert [one.name for one in read(engine, "l")] == ["b", "a"], "the newest first"
        assert not read(engine, ""), "nobody has none"
    for name, learner in (("a", "m"), ("b", "l")):
        rename_measurement(engine, name, learner, "new")
    assert [(row.name, row.title) for row in saved_measurements(engine, "l")] == [("b", "new"), ("a", "a")]
    assert [delete_measurement(engine, "a", learner) for learner in ("m", "l", "l")] == [False, True, False]
    assert [saved_measurement(engine, name) is not None for name in "abc"] == [False, True, True]


def test_a_learner_saves_a_hundred_measurements(engine: Engine) -> None:
    assert save_measurement(engine, saved("m", "other"))
    for number in range(MOST):
        assert save_measurement(engine, saved("l", str(number)))
    assert not save_measurement(engine, saved("l", "0")), "what is saved already is no error"
    with pytest.raises(InputError, match="the limit"):
        save_measurement(engine, saved("l", "one more"))
    assert save_measurement(engine, saved("m", "one more"))


def test_the_name_of_a_measurement_is_secret_and_can_be_told() -> None:
    name = measurement_name("secret", "1")
    assert len({name, measurement_name("another", "1"), measurement_name("secret", "2")}) == 3
    assert is_measurement_name(name)
    assert not any(map(is_measurement_name, (name[1:], f"{name[1:]}g", "A" * 32, f"{name}0")))


def test_a_learner_is_known_only_by_a_signature() -> None:
    learner = new_learner()
    assert unsign(sign(learner, "a secret"), "a secret") == learner
    assert unsign(sign(learner, "another secret"), "a secret") is None
    assert unsign(learner, "a secret") is None
