"""The key of a wrong idea: stored with an answer, and found again in the exercise."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient
from sqlmodel import col, select

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.kinds import KINDS, Exercise
from app.course.kinds.base import common_diagnosis, mistake_key
from app.course.sandbox.runner import Runner
from app.server.db.session import open_session
from app.server.db.tables import MISTAKE_LIMIT, AttemptRow
from app.site import Site

ROUNDED = "Right in MB, but a number without a unit is in GB here."


def _mistakes_found(exercise: Exercise, runner: Runner, loop: asyncio.AbstractEventLoop) -> int:
    """The number of listed mistakes, each of which is stored as the one that it is."""
    found = list(exercise.mistakes(0))
    for answer, says in found:
        verdict = loop.run_until_complete(exercise.grade(0, answer, runner))
        assert verdict.mistake, (exercise.id, answer, verdict.feedback)
        assert len(verdict.mistake) <= MISTAKE_LIMIT
        assert exercise.diagnosis(verdict.mistake, 0) in "\n".join(verdict.feedback)
        assert says in "\n".join(verdict.feedback)
    return len(found)


def test_every_listed_mistake_of_the_course_has_a_key_that_leads_back_to_its_sentence(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    quick = [exercise for exercise in catalog.exercises if not exercise.runs_code]
    assert sum(_mistakes_found(exercise, runner, loop) for exercise in quick) > 900
    program = catalog.exercise(KINDS["function"].sample)
    assert _mistakes_found(program, runner, loop)


def test_a_right_answer_and_one_that_is_only_too_large_are_no_known_mistake(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    for exercise in catalog.exercises:
        if not exercise.runs_code:
            right = exercise.right_answer(0)
            assert not loop.run_until_complete(exercise.grade(0, right, runner)).mistake
    ring = catalog.exercise("collectives/bytes-sent-by-a-ring")
    verdict = loop.run_until_complete(ring.grade(0, "123456 TB", runner))
    assert (verdict.correct, verdict.mistake) == (False, "")


def test_a_key_survives_a_reorder_of_the_file(exercise_file: Callable[[str], Path]) -> None:
    text = (ROOT / "templates/starters/choice.yaml").read_text()
    blocks = re.findall(r"(?m)^  \w+: \{text: .*\n", text)
    keys = []
    for order in (blocks, blocks[::-1]):
        file = exercise_file(text.replace("".join(blocks), "".join(order)))
        exercise, _ = read_exercise(file, "chapter")
        sentences = [says for _, says in exercise.mistakes(0)]
        keys.append([mistake_key(says) for says in sentences])
        assert [exercise.diagnosis(key, 0) for key in keys[-1]] == sentences
    assert keys[0] == keys[1][::-1]
    assert len(set(keys[0])) > 1


def test_a_common_mistake_has_a_key_too(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
    assert common_diagnosis("MB-for-GB") == ROUNDED
    ring = catalog.exercise("collectives/bytes-sent-by-a-ring")
    right = str(ring.right_answer(0)).split()
    thousand = f"{float(right[0]) * 1e3:.12g} {' '.join(right[1:])}"
    verdict = loop.run_until_complete(ring.grade(0, thousand, runner))
    assert "1,000 times" in ring.diagnosis(verdict.mistake, 0)
    assert ring.diagnosis("000000000000", 0) == ""


def test_a_check_stores_the_mistake(client: TestClient, site: Site, bearer: dict[str, str]) -> None:
    exercise = site.catalog.exercise(KINDS["choice"].sample)
    wrong, says = next(exercise.mistakes(0))
    given = [{"exercise": exercise.id, "answer": one} for one in (wrong, exercise.right_answer(0))]
    for one in given:
        assert client.post("/api/v1/check", json=one, headers=bearer).status_code == 200
    with open_session(site.engine) as session:
        last = select(AttemptRow.mistake).order_by(col(AttemptRow.id).desc()).limit(2)
        right, mistaken = session.exec(last).all()
    assert right is None
    assert exercise.diagnosis(mistaken or "", 0) == says
