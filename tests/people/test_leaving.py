"""Anonymous work that is claimed, everything as JSON, a class left, a person deleted."""

import json
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlmodel import col, select

from app.classes.people.assignments import assignment_with
from app.classes.people.classes import members_of
from app.classes.people.counted_answers import extend
from app.classes.people.gradebook import cells_of
from app.classes.people.work import own_seed
from app.core.translation.dates import short_day
from app.server.db.claims import claim_rows, find_unclaimed
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.migrations import copy_beside
from app.server.db.people import ExtensionRow, IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.personal import collect_everything
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import Attempt, Prediction, Reveal, now
from app.server.db.writer import NewRow, store
from app.site import Site
from app.site.web.frame.visitor import COOKIE
from tests.db.test_persons import store_guess
from tests.people.school import DAY, RING, School, due
from tests.web.test_progress import words

PERSONAL = ("attempts", "reveals", "predictions", "guesses", "runs", "measurements")


@pytest.fixture
def school(site: Site) -> School:
    return School(site)


def attempt(learner: str, exercise: str = RING, seed: int = 0) -> Attempt:
    return Attempt(
        learner=learner, exercise=exercise, seed=seed, answer="70 ms", correct=True, score=1.0, digest="", drawn="{}"
    )


def stored(site: Site, learner: str) -> dict[str, int]:
    with open_session(site.engine) as session:
        rows = collect_everything(session, learner)
    return {name: len(rows[name]) for name in PERSONAL}


def anonymous(site: Site, client: TestClient, rows: int = 2) -> str:
    """A learner with some work in the browser of *client*."""
    learner = new_learner()
    client.cookies.set(COOKIE, sign(learner, site.secret))
    work: list[NewRow] = [
        *(attempt(learner, seed=seed) for seed in range(rows)),
        Reveal(learner=learner, exercise=RING, seed=0, number=1),
        Prediction(learner=learner, exercise=RING, seed=0, answer='{"a": "1"}'),
    ]
    assert store(site.engine, work) == [None] * len(work)
    store_guess(site.engine, learner, "1 s")
    return learner


def test_work_of_the_browser_is_offered_after_signing_in_and_never_taken(
    client: TestClient, site: Site, school: School
) -> None:
    person, _, code = school.member("Grace")
    learner = anonymous(site, client)
    answer = client.post("/sign-in", data={"code": code})
    assert answer.headers["location"] == f"/me/claim?next=%2Fclasses%2F{school.id}"
    assert "2 answers and 1 guess were given" in words(client.get("/me/claim").text)
    assert sum(stored(site, person.learner).values()) == 0
    client.post("/me/claim", data={"mine": "yes"})
    assert sum(stored(site, learner).values()) == 0
    assert sum(stored(site, person.learner).values()) == 5
    assert client.get("/me/claim?next=/final").headers["location"] == "/final"


def test_one_who_says_no_is_not_asked_again_and_nothing_moves(client: TestClient, site: Site, school: School) -> None:
    person, _, code = school.member("Grace")
    learner = anonymous(site, client)
    client.post("/sign-in", data={"code": code})
    client.post("/me/claim", data={"mine": "no"})
    assert client.get("/me/claim").headers["location"] == "/me"
    assert "Work without a name" not in client.get("/me").text
    assert stored(site, learner)["attempts"] == 2
    assert stored(site, person.learner)["attempts"] == 0


def test_where_both_have_one_of_which_there_is_one_nothing_is_lost(client: TestClient, site: Site) -> None:
    learner, mine = anonymous(site, client), new_learner()
    own: list[NewRow] = [
        Reveal(learner=mine, exercise=RING, seed=0, number=1),
        Prediction(learner=mine, exercise=RING, seed=0, answer='{"a": "2"}'),
    ]
    store(site.engine, own)
    store_guess(site.engine, mine, "2 s")
    with open_session(site.engine) as session:
        assert claim_rows(session, learner, mine) == 2
        kept = collect_everything(session, mine)
        assert kept["predictions"][0]["answer"] == '{"a": "2"}'  # type: ignore[index]
        assert kept["guesses"][0]["answer"] == "2 s"  # type: ignore[index]
        left = collect_everything(session, learner)
        assert [len(left[name]) for name in PERSONAL] == [0, 1, 1, 1, 0, 0]
        assert find_unclaimed(session, "") is None


def test_an_answer_that_came_in_a_file_counts_in_no_class(client: TestClient, site: Site, school: School) -> None:
    person, _, code = school.member("Grace")
    assignment = school.assign(due(3))
    seed = own_seed(site.secret, assignment, RING, person.learner)
    assert seed is not None
    forged = {
        "exercise": RING,
        "seed": seed,
        "answer": "70 ms",
        "correct": True,
        "score": 1.0,
        "digest": "",
        "drawn": "{}",
        "at": now().isoformat(),
        "carried": False,
    }
    file = {"file": ("w.json", json.dumps({"attempts": [forged]}), "application/json")}
    client.post("/progress/import", files=file)
    client.post("/sign-in", data={"code": code})
    client.post("/me/claim", data={"mine": "yes"})
    forged["answer"] = "another"
    file = {"file": ("w.json", json.dumps({"attempts": [forged]}), "application/json")}
    client.post("/progress/import", files=file)
    assert stored(site, person.learner)["attempts"] == 2
    with open_session(site.engine) as session:
        cells = cells_of(session, site.secret, assignment, members_of(session, school.id))
    assert person.person not in {who for who, _ in cells}


def test_everything_about_a_person_is_one_file_without_what_signs_in(
    client: TestClient, site: Site, school: School
) -> None:
    person = school.student(client, "Grace Hopper")
    assignment = school.assign(due(3))
    with open_writing_session(site.engine) as session:
        extend(session, assignment.id, [person.person], now() + 9 * DAY, "Ada", "was ill")
        session.commit()
    store(site.engine, [attempt(person.learner)])
    text = client.get("/me/export").text
    file = json.loads(text)
    assert file["person"]["name"] == "Grace Hopper"
    assert file["extensions"][0]["why"] == "was ill"
    assert [len(file["attempts"]), len(file["browsers"]), len(file["memberships"])] == [1, 1, 1]
    row = school.membership(person)
    assert row is not None
    assert row.code_digest
    assert row.code_digest not in text
    assert client.get("/progress/export").headers["location"] == "/me/export"


def test_one_who_leaves_is_out_and_comes_back_by_the_link(client: TestClient, site: Site, school: School) -> None:
    person = school.student(client)
    store(site.engine, [attempt(person.learner)])
    refused = client.post("/me/leave", data={"class_id": str(school.id)})
    assert refused.status_code == 422
    assert client.post("/me/leave", data={"class_id": str(school.id), "sure": "yes"}).is_redirect
    assert client.get(f"/classes/{school.id}").status_code == 404
    assert stored(site, person.learner)["attempts"] == 1
    client.post(f"/join/{school.code}")
    assert client.get(f"/classes/{school.id}").status_code == 200


def test_the_only_teacher_can_neither_leave_nor_be_deleted(client: TestClient, school: School) -> None:
    client.cookies.set("session", school.teacher_cookie)
    sent = {"class_id": str(school.id), "sure": "yes"}
    assert client.post("/me/leave", data=sent).status_code == 422
    answer = client.post("/me/delete", data=sent)
    assert answer.status_code == 422
    assert "only teacher of Systems" in answer.text
    assert client.get("/me").status_code == 200


def test_a_person_whom_no_class_has_graded_leaves_no_row(client: TestClient, site: Site, school: School) -> None:
    person = school.student(client, "Grace")
    store(site.engine, [attempt(person.learner, "memory/traffic-of-stage-3")])
    assert client.post("/me/delete", data={"sure": "no"}).status_code == 422
    page = client.post("/me/delete", data={"sure": "yes"}).text
    assert "all your answers are gone" in words(page)
    with open_session(site.engine) as session:
        assert session.get(PersonRow, person.person) is None
        for table in (IdentityRow, SessionRow, MemberRow, ExtensionRow):
            assert not session.exec(select(table).where(col(table.person) == person.person)).all()
    assert sum(stored(site, person.learner).values()) == 0


def test_graded_answers_stay_under_a_number_and_nothing_else_does(
    client: TestClient, site: Site, school: School
) -> None:
    other = School(site, "Networks")
    person = school.student(client, "Grace Hopper")
    client.post(f"/join/{other.code}")
    assignment = school.assign(due(3))
    seed = own_seed(site.secret, assignment, RING, person.learner) or 0
    store(
        site.engine,
        [
            attempt(person.learner, seed=seed),
            attempt(person.learner, "memory/traffic-of-stage-3"),
            Reveal(learner=person.learner, exercise=RING, seed=seed, number=1),
        ],
    )
    copy = copy_beside(site.settings.database, "1")
    assert copy
    page = client.post("/me/delete", data={"sure": "yes"}).text
    copy.unlink()
    assert "stay with the class, under a number" in words(page)
    until = short_day((now() + timedelta(days=30)).date())
    assert f"still has them, and is removed on {until}" in words(page)
    assert client.get("/me").status_code == 303
    counts = stored(site, person.learner)
    assert (counts["attempts"], counts["reveals"]) == (1, 0)
    with open_session(site.engine) as session:
        names = [member.name for member in members_of(session, school.id)]
        assert "Grace Hopper" not in names
        assert any(name.startswith("Student ") for name in names)
        cells = cells_of(session, site.secret, assignment, members_of(session, school.id))
        assert cells[person.person, RING].points == 2.0
        assert not session.exec(select(SessionRow).where(SessionRow.person == person.person)).all()
        assert session.get(MemberRow, (other.id, person.person)) is None
        assert assignment_with(session, assignment.id)


def test_progress_of_a_person_is_not_deleted_behind_the_back_of_a_class(
    client: TestClient, site: Site, school: School
) -> None:
    person = school.student(client)
    store(site.engine, [attempt(person.learner)])
    assert client.post("/progress/delete", data={"sure": "yes"}).status_code == 422
    assert stored(site, person.learner)["attempts"] == 1
    assert "You are signed in as Grace" in words(client.get("/progress").text)


def test_a_new_name_and_a_new_seat_code(client: TestClient, school: School) -> None:
    _, cookie, old = school.member("Grace")
    client.cookies.set("session", cookie)
    client.post("/me/name", data={"name": "Rear Admiral Hopper"})
    assert "Rear Admiral Hopper" in client.get("/me").text
    page = client.post("/me/code", data={"class_id": str(school.id)}).text
    assert "Your new seat code" in page
    assert client.post("/sign-in", data={"code": old}).status_code == 422
    assert client.post("/me/code", data={"class_id": "999999"}).status_code == 422
