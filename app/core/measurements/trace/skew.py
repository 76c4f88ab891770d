"""Several ranks side by side: in a collective, waiting for the slowest told apart from transfer.

A kernel of a collective begins when its rank arrives and ends when the data has moved, so the
rank that arrives last has the shortest one. What the others take longer is waiting.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.core.measurements.trace.communication import CollectiveCall
from app.core.units import Seconds

_UNEVEN = {"alltoall", "gather", "scatter", "other"}  # a rank may send more than another
_PAIR = 2


@dataclass
class Skew:
    """What the comparison of ranks found."""

    waits: list[list[Seconds]]  # by rank and call
    last: Counter[int] = field(default_factory=Counter)  # how often each rank arrived last
    matched: int = 0  # collectives
    unmatched: set[str] = field(default_factory=set)  # kinds whose calls differ between ranks


def skew_of(ranks: Sequence[Sequence[CollectiveCall]], world: int | None) -> Skew:
    """How long each call of each rank waited for others; 0 where it cannot be known."""
    skew = Skew([[0.0] * len(calls) for calls in ranks])
    for (_, kind), members in _by_group(ranks, world).items():
        if len(members) < _PAIR:
            continue
        if not _alike(kind, ranks, members):
            skew.unmatched.add(kind)
            continue
        _compare(skew, ranks, members)
    return skew


def _by_group(
    ranks: Sequence[Sequence[CollectiveCall]], world: int | None
) -> Mapping[tuple[str, str], Mapping[int, list[int]]]:
    """The calls by group and kind: for each rank, their positions in order."""
    found: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(dict)
    for rank, calls in enumerate(ranks):
        for position, call in enumerate(calls):
            if (group := _group(call, world)) is not None:
                found[group, call.kind].setdefault(rank, []).append(position)
    return found


def _group(call: CollectiveCall, world: int | None) -> str | None:
    """The group of a *call*, None if another rank's call cannot be matched with it.

    A point-to-point transfer among many waits for its one partner. A group without a list of its
    ranks is known only if it is the whole job.
    """
    if call.kind == "sendrecv" and call.ranks != _PAIR:
        return None
    if call.group:
        return call.group
    return "everyone" if not (call.ranks and world) or call.ranks == world else None


def _alike(kind: str, ranks: Sequence[Sequence[CollectiveCall]], members: Mapping[int, list[int]]) -> bool:
    """Whether the ranks made the same calls: as many, of the same sizes."""
    sizes = [
        [None if kind in _UNEVEN else ranks[rank][at].size for at in positions] for rank, positions in members.items()
    ]
    return all(one == sizes[0] for one in sizes)


def _compare(skew: Skew, ranks: Sequence[Sequence[CollectiveCall]], members: Mapping[int, list[int]]) -> None:
    for positions in zip(*members.values(), strict=True):
        row = dict(zip(members, positions, strict=True))
        times = {rank: ranks[rank][at].time for rank, at in row.items()}
        shortest = min(times.values())
        for rank, at in row.items():
            skew.waits[rank][at] = times[rank] - shortest
        skew.matched += 1
        skew.last[min(times, key=lambda rank: times[rank])] += 1
