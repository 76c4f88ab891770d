"""The form of a chapter's numbers, how a choice is kept, and what the links carry."""

import re
from datetime import timedelta

from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.server.db.history import Effort, Standing
from app.site.web.course.chapter import ChapterWork, chapter_page, opening_views, unplaced_figures
from app.site.web.standing.view import LearnerHistory
from tests.db.test_rows import NOON, attempt

CHAPTER = "/chapters/your-cluster"
FIRST = "/exercises/your-cluster/flops-that-it-buys"
OWN = {"gpu": "H200 SXM", "gpus": "128", "network": "800 Gbit/s", "budget": "750000"}


def test_a_choice_is_carried_by_links_and_kept(client: TestClient, catalog: Catalog) -> None:
    plain = client.get(CHAPTER)
    assert "set-cookie" not in plain.headers
    assert f'href="{FIRST}"' in plain.text
    answer = client.get(CHAPTER, params=OWN)
    assert answer.status_code == 303
    page = client.get(answer.headers["location"]).text
    assert re.search(r'name="gpus" value="128"', page)
    seed = answer.headers["location"].partition("seed=")[2].partition("#")[0]
    assert f'href="{FIRST}?seed={seed}"' in page
    # Kept: without the seed in the address, the chapter and its exercises know it.
    assert f'href="{FIRST}?seed={seed}"' in client.get(CHAPTER).text
    kept = client.get(FIRST)
    assert (kept.status_code, kept.headers["location"]) == (303, f"{FIRST}?seed={seed}")
    other = (
        client.get(CHAPTER, params={**OWN, "gpus": "64"}).headers["location"].partition("seed=")[2].partition("#")[0]
    )
    assert f'href="{FIRST}?seed={seed}"' in client.get(f"{CHAPTER}?seed={seed}").text, "the address goes first"
    assert f'href="{FIRST}?seed={other}"' in client.get(CHAPTER).text
    exercise = client.get(f"{FIRST}?seed={seed}").text
    assert "128 H200 SXM" in exercise
    assert f"/exercises/your-cluster/derive-the-size?seed={seed}" in exercise
    right_one = catalog.exercise(FIRST.removeprefix("/exercises/")).right_answer(int(seed))
    given = (
        {f"answer.{name}": text for name, text in right_one.items()}
        if isinstance(right_one, dict)
        else {"answer": right_one}
    )
    right = client.post(f"{FIRST}?seed={seed}", data=given)
    assert 'class="feedback correct"' in right.text
    # The progress has it as well, where the cookie of the choice is gone.
    client.cookies.delete("chapter-your-cluster")
    assert f'href="{FIRST}?seed={seed}"' in client.get(CHAPTER).text


def test_a_choice_that_is_none_is_told_and_what_was_typed_stays(client: TestClient) -> None:
    answer = client.get(CHAPTER, params={**OWN, "gpus": "100<b>"})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'value="100&lt;b&gt;"' in answer.text
    assert "set-cookie" not in answer.headers


def test_a_broken_cookie_is_no_choice(client: TestClient) -> None:
    client.cookies.set("chapter-your-cluster", "9" * 40)
    assert client.get(CHAPTER).status_code == 200
    assert client.get(FIRST).status_code == 200


def test_programs_ask_for_the_seed_of_a_choice(client: TestClient, token: str, catalog: Catalog) -> None:
    address = "/api/v1/chapters/your-cluster/parameters"
    bearer = {"Authorization": f"Bearer {token}"}
    assert client.get(address).json()["seed"] == 0
    found = client.get(address, params=OWN).json()
    assert found["given"]["network"] == "800 Gbit/s"
    drawn = client.get(f"/api/v1/exercises/{FIRST[11:]}", params={"seed": found["seed"]}).json()
    assert drawn["given"]["gpus"] == "128"
    answer = catalog.exercise(FIRST[11:]).right_answer(found["seed"])
    sent = {"exercise": FIRST[11:], "seed": found["seed"], "answer": answer}
    checked = client.post("/api/v1/check", json=sent, headers=bearer).json()
    assert checked.get("verdict") == "correct", checked
    assert client.get(address, params={"gpus": "9"}).status_code == 422
    assert client.get("/api/v1/chapters/nothing/parameters").status_code == 404


def test_the_last_right_answer_knows_the_choice() -> None:
    answers = {f"a/{seed}": attempt(seed=seed, at=NOON + timedelta(hours=at)) for seed, at in ((1, 2), (2, 3), (3, 1))}
    assert (ChapterWork(answers).last_seed, ChapterWork().last_seed) == (2, 0)


def test_what_one_has_computed_is_told_once_the_path_is_finished(catalog: Catalog) -> None:
    topic = catalog.topic("your-cluster")
    first, last = topic.path[0], topic.path[-1]
    work = ChapterWork({first.id: attempt(exercise=first.id, seed=3, at=NOON)}, {first.id: Effort(4, 2, 130.0)})
    solved = {one.id: Standing(1, True) for one in topic.path}
    for known, count in ((solved, 1), ({**solved, last.id: Standing(1)}, 0)):
        page = chapter_page(catalog, topic, LearnerHistory(known), work, NOON.date(), choice=None, seed=3, typed={})
        assert len(page.results) == count
        for one in page.results:
            assert (one.href, one.answers, one.right, one.time) == (f"{FIRST}?seed=3", 4, 2, "2 min")


def test_every_figure_of_a_chapter_has_one_place(catalog: Catalog) -> None:
    for topic in catalog.topics:
        inside = [part for part in opening_views(topic, {}) if part.figure]
        page = chapter_page(catalog, topic, LearnerHistory(), ChapterWork(), NOON.date(), choice=None, seed=0, typed={})
        assert len(inside) + len(unplaced_figures(topic)) + (page.side is not None) == len(topic.figures), topic.id
