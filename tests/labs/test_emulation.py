"""All-reduces made of messages, played by threads that pass tensors to each other; and what a ring sends is counted."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import pytest

from tests.each import each

torch = pytest.importorskip("torch")
from app.labs.ranks.byte_counts import SentBytes, bytes_of  # noqa: E402
from app.labs.ranks.emulation import (  # noqa: E402
    run_hierarchical_all_reduce,
    run_naive_all_reduce,
    run_ring_all_reduce,
    run_tree_all_reduce,
    sleep_both_ways,
    sleep_until,
)

pytestmark = pytest.mark.needs("torch")
Mail = dict[tuple[int, int], "SimpleQueue[Any]"]


@dataclass
class Postman:
    """The link of a rank to others that are threads: messages in order, and what was sent to whom."""

    rank: int
    world: int
    mail: Mail
    sent: dict[int, int] = field(default_factory=dict)

    def exchange(self, out: Any, to: int, into: Any, source: int) -> None:
        self.send(out, to)
        self.receive(into, source)

    def send(self, out: Any, to: int) -> None:
        self.sent[to] = self.sent.get(to, 0) + out.numel()
        self.mail[self.rank, to].put(out.clone())

    def receive(self, into: Any, source: int) -> None:
        into.copy_(self.mail[source, self.rank].get(timeout=20))


def played(run: Callable[[Any, Any], None], world: int) -> list[Postman]:
    """The links after *run* has summed an array of 24 numbers on each rank; the sums are checked."""
    mail: Mail = {(a, b): SimpleQueue() for a in range(world) for b in range(world)}
    links = [Postman(rank, world, mail) for rank in range(world)]
    arrays = [torch.arange(24.0) * (rank + 1) for rank in range(world)]
    threads = [threading.Thread(target=run, args=pair) for pair in zip(links, arrays, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    total = torch.arange(24.0) * sum(range(1, world + 1))
    assert all(torch.equal(array, total) for array in arrays)
    assert all(queue.empty() for queue in mail.values())
    return links


@each("world", [1, 2, 3, 4, 8])
def test_a_ring_sends_each_share_twice_around_to_the_next_rank_alone(world: int) -> None:
    for link in played(run_ring_all_reduce, world):
        each_rank = 2 * (world - 1) * 24 // world
        assert link.sent == ({(link.rank + 1) % world: each_rank} if world > 1 else {})


@each(("world", "node"), [(4, 2), (6, 3), (6, 2), (8, 4), (4, 4), (4, 1)])
def test_nodes_send_a_share_of_the_array_to_each_other_and_the_rest_stays_inside(world: int, node: int) -> None:
    nodes = world // node
    for link in played(lambda link, array: run_hierarchical_all_reduce(link, array, node), world):
        inside = sum(count for to, count in link.sent.items() if to // node == link.rank // node)
        across = {to: count for to, count in link.sent.items() if to // node != link.rank // node}
        assert inside == 2 * (node - 1) * 24 // node
        assert sum(across.values()) == 2 * (nodes - 1) * 24 // nodes // node
        assert all(to % node == link.rank % node for to in across)


@each("world", [1, 2, 3, 5, 8])
def test_a_tree_sends_the_whole_array_up_and_down_once(world: int) -> None:
    links = played(run_tree_all_reduce, world)
    assert sum(sum(link.sent.values()) for link in links) == 2 * (world - 1) * 24
    below = [rank for rank in (1, 2, 4) if rank < world]
    assert links[0].sent == dict.fromkeys(below, 24)
    assert all(len([to for to in link.sent if to < link.rank]) == 1 for link in links[1:])


@each("world", [1, 2, 4])
def test_the_naive_way_goes_through_rank_0(world: int) -> None:
    first, *others = played(run_naive_all_reduce, world)
    assert first.sent == dict.fromkeys(range(1, world), 24)
    assert all(link.sent == {0: 24} for link in others)


def test_a_layer_that_sleeps_passes_values_and_gradients_on_later() -> None:
    given = torch.ones(3, requires_grad=True)
    begun = time.perf_counter()
    out = sleep_both_ways(given, 0.02, 0.05)
    there = time.perf_counter()
    out.sum().backward()
    back = time.perf_counter()
    assert torch.equal(out, given)
    assert torch.equal(given.grad, torch.ones(3))
    assert there - begun >= 0.02
    assert back - there >= 0.05
    sleep_until(begun)  # long ago: at once


@dataclass
class Operation:
    """An operation of torch, by its name."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __call__(self, *given: object, **more: object) -> object:
        return len(given)


WHOLE, PART = torch.zeros(12, dtype=torch.float32), torch.zeros(3, dtype=torch.float32)
# The operation, its arguments, and the bytes that a rank of 4 sends in a ring for 48 bytes.
SENT: dict[str, tuple[tuple[object, ...], float]] = {
    "c10d.allreduce_.default": (([WHOLE],), 2 * 36),
    "c10d.broadcast_.default": (([WHOLE],), 36),
    "c10d._allgather_base_.default": ((WHOLE, PART), 36),
    "c10d._reduce_scatter_base_.default": ((PART, WHOLE), 36),
    "_c10d_functional.all_reduce.default": ((WHOLE, "sum", "0"), 2 * 36),
    "c10d.barrier.default": ((WHOLE,), 0),
    "aten.add_.Tensor": ((WHOLE, WHOLE), 0),
}


@each("name", SENT)
def test_a_ring_sends_its_share_of_the_whole_array_of_a_collective(name: str) -> None:
    given, sent = SENT[name]
    counts = SentBytes(4)
    for times in (1, 2):
        assert counts.__torch_dispatch__(Operation(name), (), given) == len(given)
        assert counts.bytes == times * sent
        assert counts.calls == ({name: times} if sent else {})


def test_what_is_no_tensor_has_no_bytes() -> None:
    assert bytes_of(torch.zeros(3, 5, dtype=torch.bfloat16)) == 30
    with pytest.raises(TypeError, match="was called with int, not a tensor"):
        SentBytes(4).__torch_dispatch__(Operation("c10d.allreduce_.default"), (), ([3],))
