"""Answers in a file of progress, and what they come to."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session

from app.server.db.exercise_histories import standings_by

Attempts = Sequence[Mapping[str, Any]]


def by_content(attempts: Attempts) -> set[tuple[object, ...]]:
    """What was answered and how it was judged, whoever did it and whatever its number."""
    names = ("exercise", "seed", "answer", "correct", "score", "hints", "revealed", "at")
    return {tuple(one[name] for name in names) for one in attempts}


def solved_in(attempts: Attempts) -> Mapping[str, bool]:
    """The exercises that *attempts* solve, and whether each was solved without a hint."""
    solved: dict[str, bool] = {}
    for one in attempts:
        if one["correct"] and not one["revealed"]:
            solved[one["exercise"]] = solved.get(one["exercise"], False) or not one["hints"]
    return solved


def solved_by(session: Session, learner: str) -> Mapping[str, bool]:
    """The same, as the site sees *learner*."""
    known = standings_by(session.connection(), {learner: frozenset()})[learner]
    return {name: one.unaided for name, one in known.items() if one.solved}
