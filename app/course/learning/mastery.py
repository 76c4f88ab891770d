"""A learner's mastery of a chapter or a skill: what was solved, and what is still remembered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.course.kinds import Exercise
from app.course.learning.memory import Memory


@dataclass(frozen=True, slots=True)
class Mastery:
    """The exercises solved, their total number, and the share that would be solved now."""

    solved: int
    total: int
    share: float


def mastery_of(exercises: Iterable[Exercise], memories: Mapping[str, Memory]) -> Mastery:
    """The mastery of *exercises*; one that was never solved has no chance of being solved now."""
    chances = [memories[e.id].chance if e.id in memories else 0.0 for e in exercises]
    solved = sum(chance > 0 for chance in chances)
    return Mastery(solved, len(chances), sum(chances) / len(chances) if chances else 0.0)


def mastery_by_skill(exercises: Iterable[Exercise], memories: Mapping[str, Memory]) -> Mapping[str, Mastery]:
    """The mastery of each skill with a solved exercise, the least remembered first."""
    by_skill: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        for skill in exercise.skills:
            by_skill.setdefault(skill, []).append(exercise)
    found = {skill: mastery_of(those, memories) for skill, those in by_skill.items()}
    begun = {skill: mastery for skill, mastery in found.items() if mastery.solved}
    return dict(sorted(begun.items(), key=lambda pair: (pair[1].share, pair[0])))
