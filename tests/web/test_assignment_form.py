"""The form of an assignment as it is typed: read field by field, without a server."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from starlette.datastructures import FormData

from app.classes.pages.assignment_form import (
    AssignmentForm,
    assignment_form_of,
    chapters_of,
    date_words,
    new_assignment_form,
    parse_form,
    picked_in_order,
    read_points,
    rule_fields,
)
from app.classes.pages.class_router import FormError
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.policy import Policy
from app.core.errors import InputError
from app.course.content.catalog import Catalog
from tests.each import each

BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)  # 23:59 in Berlin
DAY = timedelta(days=1)
RULES = {
    "late": "10", "grace": "5", "attempts": "0", "variants": "own", "hints": "free", "hint_cost": "10",
    "solution": "due", "show_points": "", "sitting": "",
}  # fmt: skip


def typed(rules: dict[str, str] | None = None, **fields: Any) -> AssignmentForm:
    """A form that is complete, but for what a test says."""
    given = {"title": "Week 1", "due": "2036-10-02T23:59", "points": {"a/one": "1"}, **fields}
    return AssignmentForm(**given, rules={**RULES, **(rules or {})})


def problems(form: AssignmentForm) -> dict[str, str]:
    """What is wrong with a form, by field; empty if nothing is."""
    try:
        parse_form(form, BERLIN)
    except FormError as error:
        return dict(error.problems)
    return {}


@each(
    ("places", "order", "expected"),
    [
        ({}, [], "abc"),
        ({}, ["c", "a"], "cab"),
        ({"c": "1", "a": "2", "b": "3"}, [], "cab"),
        ({"c": "1,5", "a": "1", "b": "2"}, [], "acb"),
        ({"c": "0", "a": "1", "b": "2"}, [], "cab"),
        ({"a": "2", "b": "2", "c": "1"}, ["c", "b", "a"], "cab"),
        ({"a": " 3 ", "b": "10", "c": "2"}, [], "cab"),
    ],
)
def test_exercises_come_by_the_places_that_were_typed_else_as_they_were_dragged(
    places: dict[str, str], order: list[str], expected: str
) -> None:
    typed_places = [(f"place:{name}", text) for name, text in places.items()]
    form = AssignmentForm.read(
        FormData([*(("exercise", name) for name in "abca"), *(("order", name) for name in order), *typed_places])
    )
    assert "".join(form.points) == expected
    assert form.unread == {}


def test_a_place_that_is_no_number_is_remembered_and_named() -> None:
    places = {"a": "first", "b": "1.5.5", "c": "٣", "d": "-1", "e": "2"}
    sent = [("exercise", name) for name in places] + [(f"place:{name}", text) for name, text in places.items()]
    form = AssignmentForm.read(FormData([*sent, ("points:e", "2,5")]))
    assert form.unread == {name: text for name, text in places.items() if name != "e"}
    assert (next(iter(form.points)), form.points["e"], form.points["a"]) == ("e", "2,5", "1")
    assert "the place of a must be a number" in problems(typed(unread=form.unread))["exercises"].lower()


@each(
    ("field", "text", "right"),
    [
        ("late", "100", True), ("late", "100.5", False), ("late", "-1", False), ("late", "12,5 %", True),
        ("grace", "1440", True), ("grace", "1441", False),
        ("attempts", "1000", True), ("attempts", "1001", False), ("attempts", "", False),
        ("hint_cost", "100", True), ("hint_cost", "101", False),
        ("sitting", "10080", True), ("sitting", "10081", False), ("sitting", "", True),
    ],
)  # fmt: skip
def test_each_number_has_its_limits(field: str, text: str, right: bool) -> None:
    form = typed({"hints": "cost", field: text}, after="late", closes="2036-10-03T23:59")
    name = "exam" if field == "sitting" else field
    assert list(problems(form)) == ([] if right else [name])


def test_a_rule_that_another_makes_pointless_is_the_usual_one_whatever_was_typed() -> None:
    policy = parse_form(typed({"late": "many", "hint_cost": "x"}), BERLIN).policy
    assert (policy.late, policy.hint_cost) == (0.0, 0.1)
    assert set(problems(typed({"late": "many"}, after="late", closes="2036-10-03T23:59"))) == {"late"}
    assert set(problems(typed({"hints": "cost", "hint_cost": "x"}))) == {"hint_cost"}
    exam = parse_form(typed({"hints": "cost", "hint_cost": "x", "sitting": "45"}), BERLIN).policy
    assert (exam.hints, exam.hint_cost, exam.sitting) == ("off", 0.1, 45)


@each(
    ("fields", "wrong"),
    [
        ({"opens": "2036-10-02T23:58"}, ""),
        ({"opens": "2036-10-02T23:59"}, "due"),
        ({"after": "late", "closes": "2036-10-02T23:59"}, ""),
        ({"after": "late", "closes": "2036-10-02T23:58"}, "closes"),
        ({"after": "late", "closes": ""}, ""),
        ({"after": "late", "due": "", "opens": "2036-10-01T10:00", "closes": "2036-10-01T10:00"}, ""),
        ({"after": "late", "due": "", "opens": "2036-10-01T10:00", "closes": "2036-10-01T09:59"}, "closes"),
        ({"after": "late", "due": "", "closes": "2036-10-01T09:59"}, ""),
        ({"title": " "}, "title"),
        ({"points": {"a/one": "x"}}, "exercises"),
    ],
)
def test_dates_follow_each_other(fields: dict[str, Any], wrong: str) -> None:
    assert "".join(problems(typed(**fields))) == wrong


def test_an_exam_needs_a_due_date_and_ends_with_it() -> None:
    assert set(problems(typed({"sitting": "45"}, due=""))) == {"due"}
    assert set(problems(typed({"sitting": "45", "solution": "free"}))) == {"solution"}
    assert problems(typed({"solution": "free"})) == {}
    policy = parse_form(typed({"sitting": "45"}, after="late", closes="2036-12-01T00:00"), BERLIN).policy
    assert (policy.due, policy.closes) == (DUE, DUE)
    for after, closes in (("late", datetime(2036, 10, 3, 21, 59, tzinfo=UTC)), ("ends", DUE)):
        policy = parse_form(typed(after=after, closes="2036-10-03T23:59"), BERLIN).policy
        assert policy.closes == closes


def test_a_date_whose_text_did_not_change_stays_the_stored_moment() -> None:
    stored = Policy(zone=BERLIN, due=DUE + timedelta(seconds=17), closes=DUE)
    assert parse_form(typed(), BERLIN, stored).policy.due == stored.due
    assert parse_form(typed(due="2036-10-02T23:58"), BERLIN, stored).policy.due == DUE - timedelta(minutes=1)
    assert parse_form(typed(due=""), BERLIN, stored).policy.due is None


@each("policy", [
    Policy(zone=BERLIN, due=DUE, closes=DUE),
    Policy(zone=BERLIN, due=DUE, closes=DUE + DAY, late=0.125, attempts=3, variants="same", hints="cost"),
    Policy(zone=BERLIN, opens=DUE - DAY, due=DUE, grace=0, hint_cost=0.1, solution="off", show_points=False),
    Policy(zone=BERLIN),
    Policy(zone=BERLIN, due=DUE, closes=DUE, sitting=45, hints="off"),
])  # fmt: skip
def test_the_form_of_an_assignment_says_what_is_stored(policy: Policy) -> None:
    one = Assignment(id=7, class_id=1, title="Week 1", policy=policy, entries=(AssignmentEntry("a/one", 2.5),))
    form = assignment_form_of(one)
    assert parse_form(form, BERLIN).policy == policy
    assert (form.title, dict(form.points), form.seen) == ("Week 1", {"a/one": "2.5"}, one.version)
    assert form.after == ("ends" if policy.closes and policy.closes == policy.due else "late")
    assert form.says_the_same(assignment_form_of(one))
    for other in (
        replace(one, title="Week 2"),
        replace(one, entries=(AssignmentEntry("a/one", 2.0),)),
        replace(one, policy=replace(policy, attempts=9)),
        replace(one, policy=replace(policy, due=DUE + 2 * DAY, closes=DUE + 2 * DAY)),
    ):
        assert not form.says_the_same(assignment_form_of(other))


def test_a_new_assignment_is_due_in_a_week_at_the_end_of_the_day_in_the_zone_of_the_class() -> None:
    late = datetime(2036, 10, 1, 22, 30, tzinfo=UTC)  # half past midnight in Berlin
    form = new_assignment_form(BERLIN, late)
    assert (form.due, form.closes, form.after) == ("2036-10-09T23:59", "", "ends")
    assert (form.rules["late"], form.rules["grace"], form.rules["sitting"]) == ("10", "5", "")
    fields = rule_fields(form)
    assert (fields["late"].text, fields["show_points"].is_switch, fields["sitting"].name) == ("10", True, "exam")
    assert [key for key, _ in fields["solution"].options] == ["free", "due", "off"]


def test_the_exercises_that_are_chosen_are_ticked_and_those_that_are_gone_stay(catalog: Catalog) -> None:
    first, second = catalog.topics[0].exercises[:2]
    found = chapters_of(catalog, {second.id: "2.5", "pack/gone": "4"})
    assert [title for title, _ in found] == [*(topic.title for topic in catalog.topics), "No longer listed"]
    known = {one.id: one for _, those in found for one in those}
    assert [(one.chosen, one.points) for one in (known[first.id], known[second.id])] == [(False, "1"), (True, "2.5")]
    assert (known["pack/gone"].chosen, known["pack/gone"].points, known["pack/gone"].href) == (True, "4", "")
    core = {one.id for topic in catalog.topics for one in topic.path}
    assert {one.id for one in known.values() if one.about.endswith(", core")} == core
    assert len(chapters_of(catalog, {second.id: "1"})) == len(catalog.topics)
    form = typed(points={second.id: "1", "pack/gone": "4"}, unread={"pack/gone": "last"})
    assert picked_in_order(catalog, form) == (
        (second.id, second.title, "1"), ("pack/gone", "pack/gone", "last"),
    )  # fmt: skip


@each(("text", "points"), [("", None), ("  ", None), ("0", 0.0), ("1,000", 1000.0), ("1000", 1000.0), (" 2,5", 2.5)])
def test_points_are_typed_as_numbers_and_nothing_is_none(text: str, points: float | None) -> None:
    assert read_points(text) == points


@each("text", ["-0.5", "1000.5", "many", "nan", "inf"])
def test_points_beyond_the_limits_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="points must be a number from 0 to 1,000"):
        read_points(text)


def test_a_date_that_is_typed_is_said_with_what_was_decided() -> None:
    now = datetime(2036, 10, 1, 12, tzinfo=UTC)
    assert date_words(" ", BERLIN, now, ends=True) == ""
    assert date_words("2036-10-02T23:59", BERLIN, now, ends=True) == "Thursday, Oct 2, 23:59, tomorrow"
    second, first = (date_words("2036-10-26T02:30", BERLIN, now, ends=ends) for ends in (True, False))
    assert "the second is used" in second
    assert "the first is used" in first
    assert date_words("soon", BERLIN, now, ends=True).startswith("Cannot read 'soon'")
    form = typed(opens="2036-10-26T02:30", due="2036-10-26T02:30")
    words = form.words(BERLIN, now)
    assert ("the first" in words["opens"], "the second" in words["due"], words["closes"]) == (True, True, "")
