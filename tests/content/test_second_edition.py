"""The second edition's keys: each answer, right and wrong, was worked out outside this repository."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import yaml

from app.course.content.catalog import Catalog
from app.course.kinds.base import Answer
from app.course.sandbox.runner import Runner
from tests.each import each

FILES = sorted((Path(__file__).parent / "second").glob("*.yaml"))
KEYS: Mapping[str, Mapping[str, object]] = {
    label: key for path in FILES for label, key in yaml.safe_load(path.read_text(encoding="utf-8")).items()
}
UNLISTED = ("is too large", "is too small", "is correct as written")


def changed(right: object, wrong: object) -> Answer:
    """A wrong answer; of one in parts, only those that it names are wrong."""
    return {**right, **wrong} if isinstance(right, dict) and isinstance(wrong, dict) else wrong  # type: ignore[return-value]


@each("label", KEYS)
def test_right_answers_are_right_and_wrong_ones_are_told_why(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop, label: str
) -> None:
    exercise = next(one for one in catalog.by_id.values() if one.label == label)
    right, wrong = KEYS[label]["right"], KEYS[label].get("wrong", [])
    verdict = loop.run_until_complete(exercise.grade(0, changed(None, right), runner))
    assert verdict.correct, verdict.feedback
    assert isinstance(wrong, list)
    for answer in wrong:
        verdict = loop.run_until_complete(exercise.grade(0, changed(right, answer), runner))
        assert not verdict.correct, answer
        said = " ".join(verdict.feedback)
        assert not any(words in said for words in UNLISTED), (answer, said)
