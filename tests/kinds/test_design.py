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
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.design import Design
from app.course.sandbox.runner import Runner
from tests.each import each
from tests.kinds.small import found, graded, small

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


def small_design(**fields: object) -> Design:
    """Four counts and two sizes; of eight designs three work, of 2, 3 and 4 GB."""
    made = small(
        "design",
        **{
            "choose": {"a": {"says": "A", "among": [1, 2, 3, 4]}, "b": {"says": "B", "among": ["1 GB", "2 GB"]}},
            "derive": {"total": "a * b"},
            "require": {"total <= 4 GB": "{total} is too much.", "a >= 2": "Only {a}.", "a <= 3": "As many as {a}."},
            "least": "total",
            "shows": {"Total": "{total}"},
            **fields,
        },
    )
    assert isinstance(made, Design)
    return made


@each(
    ("a", "b", "within", "score", "says"),
    [
        ("2", "1 GB", 0.001, 1, "Right: it meets every condition."),
        ("3", "1 GB", 0.001, 0.5, "This works, but another choice is even better."),
        ("3", "1 GB", 0.49, 0.5, "This works, but another choice is even better."),
        ("3", "1 GB", 0.5, 1, "Right: it meets every condition."),
        ("2", "2 GB", 0.5, 0.5, "This works, but another choice is even better."),
        ("3", "2 GB", 0.5, 1 / 3, "6 GB is too much."),
        ("1", "2 GB", 0.5, 1 / 3, "Only 1."),
        ("4", "2 GB", 0.5, 1 / 6, "8 GB is too much. As many as 4."),
    ],
)
def test_a_design_loses_for_each_condition_and_half_if_another_one_is_better(
    a: str, b: str, within: float, score: float, says: str
) -> None:
    made = small_design(within=within)
    verdict = graded(made, {"a": a, "b": b})
    assert verdict.correct == (score == 1)
    assert verdict.score == pytest.approx(score)
    total = int(a) * int(b[0])
    assert verdict.feedback[-1] == f"- Total: {total} GB"
    assert " ".join(verdict.feedback[:-1]) == says
    assert bool(verdict.mistake) == (score < 1)


def test_the_mistake_behind_a_design_is_the_first_condition_that_fails() -> None:
    made = small_design()
    for answer, text in (
        ({"a": "4", "b": "2"}, "{total} is too much."),
        ({"a": "4", "b": "1"}, "As many as {a}."),
        ({"a": "2", "b": "2"}, made.better),
        ({"a": "2", "b": "1"}, ""),
    ):
        assert graded(made, answer).mistake == (mistake_key(text) if text else "")
    assert made.diagnosis(mistake_key("{total} is too much."), 0) == "6 GB is too much."
    assert made.diagnosis(mistake_key(made.better), 0) == "This works, but another choice is even better."
    assert made.diagnosis("other", 0) == ""


def test_the_best_design_is_revealed_and_one_that_fails_each_condition_alone_is_a_mistake() -> None:
    made = small_design()
    assert made.right_answer(0) == {"a": "2", "b": "1 GB"}
    assert made.reveal(0) == "A **2**, B **1 GB**\n\n- Total: 2 GB"
    assert list(made.mistakes(0)) == [
        ({"a": "1", "b": "1 GB"}, "Only 1."),
        ({"a": "3", "b": "2 GB"}, "6 GB is too much."),
        ({"a": "4", "b": "1 GB"}, "As many as 4."),
    ]
    assert small_design(least="0 - total").right_answer(0) == {"a": "2", "b": "2 GB"}
    assert small_design(least="").right_answer(0) == {"a": "2", "b": "1 GB"}
    assert graded(small_design(least=""), {"a": "3", "b": "1"}).correct


@each(
    ("text", "place"),
    [("1 GB", 0), ("1gb", 0), ("1", 0), ("1.0", 0), ("2,000 MB", 1), ("2e9 B", 1), ("3 GB", None), ("1 s", None)],
)
def test_a_choice_is_read_in_the_unit_that_all_share(text: str, place: int | None) -> None:
    assert small_design().choose["b"].place(text) == place


def test_without_a_shared_unit_a_bare_number_is_no_size() -> None:
    mixed = small_design(choose={"a": {"says": "A", "among": [1, 2]}, "b": {"says": "B", "among": ["1 GB", "2 TB"]}})
    assert [mixed.choose["b"].place(text) for text in ("1", "1GB", "2 tb")] == [None, 0, 1]


@each(
    ("fields", "says"),
    [
        ({}, []),
        ({"require": {"a >= 9": "More."}}, ["no choice meets every condition"]),
        (
            {"require": {"total <= 4 GB": "Much.", "a <= 9": "Many."}},
            ["decides nothing alone: no choice fails this condition alone"],
        ),
        ({"within": 0.99}, []),
        ({"least": "b - b + 1 GB"}, ["decides nothing: every choice that works is the best"]),
        ({"shows": {"X": "{x}"}}, ["with a 2, b 1 GB: "]),
    ],
)
def test_the_proof_of_a_design_finds_what_decides_nothing(fields: dict[str, object], says: list[str]) -> None:
    findings = [text for _, text in found(small_design(**fields))]
    assert len(findings) == len(says)
    assert all(text.startswith(start) for text, start in zip(findings, says, strict=True))


def test_lint_tries_a_thousand_ways_and_no_more() -> None:
    def of(*counts: int) -> list[str]:
        choose = {name: {"says": name, "among": list(range(n))} for name, n in zip("abc", counts, strict=True)}
        made = small_design(choose=choose, derive={}, require={"a > 0": "None."}, least="", shows={})
        return [text for _, text in found(made)]

    assert of(10, 10, 10) == []
    assert of(12, 12, 7) == ["1,008 ways to choose are more than 1,000"]
