"""How much of a chapter, or of a skill, a learner has and keeps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.kinds import Exercise
from app.learning.memory import Memory


@dataclass(frozen=True, slots=True)
class Mastery:
    """Exercises solved of all there are, and the share that would be solved now."""

    solved: int
    total: int
    share: float


def mastery_of(exercises: Iterable[Exercise], memories: Mapping[str, Memory]) -> Mastery:
    """The mean chance of solving one of *exercises* now; what was never solved counts as none."""
    chances = [memories[e.id].chance if e.id in memories else 0.0 for e in exercises]
    solved = sum(chance > 0 for chance in chances)
    return Mastery(solved, len(chances), sum(chances) / len(chances) if chances else 0.0)


def mastery_by_skill(
    exercises: Iterable[Exercise], memories: Mapping[str, Memory]
) -> Mapping[str, Mastery]:
    """The mastery of each skill of which something was solved, the least kept first."""
    by_skill: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        for skill in exercise.skills:
            by_skill.setdefault(skill, []).append(exercise)
    found = {skill: mastery_of(those, memories) for skill, those in by_skill.items()}
    begun = {skill: mastery for skill, mastery in found.items() if mastery.solved}
    return dict(sorted(begun.items(), key=lambda pair: (pair[1].share, pair[0])))
