"""Five small measurements inside a training job, at intervals of steps: which rank, on which host, is slow?

    sniff = Sniffer()
    for batch in batches:
        train(batch)
        for slow in sniff():
            print(slow.says)

A matrix product, a copy, an all-reduce, an all-to-all, and messages between pairs. All ranks of the default group call
it after every step. They agree on when to measure, so that it takes less than *share* of the time.
"""

import math
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.distributed as dist

_FLOORS: Mapping[str, float] = {"product": 0.06, "copy": 0.03, "all-reduce": 0.1, "all-to-all": 0.1}
_PAIR_FLOOR, _GLOO_FLOOR = 0.1, 0.5  # slower than the median by this share at least
_DEVIATIONS, _SCALE = 4.0, 1.4826  # from the median absolute deviation to a standard deviation
_FEWEST = 3  # ranks of which a median says something
_CALLS = 5  # of a measurement, after one that does not count
_HOST_NAME = 64  # bytes
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRank:
    """A *rank* whose time of a *measure* was *ratio* times the median of all ranks, twice in a row."""

    rank: int
    host: str
    measure: str
    ratio: float

    @property
    def says(self) -> str:
        """The finding as a sentence."""
        return f"rank {self.rank} on {self.host}: {self.measure} took {self.ratio:.2f} times the median, twice in a row"


class Sniffer:
    """Measures at the first call after *every* steps, and then so seldom that *share* of the time suffices."""

    def __init__(self, every: int = 100, share: float = 0.02) -> None:
        if every < 1 or not 0 < share < 1:
            raise ValueError(f"every must be at least 1 and share between 0 and 1, not {every} and {share:g}")
        self.times: Mapping[str, Sequence[float]] = {}  # of the last round: seconds by measure and rank
        self.spent = 0.0  # seconds, of the slowest rank
        self.rounds = 0
        self._every, self._share = every, share
        self._steps, self._next = 0, every
        self._begun: float | None = None
        self._suspects: Mapping[tuple[str, int], float] = {}
        self._hosts: Sequence[str] = ()

    def __call__(self) -> Sequence[SlowRank]:
        """Count a step; where it is time, measure, and say which ranks were slow twice."""
        if self._begun is None:
            self._begun = time.monotonic()
        self._steps += 1
        if self._steps < self._next:
            return ()
        begun = time.monotonic()
        on_gpu = torch.cuda.is_available() and "nccl" in str(dist.get_backend_config())
        device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
        if not self._hosts:
            self._hosts = _hosts(device)
        own = measure_all(device)
        by_rank = _gathered([*own.values(), time.monotonic() - begun, begun - self._begun], device)
        self.times = {name: [row[place] for row in by_rank] for place, name in enumerate(own)}
        cost, elapsed = (max(row[place] for row in by_rank) for place in (-2, -1))
        self.spent, self.rounds = self.spent + cost, self.rounds + 1
        step = max(elapsed - self.spent + cost, 0.0) / self._steps
        self._next = self._steps + max(self._every, steps_until(self.spent + cost, elapsed, step, self._share))
        suspects = {one: ratio for name, times in self.times.items() for one, ratio in slow_ranks(name, times, device)}
        twice = {one: ratio for one, ratio in suspects.items() if one in self._suspects}
        self._suspects = suspects
        return [
            SlowRank(rank=rank, host=self._hosts[rank], measure=name, ratio=ratio)
            for (name, rank), ratio in twice.items()
        ]


def steps_until(spent: float, elapsed: float, step: float, share: float) -> int:
    """Steps of *step* seconds after which *spent* seconds are less than *share* of all that have *elapsed* until then.

    >>> steps_until(spent=1.0, elapsed=10.0, step=0.5, share=0.02)
    80
    """
    return math.ceil(max(0.0, spent / share - elapsed) / step) if step > 0 else 1


def slow_ranks(name: str, times: Sequence[float], device: torch.device) -> Sequence[tuple[tuple[str, int], float]]:
    """The ranks that are slower than the median by more than a floor and by more than they usually differ."""
    if len(times) < _FEWEST:
        return ()
    median = statistics.median(times)
    spread = _SCALE * statistics.median(abs(one - median) for one in times)
    floor = _FLOORS.get(name, _PAIR_FLOOR) if device.type == "cuda" else _GLOO_FLOOR
    limit = median + max(floor * median, _DEVIATIONS * spread)
    return [((name, rank), one / median) for rank, one in enumerate(times) if one > limit]


def measure_all(device: torch.device) -> Mapping[str, float]:
    """Seconds of each measurement on this rank; all ranks of the default group take part."""
    rank, world = dist.get_rank(), dist.get_world_size()
    on_gpu = device.type == "cuda"
    kind, side, size = (torch.bfloat16, 4096, 64 * _MIB) if on_gpu else (torch.float32, 256, _MIB)
    one, other = (torch.ones(side, side, dtype=kind, device=device) for _ in range(2))
    source, target = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    whole = torch.zeros(size // world // 4 * world, dtype=torch.float32, device=device)
    swapped = torch.empty_like(whole)
    found = {
        "product": _seconds(lambda: torch.mm(one, other), device),
        "copy": _seconds(lambda: target.copy_(source), device),
        "all-reduce": _seconds(lambda: dist.all_reduce(whole), device),
        "all-to-all": _seconds(lambda: dist.all_to_all_single(swapped, whole), device),
    }
    for stride in dict.fromkeys((1, world // 2) if world > 1 else ()):
        call = partial(_pass, whole, swapped, (rank + stride) % world, (rank - stride) % world)
        found[f"pairs {stride} apart"] = _seconds(call, device)
    return found


def _pass(sent: torch.Tensor, received: torch.Tensor, to: int, by: int) -> None:
    """Send to one rank while another sends."""
    both = [dist.P2POp(dist.isend, sent, to), dist.P2POp(dist.irecv, received, by)]
    for request in dist.batch_isend_irecv(both):
        request.wait()


def _seconds(call: Callable[[], object], device: torch.device) -> float:
    """The median time of a call, from when all ranks are there."""
    token = torch.zeros(1, device=device)
    call()
    found = []
    for _ in range(_CALLS):
        dist.all_reduce(token)
        found.append(_by_events(call) if device.type == "cuda" else _by_clock(call))
    return statistics.median(found)


def _by_events(call: Callable[[], object]) -> float:
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begun.record()
    call()
    ended.record()
    ended.synchronize()
    return float(begun.elapsed_time(ended)) / 1e3


def _by_clock(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _gathered(numbers: Sequence[float], device: torch.device) -> list[list[float]]:
    """The *numbers* of every rank."""
    own = torch.tensor(numbers, dtype=torch.float64, device=device)
    found = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(found, own)
    return [[float(one) for one in row.tolist()] for row in found]


def _hosts(device: torch.device) -> Sequence[str]:
    """The host of every rank."""
    name = platform.node().encode()[:_HOST_NAME]
    rows = _gathered([float(one) for one in name.ljust(_HOST_NAME, b"\0")], device)
    return [bytes(map(int, row)).rstrip(b"\0").decode(errors="replace") for row in rows]
