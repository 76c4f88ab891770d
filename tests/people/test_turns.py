"""Several servers that change one assignment at once take turns, and lose no change."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine

from app.classes.people.assignments import (
    AssignmentEntry,
    assignment_to_change,
    assignment_with,
    change_assignment,
    create_assignment,
)
from app.classes.people.classes import create_class, number_of
from app.classes.people.policy import Policy
from app.server.db.session import open_writing_session

RING = "collectives/ring-all-reduce-time"


def changes_are_not_lost(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        class_id = number_of(create_class(session, "a secret of sixteen characters", "Systems"))
        number = create_assignment(session, class_id, "Week 1", Policy(), [AssignmentEntry(RING, 1.0)])
        session.commit()

    def add_a_point(_: int) -> str:
        with open_writing_session(engine) as session:
            before = assignment_to_change(session, number)
            entries = [AssignmentEntry(RING, before.points + 1.0)]
            change_assignment(session, number, before.title, before.policy, entries)
            session.commit()
        return before.version

    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(add_a_point, range(12)))
    with open_writing_session(engine) as session:
        assert assignment_with(session, number).points == 13.0
    assert len(set(versions)) == 12


def test_changes_of_several_servers_are_not_lost(people_engine: Engine) -> None:
    changes_are_not_lost(people_engine)
