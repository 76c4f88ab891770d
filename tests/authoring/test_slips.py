"""Files with an empty list, an entry twice, or a number that cannot be: refused, or still drawn."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.authoring.lint import lint_file, lint_topic
from app.core.errors import ContentError
from app.core.expressions import ExpressionError
from app.core.folders import ROOT
from app.course.content.translations import read_exercise
from app.course.kinds import KINDS, Base
from app.course.kinds.code.calls import CodeExercise
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.slips import ended_soon, places, replaced, slips


def slipped(path: Path) -> Iterator[tuple[str, str]]:
    """The file at *path* with one slip: where and what it is, and its text."""
    values = yaml.safe_load(path.read_text("utf-8"))
    for where, value in places(values):
        for slip in slips(value):
            text = yaml.safe_dump(replaced(values, where, slip), sort_keys=False)
            yield f"{where}: {slip!r}"[:200], text


def draw_everything(file: Path, runner: Runner) -> None:
    """What a server and `wallclock lint` make of a file; programs are not run here."""
    try:
        exercise, _ = read_exercise(file, file.parent.name)
    except ContentError:
        return
    for seed in range(3):
        try:
            exercise.question(seed), exercise.variant(seed), exercise.right_answer(seed)
            exercise.reveal(seed), list(exercise.mistakes(seed))
        except ExpressionError:
            continue
    if not isinstance(exercise, CodeExercise) and not exercise.runs_code:
        asyncio.run(lint_file(file, runner))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_slip_in_an_exercise_is_a_sentence(kind: type[Base], tmp_path: Path) -> None:
    sample = ROOT / "exercises" / f"{kind.sample}.yaml"
    file = tmp_path / sample.parent.name / sample.name
    file.parent.mkdir()
    (file.parent / "topic.yaml").write_bytes((sample.parent / "topic.yaml").read_bytes())
    for says, text in slipped(sample):
        file.write_text(text, "utf-8")
        try:
            with ended_soon():
                draw_everything(file, Runner(Settings()))
        except Exception as error:
            error.add_note(says)
            raise


def test_a_slip_in_a_chapter_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "your-cluster" / "topic.yaml"
    file.parent.mkdir()
    for says, text in slipped(ROOT / "exercises" / "your-cluster" / "topic.yaml"):
        file.write_text(text, "utf-8")
        try:
            with ended_soon():
                lint_topic(file)
        except Exception as error:
            error.add_note(says)
            raise
