"""One rank of a run: its place, its parameters, what it times, and what it reports."""

import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist

from app.labs.runner import clocks, gpu, nccl
from app.labs.runner.events import CheckEvent, DetailEvent, MeasureEvent, RankEvent, ReadyEvent, TimingEvent, as_line
from app.labs.runner.group import RankGroup
from app.labs.runner.proof import DataProof, Difference, WrongDataError, calls_of_proof, wrong_data
from app.labs.runner.timer import HostClock, Sampling, Timer, least_calls

Call = Callable[[], object]
Place = float | str
WITH_LAUNCH = "with launch"  # after the name of a measure: by the host's clock
_WARM = 3  # calls before the samples
_SOME = 30  # the most samples with launch
_STARVED = "include launches, as a GPU had to wait for them"
_ENDING = 2.0  # seconds of a run that its ranks need to end
_AGAIN = 1.2  # seconds until the share of the time at work has no part of our own last run
_MIB, _GIB = 2**20, 2**30


class WorkerRank:
    """A process among *world*: `timing` takes samples, `report` writes them, `budget` knows what still fits.

    *values* are the parameters of the lab, numbers in base units; a collective that takes longer
    than *seconds* fails. A rank that is alone does without NCCL unless it *is_forced*, to test it.
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
        is_forced: bool = False,
    ) -> None:
        self.rank, self.world = rank, world
        self.folder = folder
        self.refuses_busy = False  # GPUs: with others at work, it fails before it measures
        self._values = values
        torch.set_num_threads(1)
        torch.manual_seed(1234 + rank)
        self.on_gpu = on_gpu
        local = int(os.environ.get("LOCAL_RANK", rank))
        self.device = gpu.own_gpu(local) if on_gpu else torch.device("cpu")
        self._group = RankGroup(rank, world, self.device, is_forced=is_forced)
        self._limit = timedelta(seconds=seconds)
        self.report = RankReport(folder, rank, self.all_gather)
        self.timing = RankTiming(self._group, self.device, world, self.report)
        self.budget = RankBudget(self.timing, self.report, self.all_gather, self.device, seconds)

    def join(self, store: object = None) -> None:
        """Meet the other ranks, in *store* if there is one, else in the folder.

        Raises:
            RuntimeError: two ranks have the same GPU.
            BusyGpuError: others use the GPU, and the job refuses that.
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
        self.report.write(ReadyEvent(at=time.time(), world=self._group.size, versions=versions))

    def leave(self) -> None:
        """Wait for the others, and leave the group."""
        if (waits := self.timing.waits.total).seconds:
            self.report.write(clocks.wait_event(self._group.texts(waits.as_json())))
        if self.on_gpu:
            self.report.tell_launches()
            self._look("after")
            found = self._group.texts("\n".join(nccl.transports(self.folder, self.rank)))
            if chosen := sorted({one for text in found for one in text.splitlines()}):
                self.report.tell("transport", ", ".join(chosen))
        self._group.leave()
        self.report.close()

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

    def all_gather(self, value: float) -> list[float]:
        """*value* of every rank."""
        return self._group.all_gather(value)

    def times(
        self,
        name: str,
        call: Call,
        seconds: float,
        least: int = 5,
        most: int = 200,
        part: float = 1.0,
        proof: DataProof | None = None,
        **where: Place,
    ) -> None:
        """Report the times of *part* of *call* as the measure *name*, if its *proof* finds nothing wrong.

        On GPUs, also those with launch, which the lab's `gpu:` block must declare. A place whose
        first call leaves no time for its samples is left out.

        Raises:
            WrongDataError: the call moves wrong data.
        """
        if not self.budget.has_time(call, least, place_shown(where) or name):
            return
        samples = self.timing.sample(call, seconds, least, most)
        for number, one in enumerate(samples):  # in place: they are known by their list
            samples[number] = part * one
        found = [(name, samples, self.timing.own_medians(part))]
        if self.on_gpu:
            few = self.timing.sample_by_host(call, seconds / 2, least, min(most, _SOME))
            found.append((f"{name} {WITH_LAUNCH}", [part * one for one in few], self.timing.own_medians(part)))
        if proof:
            self.prove(proof, **where)
        for measure, taken, by_rank in found:
            self.report.measure(measure, taken, by_rank, **where)

    def prove(self, proof: DataProof, **where: Place) -> None:
        """Have *proof* look at the data of calls like those that were timed, on all ranks.

        Raises:
            WrongDataError: it is wrong on some rank, which is named.
        """
        begun = time.monotonic()
        found = [proof.difference(0)]
        each = max(self.all_gather(time.monotonic() - begun))
        found += [proof.difference(turn) for turn in range(1, calls_of_proof(each, self.budget.time_left()))]
        own = next(((turn, one) for turn, one in enumerate(found) if one), None)
        told = self._group.texts(json.dumps([own[0], asdict(own[1])]) if own else "")
        plain = {rank: json.loads(text) for rank, text in enumerate(told) if text}
        wrong = {rank: (turn, Difference(**fields)) for rank, (turn, fields) in plain.items()}
        says = wrong_data(proof.name, place_shown(where), wrong, len(found)) if wrong else ""
        self.report.write(CheckEvent(at=time.time(), name=proof.name, right=not wrong, says=says))
        if wrong:
            raise WrongDataError(says)

    def _look(self, when: Literal["before", "after"]) -> None:
        """Report clock, power and memory of every rank's GPU, where its vendor's tool is there.

        Before the run it looks twice at a GPU that is at work: the work may be that of a run that has just ended.
        """
        reading = clocks.reading_of(self.device)
        if when == "before" and reading and (reading.utilization or 0.0) > clocks.BUSY:
            time.sleep(_AGAIN)
            reading = clocks.reading_of(self.device)
        if event := clocks.readings_event(when, self._group.texts(clocks.reading_text(reading))):
            self.report.write(event)
        if when == "before" and self.refuses_busy and (says := clocks.use_of_others(reading)):
            raise clocks.BusyGpuError(says)


class RankReport:
    """What the ranks found: rank 0 writes it, a line for each event."""

    def __init__(self, folder: Path, rank: int, all_gather: Callable[[float], Sequence[float]]) -> None:
        self._all_gather = all_gather
        self._events = (folder / "events.jsonl").open("a", buffering=1) if rank == 0 else None
        self._starved: list[Sequence[float]] = []  # samples that include launches
        self._with_launches: list[str] = []  # and the names of their measures

    def check(self, name: str, right: bool) -> None:
        """Report whether the data came out right, on all ranks."""
        agreed = all(self._all_gather(int(right)))
        self.write(CheckEvent(at=time.time(), name=name, right=agreed))
        if not agreed:
            raise WrongDataError(f"{name}: the data is wrong, so its times do not count")

    def measure(self, name: str, samples: Sequence[float], by_rank: Sequence[float] = (), **at: Place) -> None:
        """Report samples of the lab's measure *name*, and where they were taken.

        *by_rank* is a number of each rank, where the samples are those of the slowest.
        """
        if any(samples is one for one in self._starved):
            places = ", ".join(f"{key} {value}" for key, value in at.items())
            self._with_launches.append(f"{name} at {places}" if places else name)
        self.write(MeasureEvent(at=time.time(), name=name, samples=tuple(samples), where=at, by_rank=tuple(by_rank)))

    def tell(self, name: str, says: str) -> None:
        """Report how the ranks did it: a kernel, a transport, what was left out and why."""
        self.write(DetailEvent(at=time.time(), name=name, says=says))

    def begin_samples(self, samples: int, each: float) -> None:
        """Report that *samples* samples are about to be taken, each of which takes about *each* seconds."""
        self.write(TimingEvent(at=time.time(), samples=samples, each=each))

    def note_launches(self, samples: Sequence[float]) -> None:
        """Remember that *samples* include launches; they are known by their list."""
        self._starved.append(samples)

    def tell_launches(self) -> None:
        """Report which times include launches."""
        if self._starved:
            self.tell("times", f"{', '.join(self._with_launches) or 'some'} {_STARVED}")

    def write(self, event: RankEvent) -> None:
        """Add *event*."""
        if self._events:
            self._events.write(as_line(event))

    def close(self) -> None:
        """Write no more."""
        if self._events:
            self._events.close()


class RankTiming:
    """The times of calls, on processors or on the GPU of this rank; each is the maximum over ranks."""

    def __init__(self, group: RankGroup, device: torch.device, world: int, report: RankReport) -> None:
        self.waits = clocks.WaitMeter()
        self._device, self._world, self._group, self._report = device, world, group, report
        self.on_gpu = device.type == "cuda"
        stream = gpu.GpuStream(device) if self.on_gpu else None
        self.timer = Timer(group, HostClock(), stream, report.begin_samples, self.waits.counted, is_alone=world == 1)

    def sample(
        self,
        call: Call,
        seconds: float,
        least: int = 5,
        most: int = 200,
        warmed_up: Call = int,
        warm: int = _WARM,
        at_once: bool = False,
    ) -> list[float]:
        """Times of *call*.

        On processors, one call at a time after a barrier. With *at_once* all ranks, which must be on one machine, start
        at the same moment: a rank that leaves a barrier early would find its messages already on the way. On GPUs, by
        events around batches of calls, without launches; their queues start together in any case. *warmed_up* is called
        after the *warm* calls, which do not count, and before the samples.
        """
        sampling = Sampling(seconds=seconds, least=least, most=most, warm=warm)
        if self.on_gpu:
            found = self.timer.by_events(call, sampling, warmed_up)
            if self.timer.has_launches:
                self._report.note_launches(found)
            return found
        return self.timer.by_host(call, sampling, warmed_up, at_once=at_once)

    def sample_by_host(
        self, call: Call, seconds: float, least: int = 5, most: int = 200, warm: int = _WARM
    ) -> list[float]:
        """Times of *call* by the host's clock, on GPUs too: launch, call, and the way back."""
        return self.timer.by_host(call, Sampling(seconds=seconds, least=least, most=most, warm=warm))

    def own_medians(self, part: float = 1.0) -> Sequence[float]:
        """*part* of the median of each rank's own times, the last; none for a single rank."""
        own = self.timer.own_times
        return self._group.all_gather(part * statistics.median(own)) if self._world > 1 and own else ()

    def rotate(self, make: Callable[[], Call], size: float) -> Call:
        """A call that takes several in turn, each from *make* with *size* bytes of its own.

        There are enough to find none of their operands in the cache of a GPU. On processors there is one.
        """
        copies = gpu.copies(size, gpu.cache_bytes(self._device)) if self.on_gpu else 1
        turns = itertools.cycle([make() for _ in range(copies)])
        return lambda: next(turns)()


class RankBudget:
    """The memory and the time that are left to all ranks."""

    def __init__(
        self,
        timing: RankTiming,
        report: RankReport,
        all_gather: Callable[[float], Sequence[float]],
        device: torch.device,
        seconds: float,
    ) -> None:
        self._timing, self._report, self._all_gather, self._device = timing, report, all_gather, device
        self.on_gpu = device.type == "cuda"
        self._deadline = time.monotonic() + seconds - _ENDING

    def peak(self, call: Call) -> tuple[int, int]:
        """Bytes that *call* has allocated and reserved at its peak, with all that lives beside it."""
        if not self.on_gpu:
            raise ValueError("only the allocator of a GPU counts its peak")
        return gpu.peak(call, self._device)

    def has_room(self, size: float, what: str) -> bool:
        """Whether *size* more bytes fit on the GPU of every rank; if not, *what* is left out.

        On processors, nothing is.
        """
        if not self.on_gpu:
            return True
        if size > (room := self._room()):
            needed = f"{size / _GIB:.3g} GiB needed, {max(0.0, room / _GIB):.3g} GiB free"
            self._report.tell("left out", f"{what}, for want of memory: {needed}")
        return size <= room

    def require_room(self, size: float, less: str) -> None:
        """Refuse to go on if *size* bytes do not fit on every GPU; *less* says what to lower."""
        if size > (free := self._room()):
            raise ValueError(
                f"this takes {size / _GIB:.3g} GiB of each GPU, and one of them has "
                f"{max(0.0, free / _GIB):.3g} GiB free: lower {less}"
            )

    def has_time(self, call: Call, least: int, what: str) -> bool:
        """Whether *least* samples of *call* fit in the time of the run; if not, *what* is left out.

        The first call may include what only a first call has to do, so a second one decides.
        """
        calls, timer = least_calls(least, on_gpu=self.on_gpu), self._timing.timer
        each = timer.once(call)
        left = self.time_left()
        if calls * each > left > 2 * each:
            each, left = min(each, timer.once(call)), self.time_left()
        if calls * each > left:
            needed = f"{calls} calls of {each:.3g} s needed, {max(0.0, left):.0f} s left"
            self._report.tell("left out", f"{what}, for want of time: {needed}")
        return calls * each <= left

    def time_left(self) -> float:
        """Seconds until the run is stopped, those of the rank that has the fewest."""
        return min(self._all_gather(self._deadline - time.monotonic()))

    def _room(self) -> float:
        """Bytes that are free on the GPU that has the fewest."""
        return min(self._all_gather(gpu.free_bytes(self._device)))


def place_shown(where: Mapping[str, Place]) -> str:
    """The place *where* a measure is taken.

    >>> place_shown({"size": 2.0**30}), place_shown({"side": 4096, "format": "bf16"})
    ('1024 MiB', 'side 4096, format bf16')
    """
    parts = ((key, value if isinstance(value, str) else f"{value:g}", value) for key, value in where.items())
    return ", ".join(
        f"{float(value) / _MIB:g} MiB" if key == "size" else f"{key} {shown}" for key, shown, value in parts
    )
