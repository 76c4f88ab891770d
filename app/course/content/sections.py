"""A course as its parts, each with the chapters that stand in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.course.content.catalog import Catalog, Topic
from app.course.content.parts import CoursePart


@dataclass(frozen=True, slots=True)
class CourseSection:
    """A part of a course and its chapters; chapters without a part have none."""

    part: CoursePart | None
    topics: tuple[Topic, ...]


def sections_of(catalog: Catalog, topics: Sequence[Topic] | None = None) -> Iterator[CourseSection]:
    """*topics* of *catalog*, by default all, in their parts: those first whose chapters come first.

    A chapter of a course pack without a part that stands inside of one belongs to it.
    """
    found: dict[str, list[Topic]] = {}
    names = _names(catalog.topics)
    for topic in catalog.topics if topics is None else topics:
        found.setdefault(names[topic.id], []).append(topic)
    parts = catalog.parts.english
    yield from (CourseSection(parts.get(name), tuple(those)) for name, those in found.items())


def _names(topics: Sequence[Topic]) -> dict[str, str]:
    """The part in which each of *topics* stands, by the ids; empty: in none."""
    found: dict[str, str] = {}
    for place, topic in enumerate(topics):
        before = found[topics[place - 1].id] if place else ""
        later = next((one.part for one in topics[place:] if one.part), "")
        found[topic.id] = topic.part or (before if before == later else "")
    return found
