"""Suggest the next exercise: a review that is due, then the course in order."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date

from app.content.catalog import Catalog
from app.kinds import Exercise
from app.learning.memory import Memory


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An exercise to do, and the reason; a review has new numbers."""

    exercise: Exercise
    reason: str
    review: bool


def due(catalog: Catalog, memories: Mapping[str, Memory], today: date) -> tuple[Suggestion, ...]:
    """The exercises due for review, the least remembered first."""
    waiting = [
        (memory.chance, exercise)
        for exercise in catalog.exercises
        if (memory := memories.get(exercise.id)) and memory.due <= today
    ]
    waiting.sort(key=lambda pair: (pair[0], pair[1].id))
    return tuple(
        Suggestion(exercise, _why(memories[exercise.id], today), review=True)
        for _, exercise in waiting
    )


def suggestion(
    catalog: Catalog,
    solved: Collection[str],
    memories: Mapping[str, Memory],
    today: date,
    current: str = "",
) -> Suggestion | None:
    """The exercise to do after *current*: a review that is due, the next core one, or any left."""
    reviews = [one for one in due(catalog, memories, today) if one.exercise.id != current]
    if reviews:
        return reviews[0]
    ids = [exercise.id for exercise in catalog.exercises]
    here = ids.index(current) + 1 if current in ids else 0
    around = [*catalog.exercises[here:], *catalog.exercises[:here]]
    left = [e for e in around if e.id not in solved and e.id != current]
    if not left:
        return None
    chosen = min(left, key=lambda exercise: not exercise.core)
    chapter = catalog.topic_of(chosen).title
    where = f"the next on the path, in {chapter}" if chosen.core else f"still open in {chapter}"
    return Suggestion(chosen, f"It is {where}.", review=False)


def _why(memory: Memory, today: date) -> str:
    days = (today - memory.last).days
    ago = "today" if not days else "yesterday" if days == 1 else f"{days} days ago"
    return f"Due for review: you last did it {ago}, and by now about {memory.chance:.0%} is left."
