"""Emulation: messages that take as long as on a link, textbook all-reduces made of them, and layers that sleep."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from app.labs.runner.rank import WorkerRank


class RankLink:
    """The sends and receives of one rank.

    With a *latency* and a *bandwidth*, each message is sent at once together with the time at which it is due, and the
    receiver waits until then: the real transfer is hidden by the emulated one. All ranks share a clock: where they do
    not, the run is refused before it starts. A rank has one port each way, busy for latency + bytes / bandwidth. With
    *node* ranks per node, other nodes are reached at bandwidth *across*.
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
        sleep_until(self._free)

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
        self._free = max(time.perf_counter(), self._free) + self._busy(out, to)
        due = torch.tensor([self._free], dtype=torch.float64)
        return [dist.isend(due, to, tag=1), dist.isend(out, to, tag=2)]

    def _hold(self, due: float, into: torch.Tensor, source: int) -> None:
        """Wait until *into* would have arrived; a port takes one message at a time."""
        if self.bandwidth:
            due = self._taken = max(due, self._taken + self._busy(into, source))
            self._late = max(self._late, time.perf_counter() - due)
            sleep_until(due)

    def _busy(self, message: torch.Tensor, other: int) -> float:
        if not self.bandwidth:
            return 0.0
        near = other // self.node == self.rank // self.node
        size = message.numel() * message.element_size()
        return self.latency + size / (self.bandwidth if near else self.across)


class Neighbors:
    """The next rank of the ring, which this one sends to, and the one before, which sends to it."""

    def __init__(self, rank: WorkerRank) -> None:
        self._next, self._before = (rank.rank + 1) % rank.world, (rank.rank - 1) % rank.world
        self.sent_bytes = 0

    def pass_on(self, block: torch.Tensor, into: torch.Tensor) -> Callable[[], None]:
        """Start sending *block*, and receiving another; the result waits until both are done.

        On GPUs, what is computed afterwards waits; the host goes on.
        """
        self.sent_bytes += block.numel() * block.element_size()
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, block, self._next), dist.P2POp(dist.irecv, into, self._before)]
        )

        def finish() -> None:
            for work in works:
                work.wait()

        return finish


def run_ring_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send partial sums once around the ring, then the sums; the ranks divide the array."""
    members = range(link.world)
    _ring_all_gather(link, array, members, _ring_reduce_scatter(link, array, members))


def run_hierarchical_all_reduce(link: RankLink, array: torch.Tensor, node: int) -> None:
    """Reduce-scatter inside the nodes, all-reduce between them, all-gather inside."""
    first = link.rank // node * node
    inside = range(first, first + node)
    across = range(link.rank % node, link.world, node)
    own = _ring_reduce_scatter(link, array, inside)
    piece = array.chunk(node)[own]
    _ring_all_gather(link, piece, across, _ring_reduce_scatter(link, piece, across))
    _ring_all_gather(link, array, inside, own)


def _ring_reduce_scatter(link: RankLink, array: torch.Tensor, members: Sequence[int]) -> int:
    """Leave this rank with the sum of one chunk; the number of the chunk."""
    count, place = len(members), members.index(link.rank)
    right, left = members[(place + 1) % count], members[place - 1]
    chunks = array.chunk(count)
    arrived = torch.empty_like(chunks[0])
    for step in range(count - 1):
        link.exchange(chunks[(place - step) % count], right, arrived, left)
        chunks[(place - step - 1) % count].add_(arrived)
    return (place + 1) % count


def _ring_all_gather(link: RankLink, array: torch.Tensor, members: Sequence[int], own: int) -> None:
    """Pass the chunks around until every rank has all; this rank starts with the chunk *own*."""
    count, place = len(members), members.index(link.rank)
    right, left = members[(place + 1) % count], members[place - 1]
    chunks = array.chunk(count)
    for step in range(count - 1):
        link.exchange(chunks[(own - step) % count], right, chunks[(own - step - 1) % count], left)


def run_tree_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send sums up a binary tree to rank 0, and down again."""
    world, rank = link.world, link.rank
    arrived = torch.empty_like(array)
    distance = 1
    while distance < world:
        if rank % (2 * distance) == distance:
            link.send(array, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < world:
            link.receive(arrived, rank + distance)
            array.add_(arrived)
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == 0 and rank + distance < world:
            link.send(array, rank + distance)
        elif rank % (2 * distance) == distance:
            link.receive(array, rank - distance)


def run_naive_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send every array to rank 0, one at a time; it adds them and sends the sum to each rank."""
    if link.rank:
        link.send(array, 0)
        link.receive(array, 0)
        return
    arrived = torch.empty_like(array)
    for source in range(1, link.world):
        link.receive(arrived, source)
        array.add_(arrived)
    for target in range(1, link.world):
        link.send(array, target)


def time_all_reduces(rank: WorkerRank, link: RankLink, run: Callable[[torch.Tensor], None], name: str) -> None:
    """Check the sums of *run*, then report its times at every size as the measure *name*."""
    array = torch.arange(8.0 * rank.world) + rank.rank
    run(array)
    total = rank.world * torch.arange(8.0 * rank.world) + rank.world * (rank.world - 1) / 2
    rank.report.check("sums", bool(torch.equal(array, total)))
    for size in rank.numbers("sizes"):
        held = torch.ones(int(size) // (4 * rank.world) * rank.world)
        call = partial(run, held)
        samples = rank.timing.sample(call, seconds=1.0, least=5, most=10, warmed_up=link.latest, at_once=True)
        late = max(rank.all_gather(link.latest()))
        rank.report.measure(name, samples, size=held.numel() * 4, late=late)


def sleep_until(moment: float) -> None:
    """Sleep until *moment* on the clock of perf_counter, which all processes of a machine share."""
    while (left := moment - time.perf_counter()) > 0:
        time.sleep(left)


class _Nap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
        """Sleep, and pass the input on."""
        sleep_until(time.perf_counter() + forward)
        ctx.backward_time = backward
        return given.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Sleep, and pass the gradient on."""
        sleep_until(time.perf_counter() + ctx.backward_time)
        return gradient, None, None


def sleep_both_ways(given: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
    """*given*, after *forward* seconds; its gradient comes after *backward* seconds."""
    out: torch.Tensor = _Nap.apply(given, forward, backward)
    return out


class SleepingLayer(nn.Module):
    """A linear layer that takes *forward* and *backward* seconds longer than its computation."""

    def __init__(self, width: int, forward: float, backward: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.times = (forward, backward)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The product, delayed."""
        return sleep_both_ways(self.linear(given), *self.times)
