"""Exercises of a few lines, for tests of what a kind does with each answer."""

import asyncio

from app.course.kinds import EXERCISE, Exercise
from app.course.kinds.base import Answer, Verdict
from app.course.kinds.drawn_values import Draw
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
