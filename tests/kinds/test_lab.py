import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring.proofs import prove_lab
from app.core.errors import AnswerError, ContentError
from app.course.content.catalog import Catalog
from app.course.content.translations import read_exercise
from app.course.kinds import Verdict
from app.course.kinds.base import Answer
from app.course.kinds.choice import LabExercise
from app.course.sandbox.runner import Runner

RING = "collectives/count-the-ring"
RIGHT = {"bytes": "1.5 MiB", "messages": "6", "cause": "counted"}
Grade = Callable[..., Verdict]
FILE = """\
kind: lab
title: A ring
level: 1
prompt: How many bytes? {size}
cases: [{size: 1 MiB}]
lab: LAB
run: {ranks: 4, size: "{size}"}
predict:
  bytes: {prompt: Bytes, answer: "ANSWER", unit: MiB, measured: MEASURED, mistakes: {size: One phase more.}}
cause:
  prompt: Why?
  options: {a: {text: One, says: It is.}, b: {text: Two, says: It is not.}}
  correct: CORRECT
hints: [Think., Think more.]
solution: It is {bytes}.
sources: [https://arxiv.org/abs/1802.05799]
"""


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(answer: Answer, seed: int = 0) -> Verdict:
        return loop.run_until_complete(catalog.exercise(RING).grade(seed, answer, runner))

    return graded


def test_predictions_and_the_cause_count_alike(grade: Grade) -> None:
    assert grade(RIGHT).correct
    wrong = grade({**RIGHT, "bytes": "1 MiB"})
    assert wrong.score == pytest.approx(2 / 3)
    assert "the whole array once" in wrong.feedback[0]
    assert grade({**RIGHT, "cause": "fast"}).parts["cause"].correct is False
    open_still = grade({"bytes": "1.5 MiB", "messages": "6"})
    assert open_still.score == pytest.approx(2 / 3)
    assert open_still.feedback[-1] == "The cause is not chosen yet."


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("1.5 MiB", "an object with bytes, messages, cause"),
        ({"bytes": "1.5 MiB"}, "messages: the prediction is empty"),
        ({**RIGHT, "bytes": "many"}, "bytes: cannot read 'many'"),
        ({**RIGHT, "byte": "1"}, "no prediction is called 'byte'; did you mean 'bytes'"),
        ({**RIGHT, "cause": "count"}, "no cause is called 'count'; did you mean 'counted'"),
    ],
)
def test_what_is_no_answer_is_told(grade: Grade, answer: Answer, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        grade(answer)


def made(tmp_path: Path, **changes: str) -> LabExercise:
    values = {
        "LAB": "ring-bytes",
        "ANSWER": "collectives.ring_all_reduce_bytes(size, 4)",
        "MEASURED": "bytes",
        "CORRECT": "a",
        **changes,
    }
    text = FILE
    for name, value in values.items():
        text = text.replace(name, value)
    path = tmp_path / "ring.yaml"
    path.write_text(text)
    exercise, _ = read_exercise(path, "x")
    assert isinstance(exercise, LabExercise)
    return exercise


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"LAB": "ring-byte"}, "no lab is called 'ring-byte'; did you mean 'ring-bytes'"),
        ({"MEASURED": "byte"}, "ring-bytes does not measure 'byte'; did you mean 'bytes'"),
        ({"ANSWER": "size"}, "the lab says 1.5 MiB"),
        ({"{size: 1 MiB}": "{size: 2 MiB}"}, "no recorded run measures bytes at this place"),
        ({"ranks: 4": "ranks: 99"}, "ranks must be from 2 to 8, not 99"),
    ],
)
def test_an_exercise_that_no_lab_answers_is_found(tmp_path: Path, changes: dict[str, str], says: str) -> None:
    assert list(prove_lab(made(tmp_path))) == []
    (finding,) = prove_lab(made(tmp_path, **changes))
    assert says in finding.says


def test_a_cause_that_is_no_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="no option is called 'c'"):
        made(tmp_path, CORRECT="c")
