"""One rank of a run: its place, its parameters, its clock, and what it reports."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

_WARM = 3  # calls before the samples
_AHEAD = 0.002  # seconds in which all ranks hear of the moment to begin


class Rank:
    """A process among *world*; rank 0 writes what all of them found."""

    def __init__(self, rank: int, world: int, folder: Path, seconds: float) -> None:
        job = json.loads((folder / "job.json").read_text())
        self.rank, self.world = rank, world
        self.values: Mapping[str, object] = job["values"]
        self.folder = folder
        torch.set_num_threads(1)
        torch.manual_seed(1234 + rank)
        self.on_gpu = job["backend"] == "nccl"
        local = int(os.environ.get("LOCAL_RANK", rank))
        self.device = torch.device("cuda", local) if self.on_gpu else torch.device("cpu")
        if self.on_gpu:
            torch.cuda.set_device(self.device)
        self._events = (folder / "events.jsonl").open("a", buffering=1) if rank == 0 else None
        self._limit = timedelta(seconds=seconds)

    def join(self, store: object = None) -> None:
        """Meet the other ranks."""
        backend = "nccl" if self.on_gpu else "gloo"
        where = {"store": store} if store else {"init_method": f"file://{self.folder / 'store'}"}
        if self.on_gpu:
            where["device_id"] = self.device
        dist.init_process_group(
            backend, rank=self.rank, world_size=self.world, timeout=self._limit, **where
        )
        self.event("ready", world=dist.get_world_size(), versions=_versions(self.on_gpu))

    def leave(self) -> None:
        """Wait for the others, and part."""
        dist.barrier()
        dist.destroy_process_group()

    def number(self, name: str) -> float:
        """A parameter that is a number, in its base unit."""
        return float(self.values[name])  # type: ignore[arg-type]

    def numbers(self, name: str) -> Sequence[float]:
        """A parameter that is several numbers."""
        return [float(one) for one in self.values[name]]  # type: ignore[attr-defined]

    def word(self, name: str) -> str:
        """A parameter that is a choice."""
        return str(self.values[name])

    def event(self, kind: str, **what: object) -> None:
        """Write a line about the run."""
        if self._events:
            self._events.write(json.dumps({"kind": kind, "at": time.time(), **what}) + "\n")

    def check(self, name: str, right: bool) -> None:
        """Report whether the data came out right, on all ranks."""
        agreed = all(self.everywhere(int(right)))
        self.event("check", name=name, right=agreed)
        if not agreed:
            raise ValueError(f"{name}: the data is wrong, so no time of it counts")

    def measure(self, name: str, samples: Sequence[float], **at: object) -> None:
        """Report samples of what the lab calls *name*, and where they were taken."""
        self.event("measure", name=name, samples=list(samples), where=at)

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
        """Times of *call*, one at a time after a barrier; each is that of the slowest rank.

        *warmed* is called between the *warm* calls, which do not count, and the samples.
        With *at_once* all ranks, which are then on one machine, begin at the same moment: those
        that leave a barrier early would find their messages on the way already.
        """
        for _ in range(warm):
            call()
        estimate = self._sample(call, at_once)
        warmed()
        count = int(max(least, min(most, seconds / max(estimate, 1e-6))))
        return [self._sample(call, at_once) for _ in range(count)]

    def _sample(self, call: Callable[[], object], at_once: bool) -> float:
        self._wait()
        dist.barrier()
        begun = self._agreed_moment() if at_once else time.perf_counter()
        call()
        self._wait()
        return self._slowest(time.perf_counter() - begun)

    def _agreed_moment(self) -> float:
        """Wait for a moment that is the same for all; processes of a machine share their clock."""
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
