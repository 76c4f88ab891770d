"""Time and a half: a factor of the time in every exam of a class, which takes time from nobody."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, members_of, number_of
from app.classes.people.counted_answers import begin_sitting, dates_for, dates_of_everyone, extend, give_extension
from app.classes.people.csv_rosters import read_roster, write_roster
from app.classes.people.members import member_row, set_time_factor
from app.classes.people.merges import merge_persons, undo_merge
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy, dates_of, last_exam_end, read_factor
from app.classes.people.rosters import apply, roster_changes
from app.classes.people.work import release_of
from app.core.errors import InputError
from app.server.db.people import SittingRow
from app.site import Site
from tests.each import each
from tests.web.a_class import a_class, browser, joined, words

START = datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EXAM = Policy(opens=START, closes=START + 9 * HOUR, sitting=45, grace=0)


def minutes(policy: Policy, began: datetime, factor: float = 1.0, extended: datetime | None = None) -> float:
    """How long a person has in an exam."""
    closes = dates_of(policy, extended, began, factor).closes
    assert closes is not None
    return (closes - began) / MINUTE


@each(("factor", "has"), [(1.0, 45.0), (1.25, 56.25), (1.5, 67.5), (2.0, 90.0)])
def test_a_factor_is_of_the_minutes_of_an_exam(factor: float, has: float) -> None:
    assert minutes(EXAM, START, factor) == has


def test_who_begins_late_has_the_factor_of_what_is_left_to_everyone() -> None:
    late = START + 9 * HOUR - 20 * MINUTE
    assert minutes(EXAM, late) == 20
    assert minutes(EXAM, late, 1.5) == 30
    assert minutes(EXAM, START + 9 * HOUR + MINUTE, 1.5) == -1, "it began after the close"


def test_more_factor_and_an_extension_never_mean_less_time() -> None:
    draw = random.Random(5)
    for _ in range(2_000):
        last = draw.choice([None, START + draw.randrange(1, 600) * MINUTE])
        policy = Policy(opens=START, due=last, closes=last, sitting=draw.randrange(1, 200), grace=0)
        began = START + draw.randrange(0, 700) * MINUTE
        small, large = sorted((draw.uniform(1, 4), draw.uniform(1, 4)))
        extended = draw.choice([None, START + draw.randrange(0, 900) * MINUTE])
        times = [minutes(policy, began, 1.0), minutes(policy, began, small), minutes(policy, began, large)]
        assert times == sorted(times)
        longer = [minutes(policy, began, factor, extended) for factor in (1.0, small, large)]
        assert longer == sorted(longer)
        assert all(after >= before for before, after in zip(times, longer, strict=True))
        if extended:
            assert began + longer[0] * MINUTE >= extended - timedelta(seconds=1)
        if last and began <= last:
            over = last_exam_end(policy, large)
            assert over is not None
            assert began + times[2] * MINUTE <= over + timedelta(seconds=1), "solutions are shown to others then"


@each(
    ("text", "factor"),
    [("1.5", 1.5), ("1,25", 1.25), ("x2", 2.0), ("× 1.5", 1.5), ("150 %", 1.5), ("", 1.0), ("1", 1.0), ("4", 4.0)],
)
def test_a_factor_is_read_as_one_types_it(text: str, factor: float) -> None:
    assert read_factor(text) == factor


@each("text", ["0.5", "0", "-1", "5", "much", "1.5 h", "nan", "25 %"])
def test_a_factor_that_takes_time_away_or_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a factor of the time in exams is"):
        read_factor(text)


class Room:
    """A class with an exam, of Ada, who has time and a half, and Alan."""

    def __init__(self, session: Session, policy: Policy = EXAM) -> None:
        self.session = session
        self.id = number_of(create_class(session, "secret", "Systems"))
        self.ada, self.alan = (number_of(new_person(session, name)) for name in ("Ada", "Alan"))
        for person, name in ((self.ada, "Ada"), (self.alan, "Alan")):
            enroll(session, self.id, person, name=name)
        enroll(session, self.id, number_of(new_person(session, "Grace")), Role.TEACHER)
        set_time_factor(session, member_row(session, self.id, self.ada), 1.5)
        number = create_assignment(session, self.id, "Exam", policy, [AssignmentEntry("a/one", 1.0)])
        session.commit()
        self.exam = assignment_with(session, number)

    def begin(self, *persons: int) -> None:
        for person in persons:
            self.session.add(SittingRow(assignment=self.exam.id, person=person, began=START))
        self.session.commit()

    def closes(self, person: int) -> datetime | None:
        return dates_for(self.session, self.exam, person).closes

    def factors(self) -> dict[str, float]:
        return {one.name: one.time_factor for one in members_of(self.session, self.id) if one.role is Role.STUDENT}


def test_a_factor_holds_for_one_member_in_every_exam_of_the_class(session: Session) -> None:
    room = Room(session)
    room.begin(room.ada, room.alan)
    assert room.closes(room.ada) == START + 67.5 * MINUTE
    assert room.closes(room.alan) == START + 45 * MINUTE
    everyone = dates_of_everyone(session, room.exam)
    assert [everyone[one].closes for one in (room.ada, room.alan)] == [room.closes(room.ada), room.closes(room.alan)]
    begin_sitting(session, room.exam.id, room.ada)
    assert room.closes(room.ada) == START + 67.5 * MINUTE


def test_others_see_solutions_when_the_slowest_is_ready(session: Session) -> None:
    room = Room(session)
    room.begin(room.alan)
    assert release_of(room.exam, dates_for(session, room.exam, room.alan)) == START + 9 * HOUR + 22.5 * MINUTE


def test_an_extension_of_an_exam_that_would_take_time_away_is_refused(session: Session) -> None:
    room = Room(session)
    room.begin(room.ada)
    for until in (START + 46 * MINUTE, START + 67.5 * MINUTE):
        with pytest.raises(InputError, match="an extension must be later"):
            give_extension(session, room.exam, [room.ada], until, "Grace", "", START)
    give_extension(session, room.exam, [room.ada], START + 68 * MINUTE, "Grace", "", START)
    assert room.closes(room.ada) == START + 68 * MINUTE
    with pytest.raises(InputError, match="an extension must be later"):  # Alan has 45 minutes from now on
        give_extension(session, room.exam, [room.alan], START + 45 * MINUTE, "Grace", "", START)
    give_extension(session, room.exam, [room.alan], START + 46 * MINUTE, "Grace", "", START)
    extend(session, room.exam.id, [room.ada], START + MINUTE)  # stored by an earlier version
    assert room.closes(room.ada) == START + 67.5 * MINUTE


def test_a_roster_file_sets_factors_and_gives_back_what_it_took(session: Session) -> None:
    room = Room(session)

    def put(text: str) -> dict[str, float]:
        apply(session, room.id, roster_changes(session, room.id, read_roster(text).entries))
        return room.factors()

    assert put("name,role\nAda,\nAlan,\n") == {"Ada": 1.5, "Alan": 1.0}, "without the column, they keep theirs"
    assert put("id,name,time factor\n1,Ada,\n2,Alan,1.25\n3,Mary,2\n") == {"Ada": 1.0, "Alan": 1.25, "Mary": 2.0}
    file = write_roster(members_of(session, room.id))
    assert file.splitlines()[0] == "id,name,role,time factor"
    assert {one.name: one.time for one in read_roster(file).entries} == {**room.factors(), "Grace": 1.0}
    read = read_roster("id,name,time factor\n1,Ada,half\n2,Alan,2\n")
    assert read.left_out == (
        "line 2, column time factor: a factor of the time in exams is a number such as 1.25, 1.5 or 2, not 'half'",
    )


def test_a_merge_keeps_the_larger_factor_and_its_undoing_gives_both_back(session: Session) -> None:
    room = Room(session)
    number = merge_persons(session, room.alan, room.ada, "Grace")
    assert room.factors() == {"Alan": 1.5}
    undo_merge(session, number)
    assert room.factors() == {"Ada": 1.5, "Alan": 1.0}


def test_a_teacher_sets_a_factor_on_the_page_of_a_member(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada Lovelace"))
    href = f"/classes/{class_id}/people/{ada.person}/edit"
    sent = {"name": "Ada", "outside_id": "", "role": "student"}
    grace.post(href, {**sent, "time_factor": "1,5"})
    assert 'value="1.5"' in grace.get(href)
    assert "× 1.5" in words(grace.get(f"/classes/{class_id}/people"))
    assert "from 1 (as everyone) to 4, not 0.5" in words(grace.post(href, {**sent, "time_factor": "0.5"}, 422))
    grace.post(href, sent)
    assert 'value="1.5"' in grace.get(href), "a form without the field leaves it as it is"
