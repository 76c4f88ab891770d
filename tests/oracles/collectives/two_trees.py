"""All-reduce on two binary trees at once, each of which carries half of the array in chunks.

Time is divided into slots of one chunk. An edge is used in every fourth slot: up or down, and
of one color or the other, such that no rank ever sends or receives twice in a slot. That such a
coloring exists is the point of the two-tree algorithm.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from app.core.translation import say
from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult, Contributors, added

Parents = dict[int, int]
Edge = tuple[int, int]
"""A tree, 0 or 1, and a rank: its link to its parent in that tree."""


def parents(ranks: Count) -> tuple[Parents, Parents]:
    """The parent of every rank in two trees; no rank has two children in both.

    In the first tree rank 0 is the root and a rank's lowest bit is its height, so odd ranks are
    leaves; the second is its mirror image, or, for an odd number of ranks, the first one shifted.
    """
    first: Parents = {}
    for rank in range(1, ranks):
        lowest = rank & -rank
        above = (rank ^ lowest) | (lowest << 1)
        first[rank] = above if above < ranks else rank ^ lowest
    if ranks % 2 == 0:
        return first, {ranks - 1 - rank: ranks - 1 - above for rank, above in first.items()}
    return first, {(rank + 1) % ranks: (above + 1) % ranks for rank, above in first.items()}


def colors(trees: tuple[Parents, Parents]) -> dict[Edge, int]:
    """Color 0 or 1 for each edge: a rank's links to its parents differ, and those to its children.

    Raises:
        ValueError: the trees have no such coloring.
    """
    apart = _apart(trees)
    colored: dict[Edge, int] = {}
    for start in apart:
        colored.setdefault(start, 0)
        spreading = [start]
        while spreading:
            edge = spreading.pop()
            for other in apart[edge] - colored.keys():
                colored[other] = 1 - colored[edge]
                spreading.append(other)
    if any(colored[edge] == colored[other] for edge in apart for other in apart[edge]):
        raise ValueError(say("two links of a rank have the same color"))
    return colored


def _apart(trees: tuple[Parents, Parents]) -> dict[Edge, set[Edge]]:
    """For each edge, the edges that must have the other color: they share a port with it."""
    ports: dict[tuple[str, int], set[Edge]] = defaultdict(set)
    for tree, above in enumerate(trees):
        for rank, parent in above.items():
            ports["to a parent", rank].add((tree, rank))
            ports["to a child", parent].add((tree, rank))
    apart: dict[Edge, set[Edge]] = defaultdict(set)
    for edges in ports.values():
        for edge in edges:
            apart[edge] |= edges - {edge}
    return apart


@dataclass(slots=True)
class Half:
    """What the ranks hold of the chunks that one tree carries, and since when."""

    parents: Parents
    ranks: int
    chunks: int
    held: list[list[Contributors]] = field(init=False)
    since: list[list[Seconds]] = field(init=False)
    forwarded: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.held = [[frozenset({rank})] * self.chunks for rank in range(self.ranks)]
        self.since = [[0.0] * self.chunks for _ in range(self.ranks)]

    def send_up(self, rank: int, now: Seconds, arrival: Seconds) -> bool:
        """Send the next partial sum of *rank* to its parent, if those of its children arrived."""
        chunk = self.forwarded["up", rank]
        if chunk == self.chunks or self.since[rank][chunk] > now:
            return False
        below = frozenset(child for child, above in self.parents.items() if above == rank)
        if any(self.forwarded["up", child] <= chunk for child in below):
            return False
        above = self.parents[rank]
        self.held[above][chunk] = added(self.held[above][chunk], self.held[rank][chunk])
        self.since[above][chunk] = max(self.since[above][chunk], arrival)
        self.forwarded["up", rank] += 1
        return True

    def send_down(self, rank: int, now: Seconds, arrival: Seconds) -> bool:
        """Send the next complete sum to *rank* from its parent, if the parent has it."""
        chunk, above = self.forwarded["down", rank], self.parents[rank]
        if chunk == self.chunks or len(self.held[above][chunk]) < self.ranks:
            return False
        if self.since[above][chunk] > now:
            return False
        self.held[rank][chunk] = self.held[above][chunk]
        self.since[rank][chunk] = arrival
        self.forwarded["down", rank] += 1
        return True

    def finished(self) -> bool:
        """Whether every rank holds the sum of all ranks."""
        return all(len(share) == self.ranks for chunks in self.held for share in chunks)


def double_binary_tree_all_reduce(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0, chunks: Count = 64
) -> CollectiveResult:
    """Send *chunks* chunks over each tree, slot by slot, until every rank holds every sum."""
    trees = parents(ranks)
    colored = colors(trees)
    halves = [Half(above, ranks, chunks) for above in trees]
    chunk = size / 2 / chunks
    sending = chunk / bandwidth
    links: Counter[Edge] = Counter()
    slot = 0
    while not all(half.finished() for half in halves):
        now = slot * sending
        up, color = divmod(slot % 4, 2)
        for (tree, rank), its in colored.items():
            half = halves[tree]
            send = half.send_up if up else half.send_down
            if its == color and send(rank, now, now + sending + latency):
                above = half.parents[rank]
                links[(rank, above) if up else (above, rank)] += 1
        slot += 1
    time = max(when for half in halves for chunks in half.since for when in chunks)
    return CollectiveResult(time, slot, {link: count * chunk for link, count in links.items()})
