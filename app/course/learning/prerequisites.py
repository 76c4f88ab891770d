"""What comes before what: chapters with their needs, in columns from left to right."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.course.content.catalog import Topic

_COLUMNS = 4  # that a map has, unless its needs take more
_SWEEPS = 4


@dataclass(frozen=True)
class Prerequisites:
    """The chapters of a map; an arrow leads only from one that is listed earlier."""

    topics: tuple[Topic, ...]

    @cached_property
    def direct(self) -> Mapping[str, tuple[str, ...]]:
        """The chapters on the map that each one needs, by id."""
        found: dict[str, tuple[str, ...]] = {}
        for topic in self.topics:
            found[topic.id] = tuple(name for name in topic.needs if name in found)
        return found

    @cached_property
    def before(self) -> Mapping[str, frozenset[str]]:
        """All chapters that each one builds on, by id."""
        found: dict[str, frozenset[str]] = {}
        for name, needs in self.direct.items():
            found[name] = frozenset(needs).union(*(found[need] for need in needs))
        return found

    @cached_property
    def after(self) -> Mapping[str, frozenset[str]]:
        """All chapters that build on each one, by id."""
        return {
            name: frozenset(other for other, before in self.before.items() if name in before) for name in self.before
        }

    @cached_property
    def columns(self) -> tuple[tuple[Topic, ...], ...]:
        """The chapters in columns: what each one needs is in a column before its own.

        The first column has those that need nothing and that others build on; the others are
        about as high as each other.
        """
        roots = [t for t in self.topics if not self.direct[t.id] and self.after[t.id]]
        rest = len(self.topics) - len(roots)
        most = max(1, -(-rest // (_COLUMNS - 1)))
        columns, placed = [roots] if roots else [], {topic.id for topic in roots}
        left = [topic for topic in self.topics if topic.id not in placed]
        while left:
            ready = [topic for topic in left if placed.issuperset(self.direct[topic.id])]
            ready.sort(key=lambda topic: -len(self.after[topic.id]))  # stable: else in their order
            column = sorted(ready[:most], key=self.topics.index)
            placed.update(topic.id for topic in column)
            left = [topic for topic in left if topic.id not in placed]
            columns.append(column)
        return tuple(map(tuple, self._uncrossed(columns)))

    def _uncrossed(self, columns: Sequence[Sequence[Topic]]) -> Sequence[Sequence[Topic]]:
        """*columns* in which chapters are near those they need, and those that need them."""
        for sweep in range(_SWEEPS):
            heights = _heights(columns)
            near = self.direct if sweep % 2 == 0 else self._followers
            columns = [
                sorted(column, key=lambda topic: _mean(near[topic.id], heights, heights[topic.id]))
                for column in columns
            ]
        return columns

    @cached_property
    def _followers(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(other for other, needs in self.direct.items() if name in needs) for name in self.direct}


def _heights(columns: Sequence[Sequence[Topic]]) -> Mapping[str, float]:
    """The height of each chapter in its column, from 0 to 1."""
    return {topic.id: (place + 0.5) / len(column) for column in columns for place, topic in enumerate(column)}


def _mean(names: Collection[str], heights: Mapping[str, float], otherwise: float) -> float:
    return sum(heights[name] for name in names) / len(names) if names else otherwise
