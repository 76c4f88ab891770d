"""One rank of a run: its place, its parameters, its clock, and what it reports."""

import itertools
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist

from app.labs.ranks import gpu, nccl
from app.labs.ranks.clocks import reading_of, reading_text, readings_event
from app.labs.ranks.events import CheckEvent, DetailEvent, MeasureEvent, RankEvent, ReadyEvent, TimingEvent, as_line
from app.labs.ranks.group import RankGroup
from app.labs.ranks.place import place_shown
from app.labs.ranks.strain import StrainMeter, strain_event
from app.labs.ranks.timer import HostClock, Sampling, Timer, least_calls

Call = Callable[[], object]
WITH_LAUNCH = "with launch"  # after the name of a measure: by the host's clock
_WARM = 3  # calls before the samples
_SOME = 30  # the most samples with launch
_STARVED = "include launches, as a GPU had to wait for them"
_ENDING = 2.0  # seconds of a run that its ranks need to end
_GIB = 2**30


class WorkerRank:
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
        self.device = gpu.own_gpu(local) if on_gpu else torch.device("cpu")
        self._group = RankGroup(rank, world, self.device)
        stream = gpu.GpuStream(self.device) if on_gpu else None
        self._strain = StrainMeter()
        self._timer = Timer(
            self._group, HostClock(), stream, self._tell_begun, self._strain.counted, is_alone=world == 1
        )
        self._events = (folder / "events.jsonl").open("a", buffering=1) if rank == 0 else None
        self._limit = timedelta(seconds=seconds)
        self._starved: list[Sequence[float]] = []  # samples that include launches
        self._with_launches: list[str] = []  # and the names of their measures
        self._deadline = time.monotonic() + seconds - _ENDING

    def join(self, store: object = None) -> None:
        """Meet the other ranks, in *store* if there is one, else in the folder.

        Raises:
            RuntimeError: two ranks have the same GPU.
        """
        if self.on_gpu:
            nccl.prepare(self.folder, self.rank)
        own = dist.FileStore(str(self.folder / "store"), self.world)
        self._group.join(self._limit, store or own)
        versions = {"torch": torch.__version__}
        if self.on_gpu:
            gpu.refuse_twins(self._group.texts(gpu.identity(self.device)))
            self._look("before")  # the GPU has hardly anything of ours yet
            self._group.connect()
            versions |= nccl.versions()
        self._write(ReadyEvent(at=time.time(), world=self._group.size, versions=versions))

    def leave(self) -> None:
        """Wait for the others, and leave the group."""
        if (strain := self._strain.total).seconds:
            self._write(strain_event(self._group.texts(strain.as_json())))
        if self.on_gpu:
            self._tell_launches()
            self._look("after")
            found = self._group.texts("\n".join(nccl.transports(self.folder, self.rank)))
            if chosen := sorted({one for text in found for one in text.splitlines()}):
                self.tell("transport", ", ".join(chosen))
        self._group.leave()
        if self._events:
            self._events.close()

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

    def measure(self, name: str, samples: Sequence[float], by_rank: Sequence[float] = (), **at: float | str) -> None:
        """Report samples of the lab's measure *name*, and where they were taken.

        *by_rank* is a number of each rank, where the samples are those of the slowest.
        """
        found, each = tuple(samples), tuple(by_rank)
        if any(samples is one for one in self._starved):
            places = ", ".join(f"{key} {value}" for key, value in at.items())
            self._with_launches.append(f"{name} at {places}" if places else name)
        self._write(MeasureEvent(at=time.time(), name=name, samples=found, where=at, by_rank=each))

    def own_medians(self, part: float = 1.0) -> Sequence[float]:
        """*part* of the median of each rank's own times, the last; none for a single rank."""
        own = self._timer.own_times
        return self.everywhere(part * statistics.median(own)) if self.world > 1 and own else ()

    def tell(self, name: str, says: str) -> None:
        """Report how the ranks did it: a kernel, a transport, what was left out and why."""
        self._write(DetailEvent(at=time.time(), name=name, says=says))

    def everywhere(self, value: float) -> list[float]:
        """*value* of every rank."""
        return self._group.everywhere(value)

    def timed(
        self,
        call: Call,
        seconds: float,
        least: int = 5,
        most: int = 200,
        warmed: Call = int,
        warm: int = _WARM,
        at_once: bool = False,
    ) -> list[float]:
        """Times of *call*, each the slowest rank's.

        On processors, one call at a time after a barrier. With *at_once* all ranks, which must be
        on one machine, start at the same moment: a rank that leaves a barrier early would find its
        messages already on the way. On GPUs, by events around batches of calls, without launches;
        their queues start together in any case. *warmed* is called after the *warm* calls, which
        do not count, and before the samples.
        """
        sampling = Sampling(seconds=seconds, least=least, most=most, warm=warm)
        if self.on_gpu:
            found = self._timer.by_events(call, sampling, warmed)
            if self._timer.has_launches:
                self._starved.append(found)
            return found
        return self._timer.by_host(call, sampling, warmed, at_once=at_once)

    def timed_by_host(
        self, call: Call, seconds: float, least: int = 5, most: int = 200, warm: int = _WARM
    ) -> list[float]:
        """Times of *call* by the host's clock, on GPUs too: launch, call, and the way back."""
        sampling = Sampling(seconds=seconds, least=least, most=most, warm=warm)
        return self._timer.by_host(call, sampling)

    def times(
        self,
        name: str,
        call: Call,
        seconds: float,
        least: int = 5,
        most: int = 200,
        part: float = 1.0,
        **where: float | str,
    ) -> None:
        """Report the times of *part* of *call* as the measure *name*.

        On GPUs, also those with launch, which the lab's `gpu:` block must declare. A place whose
        first call leaves no time for its samples is left out.
        """
        if not self.has_time(call, least, place_shown(where) or name):
            return
        samples = self.timed(call, seconds, least, most)
        for number, one in enumerate(samples):  # in place: they are known by their list
            samples[number] = part * one
        self.measure(name, samples, self.own_medians(part), **where)
        if self.on_gpu:
            few = self.timed_by_host(call, seconds / 2, least, min(most, _SOME))
            late = [part * one for one in few]
            self.measure(f"{name} {WITH_LAUNCH}", late, self.own_medians(part), **where)

    def rotated(self, make: Callable[[], Call], size: float) -> Call:
        """A call that takes several in turn, each from *make* with *size* bytes of its own.

        There are enough to find none of their operands in the cache of a GPU. On processors there
        is one.
        """
        turns = itertools.cycle([make() for _ in range(self._copies(size))])
        return lambda: next(turns)()

    def peak(self, call: Call) -> tuple[int, int]:
        """Bytes that *call* has allocated and reserved at its peak, with all that lives beside it.

        Raises:
            ValueError: on processors, where nothing counts them.
        """
        if not self.on_gpu:
            raise ValueError("only the allocator of a GPU counts its peak")
        return gpu.peak(call, self.device)

    def has_room(self, size: float, what: str) -> bool:
        """Whether *size* more bytes fit on the GPU of every rank; if not, *what* is left out.

        On processors, nothing is.
        """
        if not self.on_gpu:
            return True
        room = min(self.everywhere(gpu.free_bytes(self.device)))
        if size > room:
            self.tell(
                "left out",
                f"{what}, for want of memory: {size / _GIB:.3g} GiB needed, {max(0.0, room / _GIB):.3g} GiB free",
            )
        return size <= room

    def has_time(self, call: Call, least: int, what: str) -> bool:
        """Whether *least* samples of *call* fit in the time of the run; if not, *what* is left out.

        The first call may include what only a first call has to do, so a second one decides.
        """
        calls = least_calls(least, on_gpu=self.on_gpu)
        each = self._timer.once(call)
        left = self._time_left()
        if calls * each > left > 2 * each:
            each, left = min(each, self._timer.once(call)), self._time_left()
        if calls * each > left:
            self.tell(
                "left out",
                f"{what}, for want of time: {calls} calls of {each:.3g} s needed, {max(0.0, left):.0f} s left",
            )
        return calls * each <= left

    def _time_left(self) -> float:
        """Seconds until the run is stopped, those of the rank that has the fewest."""
        return min(self.everywhere(self._deadline - time.monotonic()))

    def _copies(self, size: float) -> int:
        return gpu.copies(size, gpu.cache_bytes(self.device)) if self.on_gpu else 1

    def _look(self, when: Literal["before", "after"]) -> None:
        """Report clock, power and memory of every rank's GPU, where its vendor's tool is there."""
        found = self._group.texts(reading_text(reading_of(self.device)))
        if event := readings_event(when, found):
            self._write(event)

    def _tell_launches(self) -> None:
        """Report which times include launches."""
        if self._starved:
            self.tell("times", f"{', '.join(self._with_launches) or 'some'} {_STARVED}")

    def _tell_begun(self, samples: int, each: float) -> None:
        self._write(TimingEvent(at=time.time(), samples=samples, each=each))

    def _write(self, event: RankEvent) -> None:
        if self._events:
            self._events.write(as_line(event))
