"""What teachers set, as values: an assignment, the rule of the overall grade, the settings of a class, its figures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session
from starlette.datastructures import FormData

from app.classes.pages.assignment_editor import (
    ArchiveForm,
    AssignmentEditorPage,
    GradeRuleForm,
    SettingsForm,
    SureForm,
    change_settings,
    delete_assignment_for_good,
    edit_assignment_page,
    grade_rule_page,
    new_assignment_page,
    post_archive,
    post_grade_rule,
    save_assignment,
    settings_page,
    statistics_file,
    statistics_page,
    submit_new_assignment,
    typed_date,
)
from app.classes.pages.assignment_form import AssignmentForm, assignment_form_of
from app.classes.pages.class_router import AssignmentVisit, FormError
from app.classes.people.assignments import AssignmentEntry, assignment_with, assignments_of, create_assignment
from app.classes.people.policy import Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.session import open_writing_session
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, STAGE, Crowd, crowd_of
from tests.web.a_class import assignment_visit, visit

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2036, 10, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def teacher_of(crowd: Crowd, session: Session) -> Any:
    return visit(replace(crowd.site, clock=lambda: NOW), session, crowd.class_id, crowd.persons["Ada Teacher"])


def editing(crowd: Crowd, session: Session) -> AssignmentVisit:
    stored = assignment_with(session, crowd.assignment.id)
    return assignment_visit(replace(crowd.site, clock=lambda: NOW), session, stored, crowd.persons["Ada Teacher"])


def test_a_new_assignment_begins_empty_or_with_the_core_of_a_chapter(site: Site) -> None:
    crowd, topic = crowd_of(site), site.catalog.topics[0]
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)
        page = new_assignment_page(teacher)
        assert (page.heading, page.action, page.stored, page.begun) == (
            "New assignment", f"{crowd.href}/assignments/new", False, 0,
        )  # fmt: skip
        assert (page.form.due, page.form.points, page.in_order) == ("2036-10-08T23:59", {}, ())
        assert [one.href for one in page.paths] == [f"{page.action}?chapter={one.id}" for one in site.catalog.topics]
        page = new_assignment_page(teacher, topic.id)
        assert (page.form.title, page.form.points) == (topic.title, {one.id: "1" for one in topic.path})
        with pytest.raises(NotFoundError):
            new_assignment_page(teacher, "nothing")
        typed = page.form.model_copy(update={"title": "Mine"})
        assert submit_new_assignment(teacher, typed) == crowd.href
        made = assignments_of(session, crowd.class_id)[-1]
        assert (made.title, [one.exercise for one in made.entries]) == ("Mine", [one.id for one in topic.path])
        session.rollback()


def test_a_date_is_confirmed_as_it_was_told_and_stored_then(site: Site) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)
        form = new_assignment_page(teacher).form.model_copy(
            update={"title": "X", "points": {RING: "1"}, "opens": "2036-03-30T02:30", "due": "2036-10-26T02:30"}
        )
        page = submit_new_assignment(teacher, form)
        assert isinstance(page, AssignmentEditorPage)
        assert ["skip" in one for one in page.notes] == [True, False]
        for told, stored in (("x", False), (page.notes[0], False), ("\r\n".join(page.notes), True)):
            found = submit_new_assignment(teacher, form.model_copy(update={"told": told}))
            assert (found == crowd.href) is stored
        session.rollback()


def test_what_is_edited_is_stored_unless_another_has_changed_it_meanwhile(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo", policy=Policy(zone=BERLIN, due=NOW + DAY, closes=NOW + DAY))
    crowd.answers("Bo", RING, NOW - DAY, right=True)
    with open_writing_session(site.engine) as session:
        page = edit_assignment_page(editing(crowd, session))
        assert (page.heading, page.action, page.stored, page.begun, page.paths) == (
            "Week 1", f"/assignments/{crowd.assignment.id}/edit", True, 1, (),
        )  # fmt: skip
        assert page.words["due"] == "Thursday, Oct 2, 14:00, tomorrow"
        first = page.form.model_copy(update={"title": "First"})
        assert save_assignment(editing(crowd, session), first) == crowd.href
        asked = save_assignment(editing(crowd, session), page.form.model_copy(update={"title": "Second"}))
        assert isinstance(asked, AssignmentEditorPage)
        stored = assignment_with(session, crowd.assignment.id)
        assert (asked.changed, asked.form.title, asked.form.seen, stored.title) == (
            True,
            "Second",
            stored.version,
            "First",
        )
        assert save_assignment(editing(crowd, session), first) == crowd.href, "who typed the same is not asked"
        assert save_assignment(editing(crowd, session), asked.form) == crowd.href
        unseen = assignment_form_of(stored).model_copy(update={"title": "Third", "seen": ""})
        assert save_assignment(editing(crowd, session), unseen) == crowd.href
        assert assignment_with(session, crowd.assignment.id).title == "Third"
        with pytest.raises(NotFoundError, match="'pack/gone'"):
            save_assignment(editing(crowd, session), unseen.model_copy(update={"points": {"pack/gone": "1"}}))
        with pytest.raises(FormError):
            save_assignment(editing(crowd, session), unseen.model_copy(update={"title": ""}))
        for sure in ("", "Third week"):
            with pytest.raises(InputError):
                delete_assignment_for_good(editing(crowd, session), SureForm(sure=sure))
        assert delete_assignment_for_good(editing(crowd, session), SureForm(sure=" third ")) == crowd.href
        assert assignments_of(session, crowd.class_id) == []
        session.rollback()


@each(("ends", "second"), [("yes", True), ("", False), ("no", False)])
def test_a_date_that_comes_twice_is_said_as_the_end_or_the_beginning_that_it_is(
    site: Site, ends: str, second: bool
) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        said = bytes(typed_date(teacher_of(crowd, session), "2036-10-26T02:30", ends).body).decode()
    assert ("the second is used" in said) is second


def rule(crowd: Crowd, session: Session, **texts: str) -> list[tuple[str, str, float]]:
    """The rule of a class once *texts* were sent; numbers of assignments are 1 and 2."""
    numbers = [one.id for one in assignments_of(session, crowd.class_id)]
    named = {name.replace("_1", f"-{numbers[0]}").replace("_2", f"-{numbers[1]}"): one for name, one in texts.items()}
    there = post_grade_rule(teacher_of(crowd, session), GradeRuleForm.read(FormData(list(named.items()))))
    assert there == f"{crowd.href}/grades"
    page = grade_rule_page(teacher_of(crowd, session))
    return [("lowest", page.lowest, 0.0), *((one.title, one.weight, one.points) for one in page.weights)]


def test_the_rule_of_the_overall_grade_is_read_as_it_is_typed(site: Site) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        create_assignment(session, crowd.class_id, "Week 2", Policy(), [AssignmentEntry(STAGE, 3.0)])
        for texts, found in (
            ({"lowest": "1", "weight_1": "12,5 %", "weight_2": " 30 "}, ["1", "12.5", "30"]),
            ({"lowest": "", "weight_1": "", "weight_2": "0"}, ["0", "", "0"]),
            ({"lowest": "2.0", "weight_2": "1" + "0" * 3}, ["2", "", "1000"]),
            ({}, ["0", "", ""]),
        ):
            rows = rule(crowd, session, **texts)
            assert [one[1] for one in rows] == found
            assert [one[::2] for one in rows[1:]] == [("Week 1", 5.0), ("Week 2", 3.0)]
        for name, text, says in (
            ("lowest", "1.5", "whole number"), ("lowest", "x", "cannot read 'x'"), ("lowest", "101", "0 to 100"),
            ("weight_1", "1.2.3", "Week 1: cannot read"), ("weight_2", "1" * 21, "Week 2: cannot read"),
            ("weight_1", "1001", "from 0 to 1,000"), ("weight_1", "-1", "cannot read"),
        ):  # fmt: skip
            with pytest.raises(InputError, match=says):
                rule(crowd, session, **{name: text})
        again = grade_rule_page(teacher_of(crowd, session), GradeRuleForm(texts={"lowest": "x"}))
        assert (again.lowest, [one.weight for one in again.weights]) == ("x", ["", ""])
        session.rollback()


def test_the_settings_of_a_class_are_shown_as_they_are_or_as_they_were_sent(site: Site) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)
        page = settings_page(teacher)
        assert (page.form.name, page.form.zone, page.form.pseudonyms) == ("Systems", "Europe/Berlin", "")
        assert "Asia/Tokyo" in page.zones
        change_settings(teacher, SettingsForm(name="Trees", zone="Asia/Tokyo", pseudonyms="yes"))
        page = settings_page(teacher_of(crowd, session))
        assert (page.form.name, page.form.zone, page.form.pseudonyms) == ("Trees", "Asia/Tokyo", "yes")
        change_settings(teacher, SettingsForm(name="Trees", zone="Asia/Tokyo"))
        assert settings_page(teacher_of(crowd, session)).form.pseudonyms == ""
        assert settings_page(teacher, SettingsForm(name="typed")).form.name == "typed"
        for archived, closed in (("yes", True), ("no", False), ("yes", True), ("", False)):
            assert post_archive(teacher, ArchiveForm(archived=archived)) == crowd.href
            assert (teacher.row.archived is not None) is closed
        session.rollback()


def test_the_page_and_the_file_of_figures_have_the_exercises_with_answers(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    crowd.answers("Bo", RING, NOW, right=True)
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)
        assert [link.href for link, *_ in statistics_page(teacher).rows] == [f"/exercises/{RING}"]
        text = bytes(statistics_file(teacher).body).decode()
        assert (text[0], len(text.splitlines())) == ("\ufeff", 2)


def test_a_form_that_was_sent_is_shown_again_as_it_was_typed(site: Site) -> None:
    crowd = crowd_of(site)
    typed = AssignmentForm(title="x", due="soon", points={RING: "many"})
    with open_writing_session(site.engine) as session:
        page = new_assignment_page(teacher_of(crowd, session), sent=typed)
        assert (page.form, page.words["due"][:11]) == (typed, "Cannot read")
        assert edit_assignment_page(editing(crowd, session), typed).form == typed
