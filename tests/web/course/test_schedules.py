"""A schedule in an address: its picture, what it costs, and no more than that."""

import re
import time
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.classes.people.policy import Policy
from app.core.simulators.programs import PlayedSchedule, known_schedules, play_schedule, schedule_code
from app.course.content.catalog import Catalog
from app.course.kinds.code.schedule import Schedule
from app.server.db.tables import now
from app.site import Site
from app.site.web.course.schedule import known_measures
from tests.each import each
from tests.pages import SCHEDULE
from tests.people.school import DAY, School
from tests.simulators.test_programs import packed
from tests.web.course.test_known_chapters import words

PUZZLE = "puzzles/room-for-four"
PAGE = f"/exercises/{PUZZLE}"
SHARED = f"{PAGE}/schedule?of={SCHEDULE}"


@pytest.fixture
def puzzle(catalog: Catalog) -> Schedule:
    found = catalog.exercise(PUZZLE)
    assert isinstance(found, Schedule)
    return found


def link_in(page: str) -> str:
    (href,) = re.findall(rf'href="({PAGE}/schedule\?of=[^"]*)"', page)
    return unescape(href)


def test_a_right_schedule_gets_an_address_that_shows_it_to_anyone(client: TestClient, puzzle: Schedule) -> None:
    href = link_in(client.post(PAGE, data={"answer": puzzle.right}).text)
    client.cookies.clear()
    page = client.get(href)
    assert "set-cookie" not in page.headers
    assert "It is right: it meets the targets of the exercise." in words(page.text)
    assert "32 units of time; the most that each rank held: 4" in words(page.text)
    assert re.search(r'<a class="button primary" href="/exercises/puzzles/room-for-four">', page.text)
    assert '<meta name="robots" content="noindex">' in page.text
    assert "def program" not in page.text
    assert puzzle.bound.split(".")[0] not in words(page.text)


def test_the_picture_is_a_file(client: TestClient) -> None:
    page = client.get(SHARED).text
    (file,) = re.findall(r'href="([^"]*schedule\.svg[^"]*)" download>', page)
    sent = client.get(unescape(file))
    assert sent.headers["content-type"] == "image/svg+xml"
    assert sent.text.startswith("<svg")
    assert "A schedule for “Room for four”" in sent.text
    assert f'property="og:url" content="http://testserver{SHARED}"' in page


def test_one_that_misses_a_target_says_which(client: TestClient, puzzle: Schedule) -> None:
    machine = puzzle.machine.built(None)
    late = [("F", layer, 0) for layer in range(9)] + [("B", layer, 0) for layer in range(8, -1, -1)]
    code = schedule_code(play_schedule(machine, [late]))
    page = client.get(f"{PAGE}/schedule?of={code}").text
    assert "Rank 0 holds 9 at its fullest, and 4 is the limit." in words(page)
    assert "It is right" not in page
    wrong = client.post(PAGE, data={"answer": puzzle.wrong[0].code}).text
    assert "/schedule?of=" not in wrong


@each(
    ("code", "says"),
    [
        ("nothing", "not a schedule in short form"),
        (packed("F.0.0;F.0.0"), "his exercise has 1 rank, and the schedule 2"),
        (packed("F.5.0"), "does not run to its end"),
        (packed("script.1"), "does not run to its end"),
        ("<b>", "not a schedule in short form"),
        ("A" * 3000, "at most 2,000 characters"),
    ],
)
def test_what_is_no_schedule_is_not_found(client: TestClient, code: str, says: str) -> None:
    for address in (f"{PAGE}/schedule", f"{PAGE}/schedule.svg"):
        refused = client.get(address, params={"of": code})
        assert refused.status_code == 404, address
        assert says in words(refused.text), address
        assert "<b>" not in refused.text.partition("<main")[2].partition("<b>Error")[0]


def test_an_address_without_a_schedule_leads_to_the_exercise(client: TestClient) -> None:
    sent = client.get(f"{PAGE}/schedule", follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, PAGE)
    assert client.get("/exercises/collectives/ring-all-reduce-time/schedule").status_code == 404


def test_a_hidden_verdict_gets_no_address(client: TestClient, site: Site, puzzle: Schedule) -> None:
    school = School(site)
    person = school.student(client)
    assignment = school.assign(Policy(due=now() + DAY, show_points=False), [PUZZLE])
    sent = client.post(school.address(assignment, person, PUZZLE), data={"answer": puzzle.right})
    assert "/schedule?of=" not in sent.text


def test_the_worst_schedule_in_an_address_costs_little(client: TestClient) -> None:
    """As many instructions as an address may have; in processor time, beside a usual page."""
    pairs = [f"F.{n % 9}.0 drop.x.{n % 9 + 1}.0" for n in range(499)]
    worst = packed(" ".join(["F.0.0", *[one for one in pairs if "F.8" not in one]][:60]))
    many = packed(" ".join(["F.0.0"] * 1000))
    for code in (worst, many):
        before = time.process_time()
        client.get(f"{PAGE}/schedule?of={code}")
        assert time.process_time() - before < 1.0


def test_a_right_schedule_stands_beside_published_ones(client: TestClient, catalog: Catalog) -> None:
    name = "puzzles/two-halves"
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Schedule)
    posed = client.get(f"/exercises/{name}").text
    sent = client.post(f"/exercises/{name}", data={"answer": exercise.right}).text
    (href,) = re.findall(rf'href="(/exercises/{name}/schedule\?of=[^"]*)"', sent)
    table = client.get(unescape(href)).text.replace("\xa0", " ")
    page = re.sub(r"\s+(?=<)", "", table)
    assert "<td>ZB-H1</td><td>27</td><td>11.1 %</td><td>5</td><td>48</td>" in page
    assert "<td>GPipe</td><td>30</td><td>20 %</td><td>9</td><td>48</td>" in page
    assert "<td>Target</td><td>27</td><td>11.1 %</td><td>5</td><td>–</td>" in page
    assert "<td>This schedule</td><td>27</td>" in page
    assert "ZB-H1</td>" not in posed


def test_one_that_misses_a_target_does_not_show_what_published_ones_cost(client: TestClient, catalog: Catalog) -> None:
    exercise = catalog.exercise("puzzles/two-halves")
    assert isinstance(exercise, Schedule)
    machine = exercise.machine.built(None)
    code = schedule_code(known_schedules(machine, exercise.machine.batches)["gpipe"])
    page = client.get(f"/exercises/{exercise.id}/schedule?of={code}").text
    assert "It is right" not in page
    assert "ZB-H1" not in page


def test_published_schedules_meet_what_the_prompts_say_of_them(catalog: Catalog) -> None:
    """The prompts of the puzzles name the times of GPipe and 1F1B, from their authors' drawings."""
    said = {
        ("one-forward-one-backward", "GPipe"): (33, 9),
        ("a-slow-hop", "1F1B"): (49, 6),
        ("two-chunks", "1F1B"): (66, 9),
        ("two-chunks", "Interleaved 1F1B"): (57, 13),
        ("two-halves", "ZB-H1"): (27, 5),
    }
    for (slug, name), costs in said.items():
        exercise = catalog.exercise(f"puzzles/{slug}")
        assert isinstance(exercise, Schedule)
        known = {one.name: one for one in known_measures(exercise)}
        assert (known[name].time, known[name].memory) == costs, (slug, name)


def test_only_pipelines_have_published_schedules(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if isinstance(exercise, Schedule):
            assert bool(known_measures(exercise)) == (exercise.machine.holds == "stages")


def test_every_right_schedule_of_the_course_fits_into_an_address(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if isinstance(exercise, Schedule):
            names: dict[str, object] = {}
            exec(exercise.right, names)
            program = names["program"]
            assert callable(program)
            machine = exercise.machine
            played: PlayedSchedule = play_schedule(
                machine.built(None), [program(rank) for rank in range(machine.ranks)]
            )
            assert schedule_code(played), exercise.id
