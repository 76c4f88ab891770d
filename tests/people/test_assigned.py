"""The rules of an assignment, on its page and on the pages of its exercises."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from app.classes.people.assignments import Assignment
from app.classes.people.classes import Role
from app.classes.people.counted_answers import extend
from app.classes.people.policy import GroupDates, Policy, dates_of
from app.classes.people.work import release_of, works_at
from app.core.errors import UnavailableError
from app.server.db.exercise_histories import histories
from app.server.db.history import LearnerDrawing
from app.server.db.people import AssignmentRow, RegradeRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import AttemptRow, now
from app.site import Site
from app.site.members import SignedIn
from app.site.web.frame.visitor import SESSION
from app.site.web.urls import seed_of
from tests.people.school import DAY, RING, School, due
from tests.web.test_progress import words

OTHER = "memory/traffic-of-stage-3"
EXPLAINED = ("Facts of the chapter", "Often wrong elsewhere", "Sources", "Another one")


@pytest.fixture
def school(site: Site) -> School:
    return School(site)


def seed_in(address: str) -> int:
    return seed_of(address.partition("seed=")[2])


def post(client: TestClient, address: str, answer: str = "1 s", action: str = "check") -> str:
    return words(client.post(address, data={"answer": answer, "action": action}).text)


def strip(page: str) -> str:
    found = re.search(r'<div id="strip">(.*?)</div>', page, re.DOTALL)
    return words(found[1]) if found else ""


def tries(site: Site, person: SignedIn) -> int:
    with open_session(site.engine) as session:
        found = works_at(session, site.secret, [person], [RING], now())
    (work,) = found[person.person, RING]
    return work.tries


def exam(**rules: object) -> Policy:
    around = Policy(opens=now() - DAY, due=now() + DAY, closes=now() + DAY, sitting=45)
    return replace(around, **rules)  # type: ignore[arg-type]


def test_the_variant_is_the_persons_own_in_every_browser(client: TestClient, school: School) -> None:
    assignment = school.assign(due(3))
    addresses = []
    for name in ("Grace", "Barbara"):
        person, cookie, code = school.member(name)
        client.cookies.clear()
        client.cookies.set(SESSION, cookie)
        assert school.address(assignment, person) in client.get(f"/assignments/{assignment.id}").text
        client.cookies.clear()
        client.post("/sign-in", data={"code": code})
        addresses.append(school.address(assignment, person))
        assert addresses[-1] in client.get(f"/assignments/{assignment.id}").text
    assert addresses[0] != addresses[1]


def test_the_strip_says_what_counts_and_leads_on(client: TestClient, school: School) -> None:
    assignment = school.assign(replace(due(3), attempts=3), [RING, OTHER])
    person = school.student(client)
    says = strip(client.get(school.address(assignment, person)).text)
    assert "Week 1 · 1 of 2" in says
    assert "due " in says
    assert "2 points · 3 of 3 tries left" in says
    assert school.address(assignment, person, OTHER) in client.get(school.address(assignment, person)).text


def test_another_drawing_says_that_it_does_not_count(client: TestClient, school: School) -> None:
    assignment = school.assign(due(3))
    person = school.student(client)
    page = client.get(f"/exercises/{RING}").text
    assert "Answers to this variant do not count there." in strip(page)
    assert school.address(assignment, person) in page


def test_one_without_a_class_sees_nothing_of_all_this(client: TestClient, school: School) -> None:
    school.assign(due(3))
    page = client.get(f"/exercises/{RING}").text
    assert 'id="strip"' not in page
    assert "people." not in page
    assert "Show the solution" in page


def test_an_unreadable_answer_is_no_try(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(replace(due(3), attempts=2))
    person = school.student(client)
    assert "Not graded" in post(client, school.address(assignment, person), "seventy")
    assert tries(site, person) == 0
    post(client, school.address(assignment, person), "1 s")
    assert tries(site, person) == 1


def test_a_failure_of_the_server_is_no_try(
    client: TestClient, site: Site, school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment = school.assign(replace(due(3), attempts=2))
    person = school.student(client)

    async def full(row: object) -> None:
        raise UnavailableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(site.writer, "enqueue", full)
        page = post(client, school.address(assignment, person))
    assert "no attempt was recorded" in page
    assert tries(site, person) == 0


def test_answers_beyond_the_tries_are_practice_and_say_so(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(replace(due(3), attempts=1))
    person = school.student(client)
    address = school.address(assignment, person)
    assert "No tries are left" in post(client, address, "1 s")
    right = school.right_answer(seed_in(address))
    assert "Right" in post(client, address, right)
    assert "0 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)


@pytest.mark.parametrize("action", ["hint", "solution"])
@pytest.mark.parametrize("fragment", ["0", "1"])
def test_what_is_off_is_refused_by_the_server(
    client: TestClient, site: Site, school: School, action: str, fragment: str
) -> None:
    assignment = school.assign(replace(due(3), hints="off", solution="off"))
    person = school.student(client)
    address = school.address(assignment, person)
    page = client.get(address).text
    assert 'value="hint"' not in page
    assert 'value="solution"' not in page
    answer = client.post(address, data={"action": action}, headers={"X-Fragment": fragment})
    assert answer.status_code == 403
    assert "Not in this assignment" in answer.text
    drawing = LearnerDrawing(person.learner, RING, seed_in(address))
    (history,) = histories(site.engine, [drawing])
    assert (history.seen.hints, history.seen.solution) == (0, False)


def test_the_solution_waits_for_the_due_date_even_after_a_right_answer(client: TestClient, school: School) -> None:
    assignment = school.assign(due(3))
    person = school.student(client)
    address = school.address(assignment, person)
    page = post(client, address, school.right_answer(seed_in(address)))
    assert "Right" in page
    assert "Worked solution" not in page
    assert "The worked solution is shown after" in page
    over = school.assign(Policy(due=now() - DAY, closes=now() - timedelta(hours=1)))
    address = school.address(over, person)
    assert "Worked solution" in post(client, address, action="solution")


def test_another_drawing_may_be_practiced_with_help(client: TestClient, school: School) -> None:
    school.assign(replace(due(3), hints="off", solution="off"))
    school.student(client)
    assert "Worked solution" in post(client, f"/exercises/{RING}?seed=5", action="solution")


def test_a_verdict_that_is_hidden_is_shown_nowhere(client: TestClient, school: School) -> None:
    assignment = school.assign(replace(due(3), show_points=False))
    person = school.student(client)
    address = school.address(assignment, person)
    page = post(client, address, school.right_answer(seed_in(address)))
    assert "Recorded Your answer is stored. The verdict and the points are shown after" in page
    for where in (address, "/progress", "/", "/chapters/collectives", f"/assignments/{assignment.id}"):
        shown = client.get(where).text
        assert "✓" not in re.sub(r"<style.*?</style>", "", shown), where
        assert "mark solved" not in shown, where
        assert "mark unaided" not in shown, where
    file = client.get("/me/export").json()
    assert (file["attempts"], file["not_shown_yet"]) == ([], 1)
    assert "points shown after" in words(client.get(f"/classes/{school.id}").text)
    assert "points of 2" not in words(client.get(f"/classes/{school.id}").text)


def test_a_verdict_that_was_hidden_is_shown_after_the_due_date(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(replace(due(3), show_points=False))
    person = school.student(client)
    address = school.address(assignment, person)
    post(client, address, school.right_answer(seed_in(address)))
    with open_writing_session(site.engine) as session:
        row = session.get(AssignmentRow, assignment.id)
        assert row is not None
        row.due = now()
        session.add(row)
        session.commit()
    assert "2 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)
    assert "✓ right" in words(client.get(address).text)


def test_hints_that_cost_say_so(client: TestClient, school: School) -> None:
    assignment = school.assign(replace(due(3), hints="cost", hint_cost=0.25))
    person = school.student(client)
    page = client.get(school.address(assignment, person)).text
    assert "Each hint costs 25 % of the points." in strip(page)
    address = school.address(assignment, person)
    post(client, address, action="hint")
    post(client, address, school.right_answer(seed_in(address)))
    assert "1.5 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)


def test_before_it_opens_the_own_variant_is_closed(client: TestClient, school: School) -> None:
    assignment = school.assign(replace(due(9), opens=now() + DAY))
    person = school.student(client)
    address = school.address(assignment, person)
    for answer in (client.get(address), client.post(address, data={"answer": "1 s"})):
        assert answer.headers["location"] == f"/assignments/{assignment.id}"
    page = client.get(f"/assignments/{assignment.id}").text
    assert "Opens " in page
    assert address not in page
    assert client.get(f"/exercises/{RING}").status_code == 200


def test_after_it_closes_answers_are_practice(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(Policy(due=now() - 2 * DAY, closes=now() - DAY, attempts=9))
    person = school.student(client)
    address = school.address(assignment, person)
    assert "answers are practice" in strip(client.get(address).text)
    assert "Right" in post(client, address, school.right_answer(seed_in(address)))
    assert tries(site, person) == 0
    assert "0 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)


def test_an_extension_is_named_and_moves_every_date(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(Policy(due=now() - 2 * DAY, closes=now() - DAY))
    person = school.student(client)
    with open_writing_session(site.engine) as session:
        extend(session, assignment.id, [person.person], now() + DAY, "Ada", "was ill")
        session.commit()
    page = words(client.get(f"/assignments/{assignment.id}").text)
    assert "extended for you" in page
    assert "Your extension: was ill" in page
    assert "To do" in client.get(f"/classes/{school.id}").text
    address = school.address(assignment, person)
    assert "extended for you: due" in strip(client.get(address).text)
    post(client, address, school.right_answer(seed_in(address)))
    assert "2 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)


class TestExam:
    @pytest.fixture
    def running(self, client: TestClient, site: Site, school: School) -> tuple[Assignment, str]:
        assignment = school.assign(exam(), [RING, OTHER])
        person = school.student(client)
        answer = client.post(f"/assignments/{assignment.id}/begin")
        assert answer.headers["location"] == f"/assignments/{assignment.id}"
        return assignment, school.address(assignment, person)

    def test_it_starts_with_a_press_and_says_what_it_cannot_prevent(self, client: TestClient, school: School) -> None:
        assignment = school.assign(exam())
        person = school.student(client)
        page = client.get(f"/assignments/{assignment.id}").text
        assert "What this site cannot prevent" in page
        address = school.address(assignment, person)
        assert address not in page
        assert client.get(address).headers["location"] == f"/assignments/{assignment.id}"

    def test_the_clock_starts_once(self, client: TestClient, running: tuple[Assignment, str]) -> None:
        def ends() -> list[str]:
            page = client.get(f"/assignments/{running[0].id}").text
            return re.findall(r'data-ends-at="([^"]+)"', page)

        first = ends()
        client.post(f"/assignments/{running[0].id}/begin")
        assert len(first) == 1
        assert ends() == first

    def test_nothing_beside_the_exercise_explains_it(self, client: TestClient, running: tuple[Assignment, str]) -> None:
        whole = client.get(running[1]).text
        page = words(whole)
        main = whole.partition("<main")[2].partition("</main>")[0]
        assert not re.findall(r'href="/(?:chapters|formulas|explore|errata)/', main)
        assert not [one for one in EXPLAINED if one in page]
        assert "Week 1 is an exam. Hints are turned off until it ends." in page

    @pytest.mark.parametrize("action", ["hint", "solution"])
    def test_other_drawings_of_its_exercises_give_no_help_either(
        self, client: TestClient, running: tuple[Assignment, str], action: str
    ) -> None:
        for address in (running[1], f"/exercises/{RING}", f"/exercises/{OTHER}?seed=3"):
            assert client.post(address, data={"action": action}).status_code == 403

    def test_solutions_wait_until_the_last_may_have_finished(self) -> None:
        policy = exam()
        dates = dates_of(policy, began=now() - timedelta(hours=2))
        assert dates.phase(now()) == "closed"
        exam_of_all = Assignment(id=1, class_id=1, title="Exam", policy=policy, entries=())
        assert release_of(exam_of_all, dates) == policy.closes
        later = GroupDates(group="Monday", closes=now() + 9 * DAY)
        assert release_of(replace(exam_of_all, groups=(later,)), dates) == later.closes

    def test_one_that_is_closed_cannot_be_started(self, client: TestClient, school: School) -> None:
        over = Policy(due=now() - DAY, closes=now() - DAY, sitting=45)
        assignment = school.assign(over)
        school.student(client)
        assert client.post(f"/assignments/{assignment.id}/begin").status_code == 422


def test_the_same_exercise_in_two_classes_keeps_each_ones_rules(client: TestClient, site: Site, school: School) -> None:
    other = School(site, "Networks")
    person = school.student(client)
    client.post(f"/join/{other.code}")
    strict = school.assign(replace(due(3), hints="off"))
    free = other.assign(replace(due(3), attempts=5))
    one, two = school.address(strict, person), other.address(free, person)
    assert one != two
    assert client.post(one, data={"action": "hint"}).status_code == 403
    assert client.post(two, data={"action": "hint"}).status_code == 200
    assert "5 of 5 tries left" in strip(client.get(two).text)


def test_any_drawing_counts_where_the_assignment_says_so(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(replace(due(3), variants="many", hints="off", attempts=9))
    person = school.student(client)
    assert f"/exercises/{RING}/another" in client.get(f"/assignments/{assignment.id}").text
    assert client.post(f"/exercises/{RING}?seed=77", data={"action": "hint"}).status_code == 403
    post(client, f"/exercises/{RING}?seed=77", school.right_answer(77))
    assert tries(site, person) == 1
    assert "2 of 2 points" in words(client.get(f"/assignments/{assignment.id}").text)


def test_a_teacher_is_bound_by_none_of_it(client: TestClient, school: School) -> None:
    assignment = school.assign(replace(due(3), hints="off", opens=now() + DAY))
    person, cookie, _ = school.member("Alan", Role.ASSISTANT)
    client.cookies.set(SESSION, cookie)
    page = client.get(f"/assignments/{assignment.id}").text
    assert "As students see it" in page
    address = school.address(assignment, person)
    assert address in page
    assert client.post(address, data={"action": "hint"}).status_code == 200


def test_pages_of_a_class_are_for_its_members(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(exam())
    paths = (f"/classes/{school.id}", f"/assignments/{assignment.id}")
    for path in paths:
        assert client.get(path).headers["location"].startswith("/sign-in?next=")
    School(site, "Networks").student(client)
    for path in paths:
        assert client.get(path).status_code == 404
    assert client.post(f"/assignments/{assignment.id}/begin").status_code == 404


def test_what_a_regrade_changed_is_told(client: TestClient, site: Site, school: School) -> None:
    assignment = school.assign(due(3))
    person = school.student(client)
    post(client, school.address(assignment, person), "1 s")
    with open_writing_session(site.engine) as session:
        (row,) = StoredRecords(session, person.learner).latest_attempts()
        assert isinstance(row, AttemptRow)
        mended = RegradeRow(attempt=row.id or 0, digest="new", score=1.0, correct=True)
        session.add(mended)
        session.commit()
    page = words(client.get(f"/assignments/{assignment.id}").text)
    assert "an answer of yours is worth more" in page
    assert "2 of 2 points" in page
