"""Answers in assessments, chapters that are known, and boards: stored, exported, deleted, moved."""

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from app.server.db.assessments import AssessedAnswer, KnownChapter, assessed_by, assessed_in, known_chapters, mark_known
from app.server.db.claims import claim_rows
from app.server.db.personal import collect_everything, delete_everything, merge
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.session import open_session
from app.server.db.tables import BoardRow
from app.server.db.writer import store
from tests.db.test_rows import NOON
from tests.each import each

LISTS = ("assessed", "known_chapters", "boards")


def assessed(**changes: object) -> AssessedAnswer:
    values: dict[str, object] = {
        "learner": "l",
        "assessment": "final",
        "draw": 7,
        "number": 1,
        "exercise": "t/e",
        "seed": 3,
        "outcome": "right",
        "at": NOON,
    }
    return AssessedAnswer.model_validate({**values, **changes})


def test_the_first_answer_to_a_question_stays(engine: Engine) -> None:
    store(engine, [assessed(number=2), assessed(outcome="wrong"), assessed(outcome="right")])
    store(engine, [assessed(draw=8), assessed(assessment="placement"), assessed(learner="m", number=3)])
    with open_session(engine) as session:
        found = assessed_in(session, "l", "final", 7)
        assert [(one.number, one.outcome) for one in found] == [(1, "wrong"), (2, "right")]
        assert [one.draw for one in assessed_by(session, "l", "final")] == [8, 7, 7]
        assert [one.draw for one in assessed_by(session, "l", "placement")] == [7]


@each("wrong", [{"number": 0}, {"number": 101}, {"outcome": "half"}, {"draw": -1}, {"learner": ""}])
def test_an_answer_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        assessed(**wrong)


def test_known_chapters_are_replaced_as_a_whole(engine: Engine) -> None:
    with open_session(engine) as session:
        mark_known(session, "l", ["a", "b"])
        mark_known(session, "m", ["a"])
        mark_known(session, "l", ["b", "c"])
        assert known_chapters(session, "l") == {"b", "c"}
        mark_known(session, "l", [])
        assert known_chapters(session, "l") == frozenset()
        assert known_chapters(session, "m") == {"a"}


def test_known_chapters_are_there_for_the_next_request(engine: Engine) -> None:
    for chapters in (["a"], ["a", "b"]):
        with open_session(engine) as session:
            mark_known(session, "l", chapters)
        with open_session(engine) as session:
            assert known_chapters(session, "l") == set(chapters)


def enter_schedule(session: Session, learner: str) -> None:
    session.add(BoardRow(learner=learner, exercise="p/e", time=10, memory=5))
    session.commit()


def test_a_file_is_merged_once_and_brings_no_place_on_a_board(engine: Engine) -> None:
    rows = PersonalRows(
        attempts=[],
        reveals=[],
        predictions=[],
        guesses=[],
        runs=[],
        assessed=[assessed(), assessed(number=2), assessed()],
        known_chapters=[KnownChapter(learner="l", chapter="memory", at=NOON)],
    )
    store(engine, [assessed(number=2, outcome="wrong")])
    assert merge(engine, "l", rows) == MergeResult(added=2, known=2)
    assert merge(engine, "l", rows) == MergeResult(added=0, known=4)
    with open_session(engine) as session:
        assert [one.outcome for one in assessed_in(session, "l", "final", 7)] == ["right", "wrong"]
        enter_schedule(session, "l")
        stored = collect_everything(session, "l")
        assert [len(stored[name]) for name in LISTS] == [2, 1, 1]
        assert delete_everything(session, "l") == 4
        assert [len(collect_everything(session, "l")[name]) for name in LISTS] == [0, 0, 0]


def test_a_person_claims_what_a_browser_did(engine: Engine) -> None:
    store(engine, [assessed(learner="browser"), assessed(learner="browser", number=2)])
    store(engine, [assessed(outcome="wrong"), assessed(draw=8, number=2), assessed(assessment="placement", number=2)])
    with open_session(engine) as session:
        mark_known(session, "browser", ["memory"])
        enter_schedule(session, "browser")
        assert claim_rows(session, "browser", "l") == 3
        own = collect_everything(session, "l")
        assert [len(own[name]) for name in LISTS] == [4, 1, 1]
        assert [one.outcome for one in assessed_in(session, "l", "final", 7)] == ["wrong", "right"]
