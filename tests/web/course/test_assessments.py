"""The placement and the final: one answer a question, no help, and a result that follows."""

import re

import pytest
from fastapi.testclient import TestClient

from app.classes.people.policy import Policy
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.learning import PLACEMENT_QUESTIONS, final_questions, placement_question
from app.server.db.assessments import AssessedAnswer, assessed_in
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Reveal, now
from app.server.db.writer import store
from app.site import Site
from app.site.web.frame.visitor import COOKIE
from tests.people.school import DAY, School
from tests.web.course.test_known_chapters import words


@pytest.fixture
def learner(client: TestClient, site: Site) -> str:
    made = new_learner()
    client.cookies.set(COOKIE, sign(made, site.secret))
    return made


def right(exercise: Exercise, seed: int) -> dict[str, object]:
    """The fields of a form with the right answer."""
    answer = exercise.right_answer(seed)
    if isinstance(answer, dict):
        return {f"answer.{name}": text for name, text in answer.items()}
    return {"answer": answer}


def outcomes(site: Site, learner: str, sort: str, draw: int) -> list[str]:
    with open_session(site.engine) as session:
        return [row.outcome for row in assessed_in(session, learner, sort, draw)]  # type: ignore[arg-type]


def test_a_final_is_answered_left_and_gone_on_with(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    questions = final_questions(catalog, 41)
    begin = client.get("/final/begin").headers["location"]
    assert re.fullmatch(r"/final/\d+/1", begin)
    first, second, *rest = questions
    page = client.get("/final/41/1").text
    assert first.exercise.title in page
    assert 'action="/final/41/1"' in page
    assert 'value="hint"' not in page
    assert 'value="solution"' not in page
    assert 'id="path"' not in page
    answered = client.post("/final/41/1", data=right(first.exercise, first.seed)).text
    assert "The solutions come at the end." in words(answered)
    assert client.get("/final/41/1").headers["location"] == "/final/41/next"
    assert client.get("/final/41/next").headers["location"] == "/final/41/2"
    skipped = client.post("/final/41/2", data={"action": "skip"})
    assert skipped.headers["location"] == "/final/41/next"
    half = words(client.get("/final/41").text)
    assert f"You have answered 2 of {len(questions)} questions" in half
    assert f"{len(questions) - 2} left to answer" in words(client.get("/final").text)
    skips = [
        AssessedAnswer(
            learner=learner, assessment="final", draw=41, number=one.number,
            exercise=one.exercise.id, seed=one.seed, outcome="skipped",
        )
        for one in rest
    ]  # fmt: skip
    store(site.engine, skips)
    assert client.get("/final/41/next").headers["location"] == "/final/41"
    page = client.get("/final/41").text
    assert "1 of 20 right" in words(page)
    strong = page[page.index("Strong") : page.index("To repeat")]
    assert catalog.topic_of(first.exercise).title in words(strong)
    weak = page[page.index("To repeat") : page.index("By kind")]
    assert f'href="/exercises/{second.exercise.id}?seed={second.seed}"' in weak
    assert outcomes(site, learner, "final", 41) == ["right"] + ["skipped"] * 19


def test_the_first_answer_counts_and_an_unreadable_one_is_none(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    one = next(q for q in final_questions(catalog, 42) if q.exercise.kind == "numeric")
    address = f"/final/42/{one.number}"
    good = right(one.exercise, one.seed)
    unreadable = dict.fromkeys(good, "what?")
    assert "Not graded" in client.post(address, data=unreadable).text
    assert outcomes(site, learner, "final", 42) == []
    wrong = dict.fromkeys(good, "1e-30")
    page = words(client.post(address, data=wrong).text)
    assert "Not right" in page
    again = client.post(address, data=good)
    assert again.status_code == 403
    assert "Your first answer counted." in words(again.text)
    for action in ("hint", "solution"):
        assert client.post(address, data={"action": action}).status_code == 403
    assert outcomes(site, learner, "final", 42) == ["wrong"]
    with open_session(site.engine) as session:  # it is an answer like others
        assert [a.exercise for a in StoredRecords(session, learner).latest_attempts()] == [one.exercise.id]


def test_an_answer_after_its_solution_was_shown_is_not_right(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    one = final_questions(catalog, 43)[0]
    shown = Reveal(learner=learner, exercise=one.exercise.id, seed=one.seed, number=0)
    store(site.engine, [shown])
    client.post("/final/43/1", data=right(one.exercise, one.seed))
    assert outcomes(site, learner, "final", 43) == ["wrong"]


def answer_questions(site: Site, learner: str, draw: int, **outcomes: str) -> None:
    """Answers to a final: by number, an exercise and how it was answered."""
    rows = [
        AssessedAnswer(
            learner=learner, assessment="final", draw=draw, number=int(number[1:]), seed=5,
            exercise=text.split()[0], outcome=text.split()[1],  # type: ignore[arg-type]
        )
        for number, text in outcomes.items()
    ]  # fmt: skip
    store(site.engine, rows)


def test_a_chapter_is_strong_where_nothing_of_it_was_missed(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    """The questions stay as they were answered, though the course would draw others today."""
    first, second, third = (f"collectives/{name}" for name in ("ring-all-reduce-time", "bus-bandwidth", "ring-or-tree"))
    one = catalog.topic("hardware").path[0].id
    answered = {"q1": f"{first} right", "q2": f"{second} skipped", "q3": f"{one} right"}
    answer_questions(site, learner, 51, **answered)
    page = client.get("/final/51").text
    strong, repeat = page.index("<h2>Strong"), page.index("<h2>To repeat")
    assert re.findall(r'href="(/chapters/[^"]+)"', page[strong:repeat]) == ["/chapters/hardware"]
    repeated = page[repeat : page.index("<h2>By kind")]
    assert f"/exercises/{second}?seed=5" in repeated
    assert "/chapters/hardware" not in repeated
    assert "/final/51/next" in page
    assert "Not asked about" not in page
    answer_questions(site, learner, 51, **{f"q{number}": f"{third} right" for number in range(4, 21)})
    over = client.get("/final/51").text
    assert "/final/51/next" not in over
    untold = over[over.index("Not asked about") : over.index("All questions")]
    assert "/chapters/memory" in untold
    assert "/chapters/hardware" not in untold


def test_the_finals_that_were_begun_are_listed_with_what_is_right_the_latest_ten(
    client: TestClient, site: Site, learner: str
) -> None:
    for draw in range(61, 72):
        answer_questions(site, learner, draw, q1="a/b right", q2="a/c skipped", q3="a/d wrong")
    page = client.get("/final").text
    assert re.findall(r'href="/final/(\d+)"', page) == [str(draw) for draw in range(71, 61, -1)]
    assert words(page).count("1 of 20 right, 17 left to answer") == 10


def test_a_placement_of_no_known_route_is_about_all_chapters(client: TestClient, catalog: Catalog) -> None:
    for draw in (0, 4 * 10**6, 2**31 - 1):
        first = placement_question(catalog, [], draw)
        assert first is not None
        assert first.exercise.title in client.get(f"/placement/{draw}/1").text


def test_a_placement_ticks_what_was_known_before_and_says_what_it_does_not_decide(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    client.post("/progress/known", data={"chapter": ["rates"]})
    question = placement_question(catalog, [], 8)
    assert question is not None
    client.post("/placement/8/1", data=right(question.exercise, question.seed))
    after = placement_question(catalog, [(catalog.topic_of(question.exercise).id, True)], 8)
    assert after is not None
    client.post("/placement/8/2", data={"action": "skip"})
    page = client.get("/placement/8").text
    known = catalog.topic_of(question.exercise).id
    assert {known, "rates"} <= set(re.findall(r'value="([^"]+)" checked', page))
    undecided = page[page.index("Not decided") : page.index("Mark what you know")]
    for decided in (known, catalog.topic_of(after.exercise).id):
        assert f"/chapters/{decided}" not in undecided
    assert "/chapters/rates" in undecided, "the placement itself has said nothing about it"


def test_a_placement_leads_to_chapters_that_can_be_marked(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    answers: list[tuple[str, bool]] = []
    while question := placement_question(catalog, answers, 7):
        assert client.get("/placement/7/next").headers["location"] == f"/placement/7/{question.number}"
        chapter = catalog.topic_of(question.exercise)
        knows = chapter.position < 8
        data = right(question.exercise, question.seed) if knows else {"action": "skip"}
        client.post(f"/placement/7/{question.number}", data=data)
        answers.append((chapter.id, knows))
    assert client.get("/placement/7/next").headers["location"] == "/placement/7"
    page = client.get("/placement/7").text
    ticked = set(re.findall(r'value="([^"]+)" checked', page))
    assert {name for name, knows in answers if knows} <= ticked
    assert not {name for name, knows in answers if not knows} & ticked
    client.post("/progress/known", data={"chapter": sorted(ticked)})
    form = client.get("/progress").text.partition('action="/progress/known"')[2]
    assert set(re.findall(r'value="([^"]+)" checked', form)) == ticked


def test_a_placement_may_be_about_a_route(client: TestClient, catalog: Catalog, learner: str) -> None:
    page = client.get("/placement").text
    assert re.findall(r'begin\?route=(\w+)"[^>]*>([^<]+)<', page) == [
        ("train", "I train"), ("serve", "I serve"), ("cluster", "I run the cluster"),
    ]  # fmt: skip
    begin = client.get("/placement/begin?route=serve").headers["location"]
    draw = begin.removesuffix("/1")
    serve = [topic for topic in catalog.topics if "serve" in topic.routes]
    others = {topic.title for topic in catalog.topics} - {topic.title for topic in serve}
    for number in range(1, PLACEMENT_QUESTIONS + 1):
        if client.get(f"{draw}/next").headers["location"] != f"{draw}/{number}":
            break
        client.post(f"{draw}/{number}", data={"action": "skip"})
    page = words(client.get(draw).text)
    result = page[page.index("Your placement") : page.index("Mark what you know")]
    assert any(topic.title in result for topic in serve)
    assert {title for title in others if title in result} == set()
    assert 'href="/placement/begin?route=serve"' in client.get(draw).text
    assert client.get("/placement/begin?route=sail").status_code == 404
    assert int(client.get("/placement/begin").headers["location"].split("/")[2]) < 10**6


def test_nothing_of_another_learner_is_shown(client: TestClient, site: Site, learner: str) -> None:
    client.post("/final/44/1", data={"action": "skip"})
    assert client.get("/final/44").status_code == 200
    other = new_learner()
    client.cookies.clear()
    client.cookies.set(COOKIE, sign(other, site.secret))
    assert client.get("/final/44").headers["location"] == "/final"
    assert "left to answer" not in words(client.get("/final").text)
    client.cookies.clear()
    assert client.get("/final/44").headers["location"] == "/final"


@pytest.mark.parametrize(
    "address",
    ["/final/x", "/final/7/0", "/final/7/21", "/final/-1/1", "/placement/7/2",
     "/final/99999999999999999999/1", "/placement/1e3/next"],
)  # fmt: skip
def test_an_address_without_a_question_is_not_found(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_who_only_looks_gets_no_cookie(client: TestClient) -> None:
    for address in ("/placement", "/placement/begin", "/placement/7/1", "/final", "/final/7/1"):
        assert "set-cookie" not in client.get(address).headers
    answer = client.post("/final/45/1", data={"action": "skip"})
    assert COOKIE in answer.headers["set-cookie"]


def test_an_exam_is_not_answered_in_a_final(client: TestClient, site: Site, catalog: Catalog) -> None:
    """Another drawing would tell how to solve one's own."""
    school, one = School(site), final_questions(catalog, 46)[0]
    person = school.student(client)
    around = Policy(opens=now() - DAY, due=now() + DAY, closes=now() + DAY, sitting=45)
    assignment = school.assign(around, [one.exercise.id])
    client.post(f"/assignments/{assignment.id}/begin")
    refused = client.post("/final/46/1", data=right(one.exercise, one.seed))
    assert refused.status_code == 403
    assert "in an assignment of yours" in words(refused.text)
    assert outcomes(site, person.learner, "final", 46) == []
    client.post("/final/46/1", data={"action": "skip"})
    assert outcomes(site, person.learner, "final", 46) == ["skipped"]
