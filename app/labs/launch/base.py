"""The base class of launchers, the choice of the backend, and how a run is followed."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from app.core.errors import InputError, NotFoundError, UnavailableError, nearest, sentence
from app.labs.launch import description
from app.labs.machines.devices import NO_DEVICES, Devices, has_traces
from app.labs.machines.machine import describe_machine
from app.labs.results.analysis import refuse_too_long
from app.labs.run import Event, JobRecord, LabRun, RunOutcome, new_name
from app.labs.spec import NODES, RANKS, Lab, LabJob, read_job

Backend = Literal["nccl", "gloo"]
Find = Callable[[], Devices]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A job in the form for its *backend*, and *notes* on the choice, each a sentence."""

    job: LabJob
    backend: Backend
    notes: tuple[str, ...] = ()


def plan_job(lab: Lab, given: Mapping[str, str], asked: str, find: Find) -> LaunchPlan:
    """The job of *lab* with the parameters *given*, over nccl, gloo or, if *asked* is auto, either.

    Over nccl, ranks that are not given are all GPUs of one node, or of the nodes that are given,
    within the bounds of the lab. *find* returns the GPUs; it is called only where they matter.

    Raises:
        InputError: a parameter is not valid, the lab has no form for GPUs, or there are too few.
    """
    if asked == "gloo":
        return _on_processors(lab, given)
    if asked == "nccl":
        return _on_gpus(lab.on("nccl"), given, find())
    if lab.gpu is None:
        return _on_processors(lab, given, lab.why_processors if has_traces() else "")
    form = lab.gpu
    devices = find()
    here, there = _reason_against(lab, given), _reason_against(form, given)
    if here and there:
        raise InputError(here if here == there else f"{here}; over nccl, {there}")
    if there:
        reason = f"its form for GPUs does not take these parameters ({there})"
        return _on_processors(lab, given, reason if devices.usable else devices.note)
    ranks = _job_on(form, given, devices).ranks
    if ranks <= devices.usable:
        return _on_gpus(form, given, devices)
    if here:
        raise InputError(f"{here}; its form for GPUs takes that, but {_shortage(ranks, devices)}")
    return _on_processors(lab, given, _shortage(ranks, devices) if devices.usable else devices.note)


def ranks_on(form: Lab, devices: Devices, nodes: int = 1) -> int:
    """The ranks of *form* where none are given: one per GPU of *nodes*, if the lab takes them."""
    least, most, _ = form.ranks
    return max(least, min(most, devices.usable * nodes // devices.nodes))


def _on_gpus(form: Lab, given: Mapping[str, str], devices: Devices) -> LaunchPlan:
    job = _job_on(form, given, devices)
    if job.ranks > devices.usable:
        fewer = "fewer ranks, or " if devices.usable >= form.ranks[0] else ""
        raise InputError(f"{_shortage(job.ranks, devices)}; take {fewer}gloo, which runs on processors")
    return LaunchPlan(job, "nccl", (sentence(devices.note),) if devices.note else ())


def _job_on(form: Lab, given: Mapping[str, str], devices: Devices) -> LabJob:
    text = given.get(NODES, "")
    nodes = int(text) if text.isdecimal() else 1  # otherwise read_job says what is wrong
    return read_job(form, {RANKS: str(ranks_on(form, devices, nodes)), **given})


def _on_processors(lab: Lab, given: Mapping[str, str], why: str = "") -> LaunchPlan:
    notes = (sentence(f"on processors, over gloo: {why}"),) if why else ()
    job = read_job(lab, given)
    refuse_too_long(job)
    return LaunchPlan(job, "gloo", notes)


def _reason_against(form: Lab, given: Mapping[str, str]) -> str:
    """Why *form* does not take the parameters *given*; empty if it does."""
    try:
        read_job(form, given)
    except InputError as error:
        return str(error)
    return ""


def _shortage(ranks: int, devices: Devices) -> str:
    have = {0: "there is none", 1: "there is 1 GPU"}.get(devices.usable, f"there are {devices.usable} GPUs")
    need = "1 rank" if ranks == 1 else f"{ranks} ranks"
    says = devices.note or devices.setting
    why = f" ({says})" if says else ""
    return f"NCCL needs one GPU per rank: {need}, and {have}{why}"


_POLL, _CLOSELY = 0.05, 1.0  # seconds from one look at a run to the next: a glance, a close look


class Launcher(ABC):
    """Starts runs and reports on them; they are stored in *folder*."""

    host: str  # the machine or cluster that they run on
    most_nodes = 1  # nodes of one run
    ends_with_us = True  # whether runs end when this process does

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def trouble(self) -> str:
        """Why nothing can run here, and what to do about it; empty if all seems well."""

    @abstractmethod
    def devices(self, patience: float | None = None) -> Devices:
        """The GPUs that a run may use; with *patience*, none, and a note, if it takes more seconds to know them."""

    def plan(
        self, lab: Lab, given: Mapping[str, str], asked: str = "auto", patience: float | None = None
    ) -> LaunchPlan:
        """What to start for *lab* with the parameters *given*, over nccl, gloo or auto, as *asked*.

        *patience* is for `devices`.

        Raises:
            InputError: a parameter is not valid, the lab has no form for GPUs, or GPUs or nodes are missing.
        """
        plan = plan_job(lab, given, asked, lambda: self.devices(patience))
        return replace(plan, job=self.with_nodes(plan.job, plan.backend))

    def with_nodes(self, job: LabJob, backend: str) -> LabJob:
        """*job* with the number of nodes that it takes over *backend*."""
        if job.nodes not in (None, 1):
            raise InputError(
                f"{job.nodes} nodes require a cluster, and labs run on this machine alone; take "
                "nodes=1, or set WALLCLOCK_LAB_LAUNCHER=slurm"
            )
        return job.on_nodes(1)

    @abstractmethod
    def pool_of(self, name: str, backend: str) -> str:
        """The devices that the run *name* needs exclusively."""

    @abstractmethod
    def start(
        self, job: LabJob, backend: str = "gloo", patience: float = 1.0, name: str = "", notes: Sequence[str] = ()
    ) -> LabRun:
        """Start *job*, in its form for *backend*; *notes* are stored with the run.

        It waits up to *patience* seconds until its devices are free.

        Raises:
            UnavailableError: it cannot be started.
        """

    @abstractmethod
    def cancel(self, run: LabRun) -> None:
        """Stop *run*; its ranks exit soon after."""

    @abstractmethod
    def close(self) -> None:
        """Release what runs need; runs that cannot go on without this process are stopped."""

    def outcome_of(self, run: LabRun) -> RunOutcome | None:
        """How *run* ended; None while it runs."""
        return run.outcome

    def says_of(self, run: LabRun) -> str:
        """What *run* waits for, in a few words."""
        return ""

    def follow(self, run: LabRun) -> Iterator["Event | WaitingReason"]:
        """The events of *run* as they come, and what it waits for, until it has ended."""
        follower, seen = Follower(self, run), 0
        while True:
            news = follower.look()
            if news.says is not None:
                yield WaitingReason(news.says)
            if news.has_grown:
                events = run.events()
                yield from events[seen:]
                seen = len(events)
            if news.outcome:
                return
            time.sleep(_POLL)

    def run_called(self, name: str) -> LabRun:
        """The run with that name.

        Raises:
            NotFoundError: the run does not exist; the message offers the closest name.
        """
        known = [path.name for path in self.folder.glob("*/") if (path / "job.json").exists()]
        if name not in known:
            raise NotFoundError(f"no run is called {name[:80]!r}{nearest(name[:80], known)}")
        return LabRun(self.folder / name)


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """What a run waits for now."""

    says: str


@dataclass(frozen=True, slots=True)
class News:
    """What is new about a run: what it waits for, whether it has reported more, how it ended."""

    says: str | None
    has_grown: bool
    outcome: RunOutcome | None


class Follower:
    """Looks at a run again and again.

    Most looks are cheap, so as not to disturb the ranks; once a second, and when the outcome is
    written, it looks closely.
    """

    def __init__(self, launcher: Launcher, run: LabRun) -> None:
        self.run = run
        self._launcher = launcher
        self._says, self._size, self._looked = "", -1, -math.inf

    def look(self) -> News:
        """What has changed since the last look."""
        outcome, says = None, self._says
        if self.run.has_ended or time.monotonic() - self._looked >= _CLOSELY:
            outcome, self._looked = self._launcher.outcome_of(self.run), time.monotonic()
            says = "" if outcome else self._launcher.says_of(self.run)
        size = self.run.size
        news = News(
            says=says if says != self._says else None,
            has_grown=self.run.has_begun and (outcome is not None or size != self._size),
            outcome=outcome,
        )
        self._says, self._size = says, size if news.has_grown else self._size
        return news


def write_run(
    folder: Path,
    job: LabJob,
    backend: str,
    name: str = "",
    *,
    launcher: Literal["local", "slurm", "by hand"],
    patience: float = 0.0,
    starting: float = 300.0,
    network: str = "",
    notes: Sequence[str] = (),
    devices: Devices = NO_DEVICES,
) -> LabRun:
    """A new run of *job* in *folder*, with its job written there; it will use *devices*.

    *patience* is the wait for devices, *starting* that of the ranks for each other, on *network*.
    """
    run = LabRun(folder / (name or new_name(job.lab.name)))
    record = JobRecord(
        id=run.id,
        lab=job.lab.name,
        ranks=job.ranks,
        nodes=job.nodes,
        values=job.values,
        backend=backend,
        links=job.lab.links,
        worker=str(job.lab.worker),
        seconds=job.lab.seconds,
        refuses_busy=job.refuses_busy,
        devices="gpu" if backend == "nccl" else "cpu",
        gpus=tuple(one.uuid for one in devices.devices if one.uuid),
        describer="" if launcher == "local" else description.__name__,
        command=job.command,
        given=job.given,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=describe_machine(devices),
        launcher=launcher,
        patience=patience,
        starting=starting,
        network=network,
        notes=tuple(notes),
    )
    try:
        run.write_job(record)
    except OSError as error:
        raise UnavailableError(f"the run cannot be stored: {error}") from error
    return run
