"""What to do next: the exercise to continue with, and those that are due for review."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from app.core.translation import plural, translate
from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.course.learning.memory import Memory


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An exercise to do, and the reason."""

    exercise: Exercise
    reason: str


def due_exercises(catalog: Catalog, memories: Mapping[str, Memory], today: date) -> tuple[Suggestion, ...]:
    """The exercises due for review, the least remembered first."""
    waiting = [
        (memory.chance, exercise)
        for exercise in catalog.exercises
        if (memory := memories.get(exercise.id)) and memory.due <= today
    ]
    waiting.sort(key=lambda pair: (pair[0], pair[1].id))
    return tuple(Suggestion(exercise, _why(memories[exercise.id], today)) for _, exercise in waiting)


def onward(
    catalog: Catalog,
    solved: Collection[str],
    chapter: str = "",
    current: str = "",
    known: Collection[str] = (),
    route: str = "",
) -> Suggestion | None:
    """The exercise to continue with after *current*, which is no longer open.

    It is the first open one on the path of *chapter*, then of the chapters after it, then of those
    before it. When every path is finished, it is any exercise that is left, in the same order. The
    chapters that are *known* come last. On a *route*, its chapters come first, after *chapter*.
    """
    there = [topic.id for topic in catalog.topics if not route or route in topic.routes]
    chapters = sorted(_from(catalog, chapter), key=lambda topic: (topic.id in known, topic.id not in (*there, chapter)))
    paths = [one for topic in chapters if topic.id not in known for one in topic.path]
    others = [one for topic in chapters for one in topic.exercises]
    extras = [one for topic in chapters if topic.id not in known for one in topic.extras]
    left = (one for one in (*paths, *extras, *others) if one.id not in solved and one.id != current)
    chosen = next(left, None)
    if chosen is None:
        return None
    topic = catalog.topic_of(chosen)
    if chosen in topic.path:
        why = translate(
            "Number {place} of {count} on the path in {title}.",
            place=topic.path.index(chosen) + 1,
            count=len(topic.path),
            title=topic.title,
        )
    else:
        why = translate("Still open in {title}.", title=topic.title)
    return Suggestion(chosen, why)


def _from(catalog: Catalog, chapter: str) -> Iterator[Topic]:
    """Every chapter, from the one with the id *chapter* on and around."""
    here = next((n for n, topic in enumerate(catalog.topics) if topic.id == chapter), 0)
    yield from catalog.topics[here:]
    yield from catalog.topics[:here]


def _why(memory: Memory, today: date) -> str:
    days, left = (today - memory.last).days, 100 * memory.chance
    if not days:
        return translate("last done today; about {left:.0f} % is left", left=left)
    return plural(
        "last done yesterday; about {left:.0f} % is left",
        "last done {number} days ago; about {left:.0f} % is left",
        days,
        left=left,
    )
