"""Exercises of a few lines, for tests of what a kind does with each answer."""

import asyncio
import importlib
import json
import sys
from collections.abc import Sequence
from unittest.mock import patch

from app.core.folders import ROOT
from app.course.kinds import EXERCISE, Exercise
from app.course.kinds.base import Answer, Verdict
from app.course.kinds.drawn_values import Draw
from app.course.sandbox.guest.codec import encode
from app.course.sandbox.process import Execution, Plain, execution_of
from app.course.sandbox.runner import Runner
from app.server.config import Settings

_RUNNER = Runner(Settings())  # not started: nothing runs in the sandbox


def small(kind: str, **fields: object) -> Exercise:
    """An exercise of a *kind*, of which only the *fields* matter."""
    plain = {
        "id": "chapter/small",
        "digest": "d",
        "title": "Small",
        "level": 1,
        "prompt": "Which?",
        "hints": ["Nearly.", "Think."],
        "solution": "So.",
        "sources": ["https://example.org/"],
    }
    return EXERCISE.validate_python({"kind": kind, **plain, **fields})


def graded(exercise: Exercise, answer: Answer, seed: int = 0) -> Verdict:
    return asyncio.run(exercise.grade(seed, answer, _RUNNER))


def found(exercise: Exercise) -> list[tuple[tuple[object, ...], str]]:
    """What the proof of an exercise finds with its first drawing: where, and what."""
    drawn: Draw = exercise.draw(0)
    return [(one.where, one.says) for one in exercise.prove(drawn)]


class Here(Runner):
    """Runs programs in this process, as the component does: those of a test, which end."""

    def __init__(self) -> None:
        super().__init__(Settings())

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        guest = str(ROOT / "app/course/sandbox/guest")
        with (
            patch.object(sys, "path", [guest, *sys.path]),
            patch.multiple(sys, stdout=sys.stdout, stderr=sys.stderr, stdin=sys.stdin),
        ):
            running = importlib.import_module("running")
            replies = [running.load({"source": source, "entry": entry})]
            if "raised" not in json.loads(json.loads(replies[0])[0]):
                replies += [running.call([encode(value) for value in call]) for call in calls]
            running.forget()
        return execution_of({"replies": replies, "seconds": 1.0}, len(calls))
