"""What was stored without a person leaves once it is idle; nothing of a person or a program does."""

from datetime import timedelta

from sqlalchemy import Engine, func
from sqlmodel import col, select

from app.classes.people.classes import number_of
from app.classes.people.persons import new_person
from app.server.db.assessments import mark_known
from app.server.db.idle import delete_idle, tidy_idle_learners
from app.server.db.learner_cookie import new_learner
from app.server.db.measurements import MeasurementRow, save_measurement
from app.server.db.people import SessionRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow, BoardRow, LabRunRow, RevealRow, now
from app.server.db.writer import store
from tests.db.queue import run
from tests.db.test_assessments import assessed
from tests.db.test_persons import store_guess, work_of
from tests.db.test_rows import NOON, attempt

DAYS = timedelta(days=1)


def left(engine: Engine) -> set[str]:
    """The learners of answers, reveals and measurements."""
    with open_session(engine) as session:
        return {
            learner
            for table in (AttemptRow, RevealRow, MeasurementRow)
            for learner in session.exec(select(col(table.learner)))
        }


def measured(learner: str, days: int) -> MeasurementRow:
    name = new_learner()
    return MeasurementRow(name=name, learner=learner, title="t", report="{}", at=now() - days * DAYS)


def test_an_idle_learner_leaves_with_everything_and_no_other(engine: Engine) -> None:
    idle, returned, saves = new_learner(), new_learner(), new_learner()
    with open_writing_session(engine) as session:
        person = new_person(session, "Ada").learner
        session.commit()
    programs = ("token:grader", "token:grader:student-7")
    learners = (idle, returned, saves, person, *programs)
    at = now() - 401 * DAYS
    store(engine, [attempt(learner=one, at=at) for one in learners])
    store(engine, [attempt(learner=returned, at=now() - 399 * DAYS)])
    for row in (measured(idle, 500), measured(saves, 10)):
        assert save_measurement(engine, row)
    assert tidy_idle_learners(engine, 0) == 0, "0 keeps all"
    assert left(engine) == set(learners)
    assert tidy_idle_learners(engine, 400) == 1
    assert left(engine) == set(learners) - {idle}
    assert tidy_idle_learners(engine, 400) == 0
    with open_session(engine) as session:
        count = session.exec(select(func.count()).select_from(AttemptRow)).one()
    assert count == len(learners) - 1 + 1, "what is old of one who came back stays"


def test_every_table_of_a_learner_is_looked_at(engine: Engine) -> None:
    learner = new_learner()
    store(engine, work_of(learner, "1"))
    later = NOON + 10_000 * DAYS
    assert delete_idle(engine, NOON - DAYS) == 0
    assert delete_idle(engine, later) == 1
    assert left(engine) == set()


def test_whatever_was_stored_last_keeps_the_rest(engine: Engine) -> None:
    old = NOON - 400 * DAYS
    each_one = [new_learner() for _ in range(8)]
    store(engine, [attempt(learner=one, at=old) for one in each_one])
    shows, predicts, guesses, measures, saves, is_placed, knows, plays = each_one
    _, reveal, _ = work_of(shows, "1")
    _, _, prediction = work_of(predicts, "1")
    store(engine, [reveal, prediction, assessed(learner=is_placed)])
    store_guess(engine, guesses, "1")
    assert save_measurement(engine, measured(saves, 0))
    with open_session(engine) as session:
        mark_known(session, knows, ["memory"])
        session.add_all([run(learner=measures), BoardRow(learner=plays, exercise="p/e", time=1, memory=1)])
        session.commit()
    assert delete_idle(engine, NOON - DAYS) == 0
    assert delete_idle(engine, now() + DAYS) == len(each_one)
    with open_session(engine) as session:
        assert not session.exec(select(LabRunRow)).all()


def test_thousands_leave_in_parts(engine: Engine) -> None:
    many = [new_learner() for _ in range(450)]
    store(engine, [attempt(learner=one, at=now() - 500 * DAYS) for one in many])
    assert delete_idle(engine, now() - 400 * DAYS) == 450
    assert left(engine) == set()


def test_a_session_that_is_over_is_deleted(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        person = number_of(new_person(session, "Ada"))
        for digest, days in (("over", -1), ("valid", 1)):
            session.add(SessionRow(digest=digest, person=person, until=now() + days * DAYS))
        session.commit()
    tidy_idle_learners(engine, 0)
    with open_session(engine) as session:
        assert session.exec(select(SessionRow.digest)).all() == ["valid"]
