import asyncio
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from app.authoring.texts import distinct
from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.kinds import Verdict
from app.course.kinds.base import Answer
from app.course.kinds.design import Design
from app.course.sandbox.runner import Runner

STAGE = "memory/the-mildest-stage"
DESIGNS = (STAGE, "pipelines/a-bubble-that-fits", "meshes/lay-out-a-model", "checkpoints/writers-and-interval")
Grade = Callable[..., Verdict]


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(answer: Answer, name: str = STAGE, seed: int = 0) -> Verdict:
        return loop.run_until_complete(catalog.exercise(name).grade(seed, answer, runner))

    return graded


def test_every_choice_is_judged_as_arithmetic_says(grade: Grade) -> None:
    # 30 billion parameters, 5 GB of activations, 75 GB to use, at most 64 GPUs; by hand.
    kept = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}
    for stage, gpus in product(kept, (4, 8, 16, 32, 64, 128)):
        whole, cut = kept[stage]
        fits = 30 * (whole + cut / gpus) + 5 <= 75 and gpus <= 64
        verdict = grade({"stage": str(stage), "gpus": str(gpus)})
        assert verdict.correct == (fits and stage < 3), (stage, gpus)
        assert (verdict.score >= 0.5) == fits
        assert "State on each GPU" in verdict.feedback[-1]


def test_a_design_that_works_is_told_that_there_is_a_better_one(grade: Grade) -> None:
    verdict = grade({"stage": "3", "gpus": "64"})
    assert verdict.score == 0.5
    assert "A lower stage fits as well" in verdict.feedback[0]


def test_every_condition_that_fails_is_told(grade: Grade) -> None:
    verdict = grade({"stage": "0", "gpus": "128"})
    assert verdict.feedback[0] == "128 GPUs is more than the 64 available."
    assert "485 GB on each GPU" in verdict.feedback[1]
    assert verdict.score == 0


@pytest.mark.parametrize("name", DESIGNS)
def test_the_best_is_the_best_of_all(grade: Grade, catalog: Catalog, name: str) -> None:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Design)
    for seed in range(6):
        right = exercise.right_answer(seed)
        ways = product(*(knob.among for knob in exercise.question(seed).knobs))
        names = [knob.name for knob in exercise.question(seed).knobs]
        verdicts = [grade(dict(zip(names, way, strict=True)), name, seed) for way in ways]
        assert any(verdict.correct for verdict in verdicts)
        assert any(verdict.score == 0.5 for verdict in verdicts)
        assert grade(right, name, seed).correct


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("3", "an object"),
        ({}, "still to be chosen: stage, gpus"),
        ({"stage": "3"}, "gpus"),
        ({"stage": "3", "gpu": "8"}, "did you mean 'gpus'"),
        ({"stage": "4", "gpus": "8"}, "one of 0, 1, 2, 3"),
        ({"stage": "3", "gpus": "9**9**9"}, "one of 4, 8"),
    ],
)
def test_what_is_no_design_is_unreadable(grade: Grade, answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        grade(answer)


def test_a_choice_may_be_typed_as_a_person_writes_it(grade: Grade) -> None:
    name = "checkpoints/writers-and-interval"
    assert grade({"writers": "16.0", "interval": "60MIN"}, name).score >= 0.5


@pytest.mark.parametrize(
    ("writers", "interval"),
    [("16", "60"), ("16", "1 h"), ("2^4", "3600 s"), ("16.0", "2 * 30"), ("4 * 4", "60 min"), ("16", "1 hour")],
)
def test_a_choice_may_be_typed_as_a_number_or_in_another_unit(grade: Grade, writers: str, interval: str) -> None:
    name = "checkpoints/writers-and-interval"
    chosen = grade({"writers": "16", "interval": "60 min"}, name)
    assert grade({"writers": writers, "interval": interval}, name) == chosen


@pytest.mark.parametrize("interval", ["60 s", "61", "60 GB", "9^9^9", "(" * 300, "60 60", "min"])
def test_a_choice_that_is_not_among_them_is_unreadable(grade: Grade, interval: str) -> None:
    with pytest.raises(AnswerError, match="interval must be one of 2 min, 5 min"):
        grade({"writers": "16", "interval": interval}, "checkpoints/writers-and-interval")


UNDECIDED = """\
kind: design
title: One over
level: 1
prompt: Choose.
choose:
  a: {says: A, among: [1, 2, 3]}
derive: {x: 1 / (a - 1)}
require: {x < 5: It is too large.}
hints: [One., Two.]
solution: Two.
sources: [https://example.org/]
"""


def test_a_condition_that_cannot_be_decided_does_not_hold(
    tmp_path: Path, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(UNDECIDED, encoding="utf-8")
    exercise = read_exercise(path, "topic")[0]
    verdicts = [loop.run_until_complete(exercise.grade(0, {"a": a}, runner)) for a in "123"]
    assert [verdict.correct for verdict in verdicts] == [False, True, True]
    assert verdicts[0].feedback == ("It is too large.",)


def test_every_choice_gets_whole_sentences(catalog: Catalog, grade: Grade) -> None:
    """Micro-batches of 8 sequences on replicas that have 12 once showed a template."""
    for exercise in catalog.exercises:
        if isinstance(exercise, Design):
            for seed in distinct(exercise, range(12)):
                assert list(exercise.prove(exercise.draw(seed))) == [], (exercise.id, seed)
    design = catalog.exercise("capstone/a-layout-for-gpt-3")
    assert isinstance(design, Design)
    for ways in product(*(knob.among for knob in design.choose.values())):
        answer = dict(zip(design.choose, map(str, ways), strict=True))
        assert not any(mark in says for says in grade(answer, design.id).feedback for mark in "{}|")


def test_a_choice_whose_sentence_cannot_be_filled_is_found(catalog: Catalog) -> None:
    design = catalog.exercise("capstone/a-layout-for-gpt-3")
    assert isinstance(design, Design)
    kept = {text: says for text, says in design.require.items() if "floor(micro" not in text}
    assert len(kept) == len(design.require) - 1
    forgot = design.model_copy(update={"require": kept})
    forgot._works.clear()
    (finding,) = forgot.prove(forgot.draw(0))
    assert finding.where == ("require", "memory <= room")
    assert finding.says.startswith("with tensor 2, pipeline 4, virtual 1, micro_batch 8: 'memory'")


def test_the_layout_of_the_published_run_is_not_the_answer_for_other_gpus(catalog: Catalog, grade: Grade) -> None:
    published = {"tensor": "8", "pipeline": "16", "virtual": "8"}
    assert not grade(published, "capstone/a-layout-for-the-run").correct
