"""From one exercise to the next: two ways on, a numbered path, the end of a chapter."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.personal import collect_everything
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt, now
from app.server.db.writer import store
from app.site import Site
from app.site.web.frame.visitor import COOKIE

RING = "collectives/ring-all-reduce-time"
BYTES = "collectives/bytes-sent-by-a-ring"
Solve = Callable[..., None]


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def buttons(page: str) -> list[str]:
    """The texts of the links that look like buttons."""
    return [words(text) for text in re.findall(r'<a class="button[^>]*>(.*?)</a>', page, re.DOTALL)]


@pytest.fixture
def solve(client: TestClient, site: Site) -> Solve:
    """Stores right answers of the visitor, some days ago."""
    learner = new_learner()
    client.cookies.set(COOKIE, sign(learner, site.secret))

    def put(*exercises: str, ago: int = 0, answer: str = "70 ms") -> None:
        rows = [
            Attempt(
                learner=learner,
                exercise=name,
                seed=0,
                answer=answer,
                correct=True,
                score=1,
                digest="",
                drawn="{}",
                seconds=95.0,
                at=now() - timedelta(days=ago),
            )
            for name in exercises
        ]
        assert store(site.engine, rows) == [None] * len(rows)

    return put


@pytest.fixture
def topic(catalog: Catalog) -> Topic:
    return catalog.topic("collectives")


@pytest.mark.parametrize("path", ["/", "/chapters/collectives", "/progress"])
def test_the_reviews_of_a_day_are_a_second_button(client: TestClient, solve: Solve, path: str) -> None:
    solve(RING, ago=30)
    page = client.get(path).text
    assert buttons(page)[:2] == ["Continue: Bytes sent in a ring all-reduce", "Review 1 (about 2 min)"]
    says = "Next review: Time of a ring all-reduce, last done 30 days ago; about "
    assert re.search(says + r"\d+ % is left\.", words(page))
    assert page.count("last done 30 days ago") == 1
    assert review_in(page) == review_in(client.get(path).text)  # with the same numbers


def review_in(page: str) -> str:
    """The address of the next review on a page."""
    (found,) = re.findall(r'href="([^"]+)" rel="nofollow">Review', page)
    return unescape(found)


def test_reviews_follow_one_another_and_say_their_number(client: TestClient, solve: Solve, catalog: Catalog) -> None:
    numeric = (one for one in catalog.topic("memory").exercises if one.kind == "numeric")
    single = [one.id for one in numeric if isinstance(one.right_answer(0), str)]
    solve(*single[:3], ago=30)
    page = client.get("/").text
    assert "Review 3 (about" in words(page)
    for number in (1, 2, 3):
        address = review_in(page)
        shown = client.get(address).text
        assert words(shown).find(f"Review {number} of 3 ·") > 0
        name, _, rest = address.removeprefix("/exercises/").partition("?")
        seed = int(rest.partition("&")[0].removeprefix("seed=") or 0)
        (action,) = re.findall(r'id="answer" method="post" action="([^"]+)"', shown)
        assert "review=1" in action
        answer = {"answer": catalog.exercise(name).right_answer(seed)}
        page = client.post(unescape(action), data=answer).text
        if number < 3:
            assert buttons(page)[0] == f"Review {number + 1} of 3"
    assert buttons(page)[0].startswith("Continue")


def test_many_reviews_are_spread_over_days(client: TestClient, solve: Solve, catalog: Catalog) -> None:
    solve(*(one.id for one in catalog.topic("collectives").exercises[:14]), ago=30)
    page = words(client.get("/").text)
    assert "Review 10 (about" in page
    assert "4 more wait for the days after" in page


def test_what_is_due_comes_before_what_builds_on_it(client: TestClient, solve: Solve) -> None:
    solve(BYTES, ago=30)
    solve("accumulation/a-step-in-parts")
    page = client.get("/").text  # accumulation builds on collectives
    assert buttons(page)[0] == "Review 1 (about 2 min)"
    assert page.count('class="button primary"') == 1


def test_after_a_right_answer_a_review_does_not_take_the_place_of_the_path(client: TestClient, solve: Solve) -> None:
    solve(RING, "memory/optimizer-shard", ago=30)
    page = client.post(f"/exercises/{BYTES}", data={"answer": "1.75 GB"}).text
    assert buttons(page)[:2] == ["Continue: From a measured time to bus bandwidth", "Review 2 (about 6 min)"]


def test_what_was_just_answered_is_not_due_any_more(client: TestClient, solve: Solve) -> None:
    solve(RING, ago=30)
    page = client.post(f"/exercises/{RING}", data={"answer": "70 ms"}).text
    assert not any(text.startswith("Review") for text in buttons(page))


def test_what_was_answered_after_its_solution_is_not_offered_at_once(client: TestClient, solve: Solve) -> None:
    solve(RING, ago=30)
    client.post(f"/exercises/{RING}", data={"action": "solution"})
    page = client.post(f"/exercises/{RING}", data={"answer": "70 ms"}).text
    assert not any(text.startswith("Review") for text in buttons(page))


def test_one_continues_in_the_chapter_of_the_last_answer(client: TestClient, solve: Solve) -> None:
    solve(BYTES, ago=2)
    solve("hardware/order-of-bandwidth", ago=1)
    assert buttons(client.get("/").text)[0].endswith(": The ridge point")
    assert buttons(client.get("/chapters/collectives").text)[0].endswith(": Time of a ring all-reduce")


def test_a_path_is_numbered_and_says_how_long_it_takes(client: TestClient, topic: Topic) -> None:
    page = client.get("/chapters/collectives").text
    path = re.findall(r'<ol class="list">(.*?)</ol>', page, re.DOTALL)[0]
    rows = [words(row) for row in re.findall("<li>(.*?)</li>", path, re.DOTALL)]
    assert len(rows) == len(topic.path) == 8
    for number, (row, exercise) in enumerate(zip(rows, topic.path, strict=True), 1):
        assert row.startswith(f"{number} {exercise.title}")
        assert row.endswith(f"{exercise.minutes} min")
    minutes = sum(exercise.minutes for exercise in topic.path)
    assert f"0 of 8 solved, about {minutes} min" in words(page)


def test_the_path_beside_an_exercise_marks_the_one_shown(client: TestClient) -> None:
    page = client.get(f"/exercises/{RING}?seed=3").text
    assert re.findall(r'<a href="([^"]+)" aria-current="page">', page) == [f"/exercises/{RING}"]
    part = client.post(f"/exercises/{RING}", data={"answer": "70 ms"}, headers={"X-Fragment": "1"}).text
    assert part.count('id="path"') == 1
    assert 'class="mark unaided"' in part


def test_whoever_has_not_begun_a_chapter_is_led_to_its_text(client: TestClient, solve: Solve) -> None:
    assert "Ring all-reduce explains it in 3 min." in words(client.get(f"/exercises/{RING}").text)
    solve(BYTES)
    assert "explains it in" not in client.get(f"/exercises/{RING}").text


def answer_of(exercise: Exercise) -> dict[str, str | list[str]]:
    """The right answer as a form sends it."""
    right = exercise.right_answer(0)
    if isinstance(right, dict):
        return {f"answer.{name}": text for name, text in right.items()}
    return {"answer": right}


def test_the_end_of_a_chapter_is_a_moment(client: TestClient, solve: Solve, topic: Topic) -> None:
    *others, last = topic.path
    solve(*(one.id for one in others))
    assert "You have finished" not in client.get("/chapters/collectives").text
    page = client.post(f"/exercises/{last.id}", data=answer_of(last)).text
    assert "That was the last one on the path" in words(page)
    assert 'href="/chapters/collectives#finished"' in page
    assert buttons(page)[0] == "Continue: The three stages of ZeRO"
    again = client.post(f"/exercises/{last.id}", data=answer_of(last)).text
    assert "That was the last one on the path" not in words(again)


def test_a_finished_chapter_says_what_one_can_compute_with_ones_own_results(
    client: TestClient, solve: Solve, topic: Topic
) -> None:
    assert "When you have finished" in client.get("/chapters/collectives").text
    for exercise in topic.path:
        right = exercise.right_answer(0)
        solve(exercise.id, answer=right if isinstance(right, str) else "")
    page = words(client.get("/chapters/collectives").text)
    assert "You have finished this chapter You can now predict an all-reduce" in page
    assert "Time of a ring all-reduce : 70 ms at the first try, 1 min" in page
    assert "a program of" in page
    assert page.count("You can now predict") == 1


def test_every_chapter_says_what_one_can_compute_at_its_end(catalog: Catalog) -> None:
    for topic in catalog.topics:
        assert "can now" in " ".join(topic.closing.split()), topic.id


def test_home_is_one_figure_one_button_and_a_line_for_each_part(
    client: TestClient, solve: Solve, catalog: Catalog
) -> None:
    page = client.get("/").text
    main = page[page.index("<main") : page.index("</main>")]
    assert [main.count(one) for one in ("<figure", "button primary")] == [1, 1]
    assert main.count('<details class="part">') == len(catalog.outline.parts)
    for topic in catalog.topics:
        assert main.count(f'href="/chapters/{topic.id}"') >= 1
    for href in ("/explore/fit", "/measured/a100-16-p4de", "/placement"):
        assert f'<a href="{href}"' in main
        assert client.get(href).status_code == 200
    assert "No account" in words(page)
    assert 'href="/chapters/collectives">read chapter 1 first' in page
    solve(BYTES)
    begun = client.get("/").text
    assert "<figure" not in begun
    assert begun.count('<details class="part" open>') == 1


def test_the_menu_has_at_most_eight_items_and_the_reference_has_the_rest(client: TestClient) -> None:
    page = client.get("/").text
    menu = page[page.index('id="menu"') : page.index("</nav>")]
    assert len(re.findall("<a ", menu)) <= 8
    rest = client.get("/reference").text
    main = rest[rest.index("<main") : rest.index("</main>")]
    for href in re.findall(r'<a href="(/[^"]*)"', main):
        assert client.get(href).status_code == 200, href
    for href in ("/formulas", "/errata", "/glossary", "/hardware", "/docs", "/classes"):
        assert f'href="{href}"' in main


def test_the_solution_is_shown_only_after_it_was_asked_for_twice(client: TestClient) -> None:
    page = client.get(f"/exercises/{RING}").text
    fold = re.search(r'<details class="reveal">(.*?)</details>', page, re.DOTALL)
    assert fold
    assert words(fold[1]).startswith("Show the solution After that, an answer")
    assert 'name="action" value="solution"' in fold[1]
    assert page.count('value="solution"') == 1
    assert 'value="hint"' in page.replace(fold[0], "")


def test_a_right_answer_after_the_solution_says_that_it_does_not_count(client: TestClient, catalog: Catalog) -> None:
    client.post(f"/exercises/{RING}", data={"action": "solution"})
    page = client.post(f"/exercises/{RING}", data={"answer": "70 ms"}).text
    assert "It does not count, since the solution was shown before" in words(page)
    assert buttons(page)[0] == "Another one"
    primary = re.findall(r'class="button primary" href="([^"]+)"', page)
    assert primary == [f"/exercises/{RING}/another"]
    again = words(client.get(f"/exercises/{RING}").text)
    assert "after the solution, does not count:" in again
    answer = {"answer": catalog.exercise(RING).right_answer(5)}
    other = client.post(f"/exercises/{RING}?seed=5", data=answer).text
    assert "does not count" not in words(other).partition("Your last answers")[0]
    assert buttons(other)[0].startswith("Continue")


def test_an_answer_is_stored_with_the_hints_that_were_seen_before(
    client: TestClient, site: Site, catalog: Catalog
) -> None:
    learner = new_learner()
    client.cookies.set(COOKIE, sign(learner, site.secret))
    hints = len(catalog.exercise(RING).hints)
    for _ in range(hints + 1):
        client.post(f"/exercises/{RING}", data={"action": "hint"})
    for action in ("check", "solution", "check"):
        client.post(f"/exercises/{RING}", data={"action": action, "answer": "70 ms"})
    with open_session(site.engine) as session:
        stored = StoredRecords(session, learner).latest_attempts()
        shown = collect_everything(session, learner)["reveals"]
    assert [(one.hints, one.revealed) for one in stored] == [(hints, True), (hints, False)]
    assert [row["number"] for row in shown if isinstance(row, dict)] == [*range(1, hints + 1), 0]


def test_two_wrong_answers_without_a_diagnosis_offer_a_hint(client: TestClient) -> None:
    def offers(answer: str, seed: int = 0) -> bool:
        page = client.post(f"/exercises/{BYTES}?seed={seed}", data={"answer": answer}).text
        return "It is not clear what went wrong in your last two answers" in words(page)

    assert not offers("1234 GB")
    assert not offers("2 GB")  # a known one
    assert not offers("1234 GB")
    assert offers("4321 GB")
    assert not offers("4321 GB", seed=3)
    assert not offers("1.75 GB")


def test_extras_are_a_bonus_and_the_path_is_what_counts(client: TestClient, solve: Solve, topic: Topic) -> None:
    solve(topic.path[0].id, topic.extras[0].id, topic.extras[1].id)
    size = len(topic.path)
    home = words(client.get("/").text)
    assert f"1 of {size} solved" in home
    assert "+2 beside the path" in home
    chapter = words(client.get("/chapters/collectives").text)
    assert "Practice +2" in chapter
    progress = words(client.get("/progress").text)
    assert f"Ring all-reduce 1 of {size} +2" in progress
    assert re.search(r"Solved 1 of \d+ \+2", progress)
    assert f"Ring all-reduce 1 of {size} {round(100 / size)} %" in progress
    assert f"· 1 of {size} ·" in words(client.get(f"/exercises/{topic.path[0].id}").text)
    assert "· practice ·" in words(client.get(f"/exercises/{topic.extras[0].id}").text)


def test_practice_draws_an_exercise_beside_the_path_that_is_like_the_one_that_was_missed(
    client: TestClient, topic: Topic
) -> None:
    missed = topic.path[1]
    page = client.post(f"/exercises/{missed.id}", data={"answer": "80 ms"}).text
    address = f"/chapters/collectives/practice?after={missed.id}"
    assert f'href="{address}"' in page
    chosen = client.get(address)
    assert chosen.status_code == 303
    ours = next(one for one in topic.extras if chosen.headers["location"] == f"/exercises/{one.id}")
    most = max(len({*one.skills} & {*missed.skills}) for one in topic.extras if not one.runs_lab)
    assert len({*ours.skills} & {*missed.skills}) == most
    assert client.get("/chapters/collectives/practice").headers["location"].startswith("/exercises/collectives/")


def test_former_addresses_of_chapters_and_retired_exercises_lead_to_what_replaced_them(client: TestClient) -> None:
    chapter = client.get("/chapters/accumulation")
    assert (chapter.status_code, chapter.headers["location"]) == (308, "/chapters/memory")
    exercise = client.get("/exercises/memory/stage-1")
    assert (exercise.status_code, exercise.headers["location"]) == (307, "/exercises/memory/the-three-stages")
    assert client.get("/exercises/memory/stage-1?seed=0").status_code == 200  # a drawing that someone answered
