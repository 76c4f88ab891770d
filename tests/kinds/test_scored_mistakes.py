"""A foreseen mistake may be worth a part of the points, in every kind that lists mistakes."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient
from pydantic import ValidationError

from app.classes.federation.outbox import shares_of
from app.classes.people.classes import members_of
from app.classes.people.gradebook import cells_of
from app.core.errors import ContentError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.topic_file import ReadingQuestion
from app.course.content.translations import exercise_texts, read_exercise, translate_exercise, translations_of
from app.course.kinds import EXERCISE, Exercise
from app.course.kinds.base import Answer, Verdict
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.server.db.session import open_session
from app.server.db.tables import now
from app.site import Site
from tests.each import each
from tests.people.school import RING, School, due

BUS = "collectives/bus-bandwidth"
VOLUME = "collectives/derive-the-volume"
PLAN = "algebra/summed-dimension"
LAB = "accumulation/what-no-sync-saves"
NO_RUNNER = Runner(Settings())


def written(folder: Path, name: str, way: tuple[str, ...], score: object = 0.5) -> Path:
    """A copy of an exercise whose first mistake at the place *way* is worth a *score*."""
    original = ROOT / "exercises" / f"{name}.yaml"
    values = yaml.safe_load(original.read_text(encoding="utf-8"))
    mistakes = values
    for key in (*way, "mistakes"):
        mistakes = mistakes[key]
    first = next(iter(mistakes))
    mistakes[first] = {"says": mistakes[first], "score": score}
    folder.mkdir(exist_ok=True)
    path = folder / original.name
    path.write_text(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def scored(folder: Path, name: str, way: tuple[str, ...] = (), score: float = 0.5) -> Exercise:
    return read_exercise(written(folder, name, way, score), name.partition("/")[0])[0]


def graded(exercise: Exercise, answer: Answer) -> Verdict:
    return asyncio.run(exercise.grade(0, answer, NO_RUNNER))


def slip(exercise: Exercise, way: tuple[str, ...]) -> tuple[Answer, str]:
    """The first listed mistake about the number called *way*, and what is said of it."""
    right = exercise.right_answer(0)
    return next(
        (answer, says)
        for answer, says in exercise.mistakes(0)
        if not isinstance(answer, dict) or not isinstance(right, dict) or answer[way[-1]] != right[way[-1]]
    )


@each(
    ("name", "way", "score", "worth"),
    [
        (RING, (), 0.5, "50 %"),
        (BUS, ("answers", "bus"), 0.75, "25 %"),
        (VOLUME, (), 0.5, "50 %"),
        (PLAN, ("answers", "sent"), 0.75, "25 %"),
        (LAB, ("predict", "plain"), 2.5 / 3, "16.7 %"),
    ],
)
def test_a_mistake_is_wrong_and_worth_its_share(
    tmp_path: Path, name: str, way: tuple[str, ...], score: float, worth: str
) -> None:
    """Of several answers, the others are right."""
    exercise = scored(tmp_path, name, way)
    answer, says = slip(exercise, way)
    verdict = graded(exercise, answer)
    assert not verdict.correct
    assert verdict.score == pytest.approx(score)
    told = " ".join(verdict.feedback)
    assert says in told
    assert f"This is worth {worth} of the points." in told
    assert verdict.mistake


def test_a_mistake_without_a_score_is_worth_nothing(catalog: Catalog, tmp_path: Path) -> None:
    plain = graded(catalog.exercise(RING), "80 ms")
    zero = graded(scored(tmp_path, RING, score=0), "80 ms")
    assert plain == zero
    assert (plain.score, len(plain.feedback)) == (0, 1)


@each(
    ("score", "says"),
    [
        (1, "mistakes.2 * size / bandwidth.score: must be less than 1"),
        (-0.5, "score: must be at least 0"),
        ("half", "score: must be a number, not half"),
        (float("nan"), "score: must be a finite number"),
    ],
)
def test_a_score_is_from_0_to_less_than_1(tmp_path: Path, score: object, says: str) -> None:
    with pytest.raises(ContentError) as error:
        read_exercise(written(tmp_path, RING, (), score), "collectives")
    assert [one for one in error.value.problems if says in f"{one}"], error.value


@each(
    ("instead", "says"),
    [
        ("{score: 0.5}", "mistakes.size.says: is missing"),
        ("{says: Once., scores: 0.5}", "did you mean 'score'"),
        ("[Once.]", "must be a string"),
        ("{says: '', score: 0.5}", "is too short"),
    ],
)
def test_a_mistake_is_a_sentence_or_a_sentence_with_a_score(tmp_path: Path, instead: str, says: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"kind: numeric\ntitle: A title\nlevel: 1\nprompt: How much?\ngiven: {{size: [1, 2]}}\n"
        f"answer: 2 * size\nmistakes:\n  size: {instead}\n  5 * size: Five times.\nhints: [One., Two.]\n"
        "solution: Twice.\nsources: [https://example.org/]\n"
    )
    with pytest.raises(ContentError) as error:
        read_exercise(path, "collectives")
    assert says in str(error.value)
    assert error.value.problems[0].line == 8


def test_a_translation_says_the_sentence_and_keeps_the_score(catalog: Catalog, tmp_path: Path) -> None:
    path = written(tmp_path, RING, ())
    (tmp_path / "ring-all-reduce-time.de.yaml").write_bytes((ROOT / "exercises" / f"{RING}.de.yaml").read_bytes())
    exercise, document = read_exercise(path, "collectives")
    (german,) = translations_of(path, exercise_texts(exercise))
    assert german.is_fresh  # a score changes no text
    made = translate_exercise(exercise, document, german)
    verdict = graded(made, "80 ms")
    assert verdict.score == 0.5
    assert "Das nimmt 2 S" in verdict.feedback[0]


def test_a_question_of_a_chapter_has_no_points_to_give() -> None:
    question = {
        "prompt": "How much is it?",
        "says": "It is two.",
        "answer": "2",
        "mistakes": {"3": {"says": "One too many.", "score": 0.5}},
    }
    with pytest.raises(ValidationError, match="a question here has no points"):
        ReadingQuestion.model_validate(question)


def test_editors_offer_a_sentence_and_a_score() -> None:
    schema = EXERCISE.json_schema()
    sentence, mapping = schema["$defs"]["AskedQuantity"]["properties"]["mistakes"]["additionalProperties"]["anyOf"]
    assert sentence["type"] == "string"
    assert mapping == {"$ref": "#/$defs/ScoredMistake"}
    score = schema["$defs"]["ScoredMistake"]["properties"]["score"]
    assert (score["minimum"], score["exclusiveMaximum"]) == (0, 1)
    assert "share of the points" in score["description"]


@pytest.fixture
def scoring(client: TestClient, site: Site, tmp_path: Path) -> Iterator[Site]:
    """The site, where one mistake about the time of a ring is worth half of the points."""
    catalog, exercise = site.catalog, scored(tmp_path, RING)
    topics = tuple(
        replace(topic, exercises=tuple(exercise if e.id == RING else e for e in topic.exercises))
        for topic in catalog.topics
    )
    by_id = {**catalog.by_id, RING: exercise}
    changed = replace(site, course=replace(catalog, topics=topics, by_id=by_id))
    client.app.state.site = changed  # type: ignore[attr-defined]
    yield changed
    client.app.state.site = site  # type: ignore[attr-defined]


def test_the_page_and_the_api_give_the_share(client: TestClient, scoring: Site, bearer: dict[str, str]) -> None:
    page = client.post(f"/exercises/{RING}", data={"answer": "80 ms"}).text
    assert "This is worth 50 % of the points." in page
    assert "feedback partial" in page
    body = {"exercise": RING, "seed": 0, "answer": "80 ms"}
    told = client.post("/api/v1/check", json=body, headers=bearer).json()
    assert (told["verdict"], told["score"]) == ("incorrect", 0.5)


def test_the_gradebook_and_a_learning_platform_get_the_share(client: TestClient, scoring: Site) -> None:
    school = School(scoring)
    assignment = school.assign(due(1))
    grace = school.student(client)
    address = school.address(assignment, grace)
    seed = int(address.partition("seed=")[2])
    wrong = next(scoring.catalog.exercise(RING).mistakes(seed))[0]
    client.post(address, data={"answer": wrong, "action": "check"})
    with open_session(scoring.engine) as session:
        members = members_of(session, school.id)
        cells = cells_of(session, scoring.secret, assignment, members)
        shares = shares_of(session, scoring.secret, assignment.id, now())
    assert cells[grace.person, RING].points == 1.0  # of two
    assert shares[grace.person].share == 0.5
