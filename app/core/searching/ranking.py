"""What a search keeps of all layouts: the fastest that fit, the front, and why others were rejected."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple

from app.core.translation import noted

MEMORY = noted("memory")  # the last rule: what a layout needs is more than a GPU has


class LayoutKey(NamedTuple):
    """A layout of a space, as small as possible."""

    tensor: int
    pipeline: int
    context: int
    data: int
    expert: int
    virtual: int
    microbatches: int
    micro_batch: int
    recompute: str
    sequence_parallel: bool
    zero_stage: int


class RankedLayout(NamedTuple):
    """Seconds of a step, bytes on the fullest GPU, and the layout."""

    time: float
    memory: float
    key: LayoutKey


class Ranking:
    """The *most* fastest layouts that fit in *room* bytes, and the front; memory stays bounded."""

    def __init__(self, most: int, room: float) -> None:
        self.room, self.most = room, most
        self.broken: Counter[str] = Counter()  # layouts by the first rule that refuses them
        self.fit, self.too_large = 0, 0
        self.slowest = math.inf  # of the fastest: a layout that takes longer is not one of them
        self.least: RankedLayout | None = None  # that needs the least memory, whether it fits or not
        self.front: list[RankedLayout] = []  # by memory, from the least; each is faster than before
        self.needed: list[float] = []  # the memory of each of them
        self._top: list[RankedLayout] = []

    @property
    def top(self) -> tuple[RankedLayout, ...]:
        """The fastest layouts; of two that take as long, the one with less memory first."""
        return tuple(sorted(self._top)[: self.most])

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many layouts each rule refused, the most first."""
        counts = self.broken + Counter({MEMORY: self.too_large})
        return dict(counts.most_common())

    def add(self, some: Iterable[RankedLayout]) -> None:
        """*some* that fit may be among the fastest."""
        self._top.extend(some)
        if len(self._top) >= 2 * self.most:
            self._top = sorted(self._top)[: self.most]
            self.slowest = self._top[-1].time

    def extend_front(self, some: Iterable[RankedLayout]) -> None:
        """*some* that fit may be on the front."""
        kept: list[RankedLayout] = []
        for one in sorted((*self.front, *some), key=itemgetter(1, 0, 2)):
            if not kept or one.time < kept[-1].time:
                kept.append(one)
        self.front, self.needed = kept, [one.memory for one in kept]

    def offer_least(self, one: RankedLayout) -> None:
        """*one* may need the least memory."""
        if self.least is None or (one.memory, one.time) < (self.least.memory, self.least.time):
            self.least = one
