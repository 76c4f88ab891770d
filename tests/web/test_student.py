"""The points of a student with why, as values: the path through a class, and the answers behind a cell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.classes.pages.student import PointsForm, cell_page, change_points, path_page, student_in
from app.classes.people.assignments import assignment_with, change_groups
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import extend
from app.classes.people.gradebook import WHOLE, cells_of
from app.classes.people.members import put_into_group
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.people import RegradeRow
from app.server.db.session import open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.people.crowd import RING, STAGE, crowd_of
from tests.web.a_class import visit

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2036, 10, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_the_answers_behind_a_cell_say_what_they_are_worth_and_why(site: Site) -> None:
    crowd = crowd_of(site, "Bo", policy=Policy(zone=BERLIN, due=NOW - 1.5 * HOUR, closes=NOW + DAY, late=0.5))
    at = replace(site, clock=lambda: NOW)
    first = crowd.answers("Bo", STAGE, NOW - 2 * HOUR, right=False, answer="x" * 301, score=0.25)
    second = crowd.answers("Bo", STAGE, NOW - HOUR, right=False, answer="y" * 300, score=0.5)
    with open_writing_session(site.engine) as session:
        row = session.get_one(AttemptRow, first)
        row.hints, row.seconds = 2, None
        for number, score in ((first, 0.75), (second, 0.5)):
            session.add(RegradeRow(attempt=number, digest="n", score=score, correct=False, at=NOW))
        session.flush()
        teacher, bo = visit(at, session, crowd.class_id, crowd.persons["Ada Teacher"]), crowd.persons["Bo"]
        page = cell_page(teacher, crowd.assignment.id, bo, PointsForm(exercise=STAGE, stored="yes"))
        ring, stage, whole = page.cells
        assert [(one.answer, one.at, one.score, one.points, one.time) for one in stage.rows] == [
            ("x" * 300 + "…", "Wednesday, Oct 1, 12:00", "75 %", 3.0, ""),
            ("y" * 300, "Wednesday, Oct 1, 13:00", "50 %", 1.0, "60 s"),
        ]
        assert [one.why for one in stage.rows] == [("judged again: 25 % before", "2 hints seen"), ("late: 50 % less",)]
        assert [(one.points, one.most, one.begun, one.chosen) for one in page.cells] == [
            (0.0, 1.0, False, False), (3.0, 4.0, True, True), (3.0, 5.0, True, False),
        ]  # fmt: skip
        assert (page.total, page.most, page.due, page.stored) == (3.0, 5.0, "Wednesday, Oct 1, 12:30", True)
        assert (page.heading, whole.exercise, ring.rows) == ("Bo, Week 1", WHOLE, ())
        seed = crowd.seed("Bo", STAGE)
        assert stage.rows[0].link.href == f"/exercises/{STAGE}?seed={seed}"
        assert cell_page(teacher, crowd.assignment.id, bo, PointsForm()).stored is False
        session.rollback()


def test_points_are_given_taken_back_or_excused_by_the_one_who_is_signed_in(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:
        teacher, bo = visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"]), crowd.persons["Bo"]
        number = crowd.assignment.id

        def given(**sent: str) -> list[tuple[str, float, bool]]:
            there = change_points(teacher, number, bo, PointsForm(**sent, why="oral"))
            exercise = sent.get("exercise", WHOLE)
            assert there == f"{crowd.href}/grades/{number}/{bo}?exercise={exercise}&stored=yes#chosen"
            cells = cells_of(session, site.secret, crowd.assignment, members_of(session, crowd.class_id))
            return sorted((name, cell.points, cell.excused) for (_, name), cell in cells.items())

        assert given(exercise=RING, points="0,5") == [(RING, 0.5, False)]
        assert given(exercise=RING, excused="yes", points=" ") == [(RING, 0.0, True)]
        assert given(points="0") == [(WHOLE, 0.0, False), (RING, 0.0, True)]
        assert given(points="") == [(RING, 0.0, True)]
        with pytest.raises(InputError, match="excused or has points, not both"):
            given(exercise=RING, excused="yes", points="1")
        assert given(exercise=RING, excused="no", points="1") == [(RING, 1.0, False)]
        page = cell_page(teacher, number, bo, PointsForm(exercise=RING))
        (row, day), *earlier = page.cells[0].changes
        assert (row.by, row.why, row.points, len(earlier), bool(day)) == ("Ada Teacher", "oral", 1.0, 2, True)
        for wrong in ((number, 10**6), (10**6, bo)):
            with pytest.raises(NotFoundError):
                change_points(teacher, *wrong, PointsForm(points="1", why="oral"))
        with pytest.raises(NotFoundError):
            student_in(session, crowd.class_id, 10**6)
        session.rollback()


def test_the_path_says_what_is_extended_for_one_and_how_far_they_are(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo", "Dan", policy=Policy(zone=BERLIN, due=NOW + DAY))
    at = replace(site, clock=lambda: NOW)
    crowd.answers("Bo", RING, NOW - timedelta(minutes=20), right=True)
    crowd.answers("Bo", STAGE, NOW - timedelta(minutes=1), right=False)
    with open_writing_session(site.engine) as session:
        extend(session, crowd.assignment.id, [crowd.persons["Bo"]], NOW + 3 * DAY)
        put_into_group(session, crowd.class_id, [crowd.persons["Cleo"]], "Monday")
        change_groups(session, crowd.assignment, [GroupDates(group="Monday", due=NOW + 2 * DAY)])
        assert assignment_with(session, crowd.assignment.id).groups
        teacher = visit(at, session, crowd.class_id, crowd.persons["Ada Teacher"])
        stages = {name: path_page(teacher, crowd.persons[name]).stages[0] for name in ("Bo", "Cleo", "Dan")}
        assert [(one.due, one.extended) for one in stages.values()] == [
            ("Saturday, Oct 4, 14:00", True), ("Friday, Oct 3, 14:00", False), ("Thursday, Oct 2, 14:00", False),
        ]  # fmt: skip
        page = path_page(teacher, crowd.persons["Bo"])
        assert (page.heading, page.role, page.outside_id, page.points, page.most) == ("Bo", "student", "id-2", 1.0, 5.0)
        assert [(one.state, one.points, one.most, one.tries, one.time, one.last) for one in stages["Bo"].steps] == [
            ("solved", 1.0, 1.0, 1, "60 s", "Wednesday, Oct 1, 13:40"),
            ("trying", 0.0, 4.0, 1, "60 s", "Wednesday, Oct 1, 13:59"),
        ]
        assert [(one.state, one.tries, one.time, one.last) for one in stages["Dan"].steps] == [("new", 0, "", "")] * 2
        book = f"{crowd.href}/grades/{crowd.assignment.id}/{crowd.persons['Bo']}"
        assert stages["Bo"].steps[0].why == f"{book}?exercise={RING}#chosen"
        session.rollback()
