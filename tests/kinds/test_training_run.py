"""A design whose judge is a search over all layouts."""

import asyncio
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.core.formulas.layout import total_step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.searching import Space, find_layouts, fixed_fields
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.kinds.design import Design
from app.course.sandbox.runner import Runner
from tests.each import each

META, OLDER = "capstone/a-layout-for-the-run", "capstone/a-layout-for-gpt-3"
RUN = ["zero_stage=2", "sequence_parallel=yes", "context=1", "context_by=all-gather"]


def design(catalog: Catalog, name: str) -> Design:
    found = catalog.exercise(name)
    assert isinstance(found, Design)
    return found


def seed_with(exercise: Design, gpus: int) -> int:
    return next(s for s in range(99) if exercise.draw(s).names["gpus"].value == gpus)


def test_a_layout_is_right_within_five_percent_of_the_fastest_of_all(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    exercise = design(catalog, META)
    space = Space(
        model=ModelShape.named("405B"),
        cluster=Cluster.named("Llama 3 405B, 16384 H100"),
        batch=1024,
        sequence=8192,
        fixed=fixed_fields([*RUN, "micro_batch=1", "recompute=selective"]),
    )
    fastest = find_layouts(space, top=1).top[0].step_time
    right = 0
    for t, p, v in ((16, 8, 8), (16, 16, 8), (16, 8, 4), (32, 8, 8), (8, 16, 1)):
        answer = {"tensor": str(t), "pipeline": str(p), "virtual": str(v)}
        verdict = loop.run_until_complete(exercise.grade(seed_with(exercise, 16384), answer, runner))
        data = 16384 // (t * p)
        layout = Layout(
            tensor=t, pipeline=p, virtual=v, data=data, microbatches=1024 // data, zero_stage=2, context_by="all-gather"
        )
        time = total_step_time(space.model, space.cluster, layout)
        assert verdict.correct == (time <= 1.05 * fastest), answer
        assert verdict.score == (1 if verdict.correct else 0.5)
        right += verdict.correct
    assert 0 < right < 5


@each(
    ("answer", "says"),
    [
        (("8", "32", "8"), "256 chunks are more than"),
        (("4", "32", "4"), "8 micro-batches are not a multiple of 32 stages"),
        (("4", "4", "1"), "The fullest GPU needs"),
    ],
)
def test_a_layout_that_does_not_work_is_told_why(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop, answer: tuple[str, str, str], says: str
) -> None:
    exercise = design(catalog, META)
    given = dict(zip(("tensor", "pipeline", "virtual"), answer, strict=True))
    seed = seed_with(exercise, 16384)
    verdict = loop.run_until_complete(exercise.grade(seed, given, runner))
    assert not verdict.correct
    assert says in verdict.feedback[0]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("model: GPT-3 175B", "model: GPT-9", "no model shape is called 'GPT-9'; did you mean"),
        ("gpus={gpus}", "gpus={cards}", "'cards' is not drawn"),
        ("context=1]", "contxt=1]", "did you mean 'context'"),
        ("sequence: 2048", "sequence: 2000000", "no layout of this run fits"),
        ("among: [1, 3, 6, 12]", "among: [1, 49]", "no choice is as good as the fastest layout"),
    ],
)
def test_a_run_that_cannot_judge_is_found(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (ROOT / "exercises" / f"{OLDER}.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "changed.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    exercise = read_exercise(path, "capstone")[0]
    assert isinstance(exercise, Design)
    found = list(exercise.prove(exercise.draw(0)))
    assert any(says in finding.says for finding in found), found
