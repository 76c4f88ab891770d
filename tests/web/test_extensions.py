"""Extensions and dates of groups: what is suggested, who is chosen, and what stays as it was."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from starlette.datastructures import FormData

from app.classes.pages.extensions import (
    ChosenStudents,
    ExtensionForm,
    GroupDatesForm,
    change_group_dates,
    chosen_numbers,
    extensions_page,
    group_dates_page,
)
from app.classes.people.assignments import assignment_with, change_groups
from app.classes.people.classes import Member, Role
from app.classes.people.counted_answers import extend
from app.classes.people.members import put_into_group, remove_members
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError
from app.server.db.session import open_writing_session
from app.site import Site
from tests.each import each
from tests.people.crowd import crowd_of
from tests.web.a_class import assignment_visit

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2036, 10, 1, 12, tzinfo=UTC)  # 14:00 in Berlin
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_numbers_are_those_of_persons_and_nothing_else() -> None:
    texts = ["7", "007", "x", "", "-1", "1.5", "٣", "9" * 18, "9" * 19]
    assert chosen_numbers(texts) == [7, 7, int("9" * 18)]
    form = ChosenStudents(person=["7", "x"])
    students = [Member(class_id=1, person=n, learner=f"l{n}", role=Role.STUDENT, name=f"S{n}") for n in (7, 8)]
    assert [(one.person, one.note, one.chosen) for one in (form.choice(each_, "n") for each_ in students)] == [
        (7, "n", True), (8, "n", False),
    ]  # fmt: skip


@each(
    ("due", "until"),
    [
        (NOW + 5 * HOUR, "2036-10-03T19:00"),
        (NOW, "2036-10-03T14:00"),
        (NOW - HOUR, "2036-10-03T23:59"),
        (NOW - 9 * DAY, "2036-10-03T23:59"),
        (None, "2036-10-03T23:59"),
    ],
)
def test_two_days_after_the_due_date_are_suggested_or_the_day_after_tomorrow(
    site: Site, due: datetime | None, until: str
) -> None:
    at = replace(site, clock=lambda: NOW)
    crowd = crowd_of(site, "Bo", policy=Policy(zone=BERLIN, due=due))
    with open_writing_session(site.engine) as session:
        seen = assignment_visit(at, session, crowd.assignment, crowd.persons["Ada Teacher"])
        page = extensions_page(seen, ExtensionForm())
        typed = extensions_page(seen, ExtensionForm(until="", person=[str(crowd.persons["Bo"])]))
    assert (page.until, page.movable, page.exam, page.lines) == (until, due is not None, False, ())
    assert (typed.until, typed.words, [one.chosen for one in typed.students]) == ("", "", [True])


def test_the_extensions_of_those_who_are_in_the_class_are_listed(site: Site) -> None:
    at = replace(site, clock=lambda: NOW)
    crowd = crowd_of(site, "Bo", "Cleo", "Dan", policy=Policy(zone=BERLIN, due=NOW + DAY, sitting=45))
    with open_writing_session(site.engine) as session:
        persons = [crowd.persons[name] for name in ("Bo", "Dan")]
        extend(session, crowd.assignment.id, persons, NOW + 3 * DAY, "Ada", "ill")
        remove_members(session, crowd.class_id, [crowd.persons["Dan"]])
        put_into_group(session, crowd.class_id, [crowd.persons["Cleo"]], "Monday")
        change_groups(session, crowd.assignment, [GroupDates(group="Monday", due=NOW + 2 * DAY)])
        stored = assignment_with(session, crowd.assignment.id)
        page = extensions_page(assignment_visit(at, session, stored, crowd.persons["Ada Teacher"]), ExtensionForm())
        assert [(member.name, row.why, until) for member, row, until, _ in page.lines] == [
            ("Bo", "ill", "Saturday, Oct 4, 14:00, in 3 days")
        ]
        assert [(one.name, one.note) for one in page.students] == [("Bo", "Saturday, Oct 4, 14:00"), ("Cleo", "")]
        assert (page.exam, page.movable, page.general) == (True, True, ("due Thursday, Oct 2, 14:00, tomorrow",))
        assert page.groups == ("Monday: due Friday, Oct 3, 14:00, in 2 days",)
        session.rollback()


def test_the_dates_of_groups_are_read_in_the_order_of_the_form() -> None:
    sent = FormData([("group", "A"), ("due-1", " 2036-10-02T23:59 "), ("group", "B"), ("opens-2", "x"), ("due-3", "y")])
    assert GroupDatesForm.read(sent).typed == {
        "A": {"opens": "", "due": "2036-10-02T23:59", "closes": ""}, "B": {"opens": "x", "due": "", "closes": ""},
    }  # fmt: skip


def test_a_group_whose_text_did_not_change_keeps_its_moment_and_one_that_was_not_shown_its_dates(site: Site) -> None:
    due = NOW + timedelta(days=2, seconds=17)
    crowd = crowd_of(site, "Bo", "Cleo", policy=Policy(zone=BERLIN, due=NOW + DAY))
    with open_writing_session(site.engine) as session:
        for name, group in (("Bo", "A"), ("Cleo", "B")):
            put_into_group(session, crowd.class_id, [crowd.persons[name]], group)
        both = [GroupDates(group="A", due=due), GroupDates(group="B", due=due)]
        change_groups(session, crowd.assignment, both)
        teacher = crowd.persons["Ada Teacher"]

        def sent(**typed: str) -> tuple[GroupDates, ...]:
            stored = assignment_with(session, crowd.assignment.id)
            change_group_dates(assignment_visit(site, session, stored, teacher), GroupDatesForm(typed={"A": typed}))
            return assignment_with(session, crowd.assignment.id).groups

        stored = assignment_with(session, crowd.assignment.id)
        page = group_dates_page(assignment_visit(site, session, stored, teacher))
        assert [(row.name, row.students, row.typed["due"]) for row in page.rows] == [
            ("A", 1, "2036-10-03T14:00"), ("B", 1, "2036-10-03T14:00"),
        ]  # fmt: skip
        assert sent(**page.rows[0].typed) == tuple(both)
        assert sent(opens="", due="2036-10-03T14:01", closes="")[0].due == NOW + timedelta(days=2, minutes=1)
        with pytest.raises(InputError, match="group A: cannot read 'soon'"):
            sent(opens="soon", due="", closes="")
        assert sent(opens="", due="", closes="") == (both[1],)
        session.rollback()
