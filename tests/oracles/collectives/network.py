"""A network that is simulated step by step, with a clock and a count of the bytes per link."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.core.translation import say
from app.core.units import Bytes, BytesPerSecond, Count, Seconds

Contributors = frozenset[int]
"""The ranks whose values are in a partial sum."""


class Message(NamedTuple):
    """Bytes on their way from one rank to another."""

    sender: int
    receiver: int
    size: Bytes


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """The result of a simulated collective: its time, its steps, and the bytes on each link."""

    time: Seconds
    steps: Count
    links: Mapping[tuple[int, int], Bytes]

    def sent(self, rank: int) -> Bytes:
        """Bytes that *rank* sent."""
        return sum(size for (sender, _), size in self.links.items() if sender == rank)

    def received(self, rank: int) -> Bytes:
        """Bytes that *rank* received."""
        return sum(size for (_, receiver), size in self.links.items() if receiver == rank)

    def then(self, later: "CollectiveResult") -> "CollectiveResult":
        """This collective followed by *later*."""
        links = {link: self.links.get(link, 0) + later.links.get(link, 0) for link in {**self.links, **later.links}}
        return CollectiveResult(self.time + later.time, self.steps + later.steps, links)


@dataclass(slots=True)
class Network:
    """Ranks with one port each way, of *bandwidth*; a step takes *latency* and its largest message.

    It refuses a step in which a port would carry more than one message.
    """

    bandwidth: BytesPerSecond
    latency: Seconds
    clock: Seconds = 0.0
    steps: Count = 0
    links: dict[tuple[int, int], Bytes] = field(default_factory=lambda: defaultdict(float))

    def step(self, messages: Iterable[Message]) -> None:
        """Send *messages* at the same time and wait until all have arrived."""
        sent = list(messages)
        for port in ([m.sender for m in sent], [m.receiver for m in sent]):
            if len(set(port)) < len(port):
                raise ValueError(say("a port carries one message per step, not {value}", value=sorted(port)))
        for message in sent:
            self.links[message.sender, message.receiver] += message.size
        self.clock += self.latency + max(message.size for message in sent) / self.bandwidth
        self.steps += 1

    def played(self) -> CollectiveResult:
        """The result so far."""
        return CollectiveResult(self.clock, self.steps, dict(self.links))


def added(one: Contributors, other: Contributors) -> Contributors:
    """The sum of two partial sums, which must not have a rank in common.

    Raises:
        ValueError: a rank's values are in both.
    """
    if not one.isdisjoint(other):
        raise ValueError(say("ranks {value} are in both partial sums", value=sorted(one & other)))
    return one | other
