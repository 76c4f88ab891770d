"""One rank of a run: its place, its parameters, its clock, and what it reports."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from app.labs.ranks.events import CheckEvent, MeasureEvent, ReadyEvent, as_line

_WARM = 3  # calls before the samples
_AHEAD = 0.002  # seconds for all ranks to learn the moment to start


class Rank:
    """A process among *world*; rank 0 writes what all of them found.

    *values* are the parameters of the lab, numbers in base units; a collective that takes longer
    than *seconds* fails.
    """

    def __init__(
        self,
        rank: int,
        world: int,
        folder: Path,
        *,
        values: Mapping[str, float | str | Sequence[float]],
        on_gpu: bool,
        seconds: float,
    ) -> None:
        self.rank, self.world = rank, world
        self.folder = folder
        self._values = values
        torch.set_num_threads(1)
        torch.manual_seed(1234 + rank)
        self.on_gpu = on_gpu
        local = int(os.environ.get("LOCAL_RANK", rank))
        self.device = torch.device("cuda", local) if self.on_gpu else torch.device("cpu")
        if self.on_gpu:
            torch.cuda.set_device(self.device)
        self._events = (folder / "events.jsonl").open("a", buffering=1) if rank == 0 else None
        self._limit = timedelta(seconds=seconds)

    def join(self, store: object = None) -> None:
        """Meet the other ranks, in *store* if there is one, else in the folder."""
        backend = "nccl" if self.on_gpu else "gloo"
        where = {"store": store} if store else {"init_method": f"file://{self.folder / 'store'}"}
        if self.on_gpu:
            where["device_id"] = self.device
        dist.init_process_group(
            backend, rank=self.rank, world_size=self.world, timeout=self._limit, **where
        )
        world, versions = dist.get_world_size(), _versions(self.on_gpu)
        self._write(ReadyEvent(at=time.time(), world=world, versions=versions))

    def leave(self) -> None:
        """Wait for the others, and leave the group."""
        dist.barrier()
        dist.destroy_process_group()

    def number(self, name: str) -> float:
        """A parameter that is a number, in its base unit."""
        value = self._values[name]
        if not isinstance(value, int | float):
            raise TypeError(f"{name} is not a number: {value!r}")
        return float(value)

    def numbers(self, name: str) -> Sequence[float]:
        """A parameter that is several numbers."""
        value = self._values[name]
        if isinstance(value, int | float | str):
            raise TypeError(f"{name} is a single value, not several: {value!r}")
        return [float(one) for one in value]

    def word(self, name: str) -> str:
        """A parameter that is a choice."""
        return str(self._values[name])

    def check(self, name: str, right: bool) -> None:
        """Report whether the data came out right, on all ranks."""
        agreed = all(self.everywhere(int(right)))
        self._write(CheckEvent(at=time.time(), name=name, right=agreed))
        if not agreed:
            raise ValueError(f"{name}: the data is wrong, so its times do not count")

    def measure(self, name: str, samples: Sequence[float], **at: float | str) -> None:
        """Report samples of the lab's measure *name*, and where they were taken."""
        found = tuple(samples)
        self._write(MeasureEvent(at=time.time(), name=name, samples=found, where=at))

    def everywhere(self, value: float) -> list[float]:
        """*value* of every rank."""
        own = torch.tensor([value], dtype=torch.float64, device=self.device)
        found = [torch.empty_like(own) for _ in range(self.world)]
        dist.all_gather(found, own)
        return [float(one.item()) for one in found]

    def timed(
        self,
        call: Callable[[], object],
        seconds: float,
        least: int = 5,
        most: int = 200,
        warmed: Callable[[], object] = int,
        warm: int = _WARM,
        at_once: bool = False,
    ) -> list[float]:
        """Times of *call*, one at a time after a barrier; each is the slowest rank's.

        *warmed* is called after the *warm* calls, which do not count, and before the samples.
        With *at_once* all ranks, which must be on one machine, start at the same moment: a rank
        that leaves a barrier early would find its messages already on the way.
        """
        for _ in range(warm):
            call()
        estimate = self._sample(call, at_once)
        warmed()
        count = int(max(least, min(most, seconds / max(estimate, 1e-6))))
        return [self._sample(call, at_once) for _ in range(count)]

    def _write(self, event: ReadyEvent | CheckEvent | MeasureEvent) -> None:
        if self._events:
            self._events.write(as_line(event))

    def _sample(self, call: Callable[[], object], at_once: bool) -> float:
        self._wait()
        dist.barrier()
        begun = self._agreed_moment() if at_once else time.perf_counter()
        call()
        self._wait()
        return self._slowest(time.perf_counter() - begun)

    def _agreed_moment(self) -> float:
        """Wait for a moment that all ranks share; processes of one machine have the same clock."""
        moment = self._slowest(time.perf_counter()) + _AHEAD
        while (left := moment - time.perf_counter()) > 0:
            time.sleep(left)
        return moment

    def _slowest(self, value: float) -> float:
        """The largest *value* of all ranks."""
        own = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(own, op=dist.ReduceOp.MAX)
        return float(own.item())

    def _wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize(self.device)


def _versions(on_gpu: bool) -> dict[str, str]:
    found = {"torch": torch.__version__}
    if on_gpu:
        found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        found["cuda"] = str(torch.version.cuda)
    return found
