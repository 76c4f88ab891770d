"""Messages between ranks, counted, and delayed as an emulated link would delay them."""

import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from app.labs.ranks.rank import WorkerRank


class RankLink:
    """The sends and receives of one rank.

    With a *latency* and a *bandwidth*, each message is sent at once together with the time at
    which it is due, and the receiver waits until then: the real transfer is hidden by the emulated
    one. All ranks share a clock: where they do not, the run is refused before it starts. A rank has
    one port each way, busy for latency + bytes / bandwidth. With *node* ranks per node, other nodes
    are reached at bandwidth *across*.
    """

    def __init__(
        self, rank: WorkerRank, latency: float = 0.0, bandwidth: float = 0.0, node: int = 0, across: float = 0.0
    ) -> None:
        self.rank, self.world = rank.rank, rank.world
        self.latency, self.bandwidth = latency, bandwidth
        self.node, self.across = node or rank.world, across
        self.sent_bytes = self.messages = 0
        self._free = self._taken = self._late = 0.0

    def exchange(self, out: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        """Send *out* and receive *into* at the same time."""
        self.begin(out, to, into, source)()

    def begin(self, out: torch.Tensor, to: int, into: torch.Tensor, source: int) -> Callable[[], None]:
        """Start sending *out* and receiving *into*; the result waits until both are done."""
        due = torch.empty(1, dtype=torch.float64)
        coming = [dist.irecv(due, source, tag=1), dist.irecv(into, source, tag=2)]
        going = self._send(out, to)

        def finish() -> None:
            for work in coming:
                work.wait()
            self._hold(float(due.item()), into, source)
            for work in going:
                work.wait()

        return finish

    def send(self, out: torch.Tensor, to: int) -> None:
        """Send *out*; when this returns, the link is free again."""
        for work in self._send(out, to):
            work.wait()
        _until(self._free)

    def receive(self, into: torch.Tensor, source: int) -> None:
        """Receive *into*."""
        due = torch.empty(1, dtype=torch.float64)
        dist.recv(due, source, tag=1)
        dist.recv(into, source, tag=2)
        self._hold(float(due.item()), into, source)

    def latest(self) -> float:
        """The longest delay of a message beyond its due time, since the last call."""
        late, self._late = self._late, 0.0
        return late

    def _send(self, out: torch.Tensor, to: int) -> "list[dist.Work]":
        size = out.numel() * out.element_size()
        self.sent_bytes += size
        self.messages += 1
        self._free = max(time.monotonic(), self._free) + self._busy(out, to)
        due = torch.tensor([self._free], dtype=torch.float64)
        return [dist.isend(due, to, tag=1), dist.isend(out, to, tag=2)]

    def _hold(self, due: float, into: torch.Tensor, source: int) -> None:
        """Wait until *into* would have arrived; a port takes one message at a time."""
        if self.bandwidth:
            due = self._taken = max(due, self._taken + self._busy(into, source))
            self._late = max(self._late, time.monotonic() - due)
            _until(due)

    def _busy(self, message: torch.Tensor, other: int) -> float:
        if not self.bandwidth:
            return 0.0
        near = other // self.node == self.rank // self.node
        size = message.numel() * message.element_size()
        return self.latency + size / (self.bandwidth if near else self.across)


def _until(moment: float) -> None:
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)
