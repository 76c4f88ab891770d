"""Assignments: what a teacher types, what is stored, and the dates of single students."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.classes.people.assignments import Assignment, assignment_with, assignments_of
from app.classes.people.classes import Role
from app.classes.people.counted_answers import dates_for
from app.server.db.people import AssignmentRow
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.web.a_class import Browser, a_class, browser, joined, words

RING, TREE = "collectives/ring-all-reduce-time", "collectives/ring-or-tree"
FORM = {
    "title": "Week 1", "exercise": [RING, TREE], f"points:{RING}": "2.5", f"points:{TREE}": "1",
    "opens": "", "due": "2036-10-02T23:59", "after": "ends", "closes": "", "late": "10", "grace": "5",
    "attempts": "0", "variants": "own", "hints": "free", "hint_cost": "10", "solution": "due", "exam": "",
}  # fmt: skip
DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)  # 23:59 in Berlin


def new(teacher: Browser, class_id: int, status: int = 303, **changed: object) -> str:
    return teacher.post(f"/classes/{class_id}/assignments/new", {**FORM, **changed}, status)


def stored(site: Site, class_id: int) -> Assignment:
    with open_session(site.engine) as session:
        return assignments_of(session, class_id)[-1]


def edited(grace: Browser, number: int, status: int = 303, **changed: object) -> str:
    return grace.post(f"/assignments/{number}/edit", {**FORM, **changed}, status)


def test_an_assignment_is_stored_as_it_was_typed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id, after="late", late="12,5", closes="2036-10-05T12:00", attempts="3",
        hints="cost", hint_cost="20%", variants="same", hides="yes", opens="2036-09-25T08:00")  # fmt: skip
    found = stored(site, class_id)
    policy = found.policy
    assert [(one.exercise, one.points) for one in found.entries] == [(RING, 2.5), (TREE, 1.0)]
    assert (policy.due, policy.closes) == (DUE, datetime(2036, 10, 5, 10, 0, tzinfo=UTC))
    assert policy.opens == datetime(2036, 9, 25, 6, 0, tzinfo=UTC)
    assert (policy.late, policy.attempts, policy.hint_cost, policy.grace) == (0.125, 3, 0.2, 300)
    assert (policy.variants, policy.hints, policy.show_points) == ("same", "cost", False)
    page = words(grace.get(f"/classes/{class_id}"))
    assert "Week 1" in page
    assert "due Thursday, Oct 2, 2036, 23:59" in page
    assert "2 exercises, 3.5 points" in page


def test_without_late_answers_the_due_date_is_the_end(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id, closes="2037-01-01T00:00", late="50")
    policy = stored(site, class_id).policy
    assert (policy.due, policy.closes, policy.late) == (DUE, DUE, 0.0)


def test_a_form_that_is_opened_and_sent_changes_nothing(client: TestClient, site: Site) -> None:
    """Also not a moment with seconds, in the hour that comes twice, as a program may have set."""
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    before = stored(site, class_id)
    first_half_past_two = datetime(2026, 10, 25, 0, 30, 17, tzinfo=UTC)
    with open_writing_session(site.engine) as session:
        row = session.get_one(AssignmentRow, before.id)
        row.opens = first_half_past_two
        session.add(row)
        session.commit()
    before = stored(site, class_id)
    page = grace.get(f"/assignments/{before.id}/edit")
    grace.post(f"/assignments/{before.id}/edit", fields(page))
    assert stored(site, class_id) == before


def fields(page: str) -> dict[str, list[str]]:
    """What a browser would send of the form of an assignment."""
    form = page.partition('<form class="assigning"')[2].partition("</form>")[0]
    found: dict[str, list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        kind, name = re.search(r'type="([\w-]+)"', tag), re.search(r' name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        ticks = kind is not None and kind[1] in ("checkbox", "radio")
        if name and value and (not ticks or "checked" in tag):
            found.setdefault(name[1], []).append(unescape(value[1]))
    for name, options in re.findall(r'<select [^>]*name="(\w+)">(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="(\w+)" selected', options)
        found[name] = [chosen[1] if chosen else ""]
    return found


def test_another_time_zone_moves_no_date(client: TestClient, site: Site) -> None:
    """A due date is a moment: it reads as another hour, and nobody gains or loses a minute."""
    class_id, grace = a_class(client, site)
    due = datetime(2036, 10, 26, 0, 30, tzinfo=UTC)  # 02:30 in Berlin, for the first time
    new(grace, class_id)
    number = stored(site, class_id).id
    with open_writing_session(site.engine) as session:
        row = session.get_one(AssignmentRow, number)
        row.due = row.closes = due
        session.add(row)
        session.commit()
    for zone, says in (("Asia/Tokyo", "Oct 26, 2036, 09:30"), ("Europe/Berlin", "02:30")):
        grace.post(f"/classes/{class_id}/settings", {"name": "Week", "zone": zone})
        assert says in words(grace.get(f"/classes/{class_id}"))
        form = fields(grace.get(f"/assignments/{number}/edit"))
        grace.post(f"/assignments/{number}/edit", form)  # as it is shown
        policy = stored(site, class_id).policy
        assert (policy.due, policy.closes) == (due, due)


def test_a_date_where_clocks_are_changed_is_confirmed_first(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = new(grace, class_id, status=200, due="2036-03-30T02:30")  # a Sunday; clocks skip it
    assert "skip 02:30 on Sunday, Mar 30, 2036: 03:30 is used" in words(page)
    told = re.search(r'name="told" value="([^"]*)"', page)
    assert told
    new(grace, class_id, due="2036-03-30T02:30", told=told[1])
    assert stored(site, class_id).policy.due == datetime(2036, 3, 30, 1, 30, tzinfo=UTC)
    page = new(grace, class_id, status=200, due="2036-10-26T02:30", told=told[1])
    assert "twice" in words(page)


def test_every_problem_of_a_form_is_named_and_nothing_is_stored(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = words(
        new(
            grace,
            class_id,
            status=422,
            title=" ",
            due="2036-02-30T10:00",
            after="late",
            late="101",
            grace="x",
            attempts="-1",
            variants="owns",
            hints="cost",
            hint_cost="",
            **{f"points:{RING}": "two"},
        )  # fmt: skip
    )
    for says in (
        "A name must have 1 to 100", "Cannot read '2036-02-30T10:00' as a date", "not '101'",
        "The minutes of grace must be from 0 to 1,440, not 'x'", "not '-1'",
        "Variants must be own, same or many, not 'owns'; did you mean 'own'?", "and the field is empty",
        f"The points of {RING} must be a number such as 2.5, not 'two'",
    ):  # fmt: skip
        assert says in page
    with open_session(site.engine) as session:
        assert assignments_of(session, class_id) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"opens": "2036-10-03T00:00"}, "The due date must be after the assignment opens"),
        ({"after": "late", "closes": "2036-10-01T00:00"}, "The last date for late answers must be after"),
        ({"exam": "45", "due": ""}, "An exam needs a due date"),
        ({"exam": "45", "solution": "free"}, "In an exam, the solution can be shown after the due date"),
        ({"exercise": []}, "1 to 200 exercises, not 0"),
        ({f"points:{RING}": "nan"}, "must be a number such as 2.5, not"),
        ({f"points:{RING}": "-1"}, "points must be from 0 to 1,000"),
    ],
)  # fmt: skip
def test_rules_that_contradict_each_other_are_refused(
    client: TestClient, site: Site, changed: dict[str, object], says: str
) -> None:
    class_id, grace = a_class(client, site)
    assert says in words(new(grace, class_id, status=422, **changed))


def test_an_exam_has_no_hints_and_ends_with_its_window(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id, exam="45", hints="free", after="late", closes="2036-12-01T00:00")
    policy = stored(site, class_id).policy
    assert (policy.sitting, policy.hints, policy.closes) == (45, "off", DUE)


def test_an_exercise_that_does_not_exist_is_refused_but_one_that_is_gone_stays(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id, status=404, exercise=["collectives/nothing"])
    new(grace, class_id)
    number = stored(site, class_id).id
    with open_writing_session(site.engine) as session:
        session.connection().exec_driver_sql(
            f"UPDATE assigned SET exercise = 'pack/gone' WHERE assignment = {number} AND exercise = '{TREE}'"
        )
        session.commit()
    page = grace.get(f"/assignments/{number}/edit")
    assert "No longer listed" in words(page)
    edited(grace, number, exercise=[RING, "pack/gone"])
    assert [one.exercise for one in stored(site, class_id).entries] == [RING, "pack/gone"]


def test_the_core_exercises_of_a_chapter_are_a_start(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    page = grace.get(f"/classes/{class_id}/assignments/new?chapter=collectives")
    core = [one.id for one in site.catalog.topic("collectives").path]
    assert fields(page)["exercise"] == core
    assert grace.status(f"/classes/{class_id}/assignments/new?chapter=nothing") == 404


def test_a_date_is_said_while_it_is_typed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    said = grace.get(f"/classes/{class_id}/date?at=2036-10-02T23:59&ends=yes")
    assert said.startswith("Thursday, Oct 2, 2036, 23:59, in ")
    assert "write it as" in grace.get(f"/classes/{class_id}/date?at=<script>")


def test_an_assignment_is_deleted_when_its_title_is_typed(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    number = stored(site, class_id).id
    grace.post(f"/assignments/{number}/delete", {"sure": "Week"}, status=422)
    grace.post(f"/assignments/{number}/delete", {"sure": "week 1"})
    assert grace.status(f"/assignments/{number}/edit") == 404


def test_the_teacher_of_another_class_reaches_no_assignment(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    number = stored(site, class_id).id
    _, other = a_class(client, site)
    for end in ("/edit", "/extensions"):
        assert other.status(f"/assignments/{number}{end}") == 404
    for end in ("/edit", "/delete", "/extensions", "/extensions/end"):
        other.post(f"/assignments/{number}{end}", {**FORM, "sure": "Week 1"}, status=404)


def test_an_extension_moves_the_date_of_those_who_are_chosen(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada, alan = (joined(site, class_id, browser(client, site, name)) for name in ("Ada", "Alan"))
    helper = joined(site, class_id, browser(client, site, "Helper"), Role.ASSISTANT)
    new(grace, class_id)
    number = stored(site, class_id).id
    path = f"/assignments/{number}/extensions"
    sent = {"person": [str(ada.person)], "until": "2036-10-04T12:00", "why": "ill"}
    helper.post(path, sent)
    with open_session(site.engine) as session:
        found = assignment_with(session, number)
        assert dates_for(session, found, ada.person).due == datetime(2036, 10, 4, 10, tzinfo=UTC)
        assert dates_for(session, found, alan.person).due == DUE
    page = words(grace.get(path))
    assert "Ada Saturday, Oct 4, 2036, 12:00" in page
    assert "ill Helper" in page
    for changed, says in (
        ({"until": "2036-10-01T12:00"}, "Everyone has until Thursday, Oct 2, 2036, 23:59"),
        ({"until": "2036-10-02T23:59"}, "Everyone has until Thursday, Oct 2, 2036, 23:59"),
        ({"until": "soon"}, "Cannot read 'soon' as a date"),
        ({"person": []}, "Nobody is chosen"),
        ({"person": [str(grace.person)]}, "has left the class"),
        ({"why": "x" * 501}, "at most 500"),
    ):
        assert says in words(grace.post(path, {**sent, **changed}, status=422))
    helper.post(f"{path}/end", {"person": str(ada.person)})
    with open_session(site.engine) as session:
        assert dates_for(session, found, ada.person).due == DUE
    ada.post(path, sent, status=404)


def order(site: Site, class_id: int) -> list[str]:
    return [one.exercise for one in stored(site, class_id).entries]


def test_exercises_are_put_in_order_with_and_without_scripts(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    other = "collectives/reduce-scatter-share"
    three = [RING, TREE, next(one.id for one in site.catalog.topic("memory").exercises)]
    new(grace, class_id, exercise=three, order=[three[2], three[0], "unknown/one"])
    assert order(site, class_id) == [three[2], three[0], three[1]]
    assert other not in order(site, class_id)
    number = stored(site, class_id).id
    page = grace.get(f"/assignments/{number}/edit")
    assert re.findall(r'name="place:([^"]+)" value="(\d)"', page) == [
        (three[2], "1"), (three[0], "2"), (three[1], "3")
    ]  # fmt: skip
    typed = {"exercise": three, f"place:{three[1]}": "1.5", f"place:{three[2]}": "1"}
    grace.post(f"/assignments/{number}/edit", {**FORM, **typed})
    assert order(site, class_id) == [three[2], three[1], three[0]]
    typed = {"exercise": three, f"place:{RING}": "first"}
    page = grace.post(f"/assignments/{number}/edit", {**FORM, **typed}, 422)
    assert "must be a number such as 3, not 'first'" in words(page)


def test_the_second_of_two_teachers_sees_what_the_first_stored_and_loses_nothing(
    client: TestClient, site: Site
) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"), Role.TEACHER)
    new(grace, class_id)
    number = stored(site, class_id).id
    path = f"/assignments/{number}/edit"
    mine, hers = fields(ada.get(path)), fields(grace.get(path))
    third = next(one for one in site.catalog.topic("memory").exercises)
    grace.post(path, {**hers, "due": ["2036-11-11T12:00"], "attempts": ["3"], "hints": ["off"],
                      "exercise": [*hers["exercise"], third.id], f"points:{third.id}": ["4"]})  # fmt: skip
    theirs = stored(site, class_id)
    page = ada.post(path, {**mine, "title": ["Rings"], "attempts": ["5"],
                           f"points:{RING}": ["9"]}, status=200)  # fmt: skip
    says = words(page)
    assert stored(site, class_id) == theirs
    assert "Changed by someone else while you were editing" in says
    assert f'<a href="{path}" target="_blank">theirs</a>' in page
    assert fields(page)["due"] == ["2036-10-02T23:59"], "what she typed is there still"
    ada.post(path, fields(page))  # once that was seen, what she typed is stored
    found = stored(site, class_id)
    assert (found.title, found.policy.attempts, found.policy.due) == ("Rings", 5, DUE)
    assert [(one.exercise, one.points) for one in found.entries] == [(RING, 9.0), (TREE, 1.0)]


def test_two_teachers_who_enter_the_same_are_not_asked(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    ada = joined(site, class_id, browser(client, site, "Ada"), Role.TEACHER)
    new(grace, class_id)
    path = f"/assignments/{stored(site, class_id).id}/edit"
    mine, hers = fields(ada.get(path)), fields(grace.get(path))
    grace.post(path, {**hers, "title": ["Rings"]})
    ada.post(path, {**mine, "title": ["Rings"]})
    assert stored(site, class_id).title == "Rings"


def test_another_order_of_the_exercises_is_seen_as_well(client: TestClient, site: Site) -> None:
    class_id, grace = a_class(client, site)
    new(grace, class_id)
    path = f"/assignments/{stored(site, class_id).id}/edit"
    mine, hers = fields(grace.get(path)), fields(grace.get(path))
    grace.post(path, {**hers, f"place:{RING}": ["2"], f"place:{TREE}": ["1"]})
    assert order(site, class_id) == [TREE, RING]
    assert "Changed by someone else" in words(grace.post(path, mine, status=200))
    assert order(site, class_id) == [TREE, RING]
