"""Files with an empty list, an entry twice, or a number that cannot be: refused, or still drawn."""

import asyncio
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.authoring.lint import lint_file, lint_topic
from app.config import ROOT, Settings
from app.content.files import read_exercise
from app.errors import ContentError
from app.expressions import ExpressionError
from app.kinds import KINDS, Base
from app.kinds.code.base import CodeExercise
from app.sandbox.runner import Runner

Place = tuple[str | int, ...]
_LONGEST = 4.0  # seconds of processor time: a second, on a machine that counts slowly
_NUMBER = re.compile(r"\d+(\.\d+)?")
_NUMBERS = (0, -1, 10**308, 1e308, float("inf"), float("nan"))


@contextmanager
def ended_soon() -> Iterator[None]:
    """Fails what takes long, even if it never ends."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"took more than {_LONGEST} s of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def places(value: Any, where: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value inside *value*, and its place."""
    if where:
        yield where, value
    inside = dict(enumerate(value)) if isinstance(value, list) else value
    for key, part in inside.items() if isinstance(inside, dict) else ():
        yield from places(part, (*where, key))


def replaced(values: Any, where: Place, value: Any) -> Any:
    """A copy of *values* with another *value* at a place."""
    copied = inner = deepcopy(values)
    for part in where[:-1]:
        inner = inner[part]
    inner[where[-1]] = value
    return copied


def slips(value: Any) -> Iterator[Any]:
    """What an author's slip makes of one *value*."""
    yield None
    if isinstance(value, list | dict):
        yield type(value)()
    if isinstance(value, list):
        yield from (
            [*value[:place], value[place - 1], *value[place:]] for place in range(len(value))
        )
    elif isinstance(value, str):
        yield ""
        for found in list(_NUMBER.finditer(value))[:2]:
            around = value[: found.start()], value[found.end() :]
            yield from (number.join(around) for number in ("0", "-1", "1e308"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _NUMBERS


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
