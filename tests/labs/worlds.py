"""Machines and clusters for the check: what their tools print, and how runs on them go."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.core.units import BYTE, parse
from app.labs.check.world import CheckFailure, CheckRun, World
from app.labs.machines.devices import NO_DEVICES, Devices
from app.labs.machines.machine import MachineFacts
from app.labs.machines.vendor import Output
from app.labs.results.report import DerivedValue, Measure, Report
from app.server.config import Settings
from app.server.db.run_state import RunState
from tests.labs.gpus import H100, machine
from tests.labs.smi import smi_log

GB, TB, TFLOP = 1e9, 1e12, 1e12
_LINKS = "\n".join(f"\t Link {link}: 26.562 GB/s" for link in range(18))


def linked(count: int = 8, text: str = _LINKS) -> Output:
    """What `nvidia-smi nvlink -s` prints."""
    return Output("\n".join(f"GPU {n}: {H100} (UUID: GPU-{n})\n{text}" for n in range(count)))


def of_dgx() -> dict[str, Output]:
    """The answers of a healthy DGX H100, by the beginnings of the questions."""
    return {
        "nvidia-smi -L": Output("\n".join(f"GPU {n}: {H100} (UUID: GPU-{n})" for n in range(8))),
        "nvidia-smi nvlink -s": linked(),
        "nvidia-smi -q -x": Output(smi_log()),
        "dmesg": Output("[    1.000000] Linux version 6.8.0\n"),
    }


@dataclass(kw_only=True)
class Speeds:
    """How fast a machine is; what it measures, in base units."""

    small: float = 25e-6
    with_launch: float = 80e-6
    bus: float = 475 * GB
    nodes: float = 330 * GB
    products: dict[str, float] = field(
        default_factory=lambda: {"bf16": 680 * TFLOP, "tf32": 400 * TFLOP, "fp32": 51 * TFLOP}
    )
    copy: float = 2.9 * TB
    by_rank: tuple[float, ...] = ()


@dataclass(kw_only=True)
class FakeWorld(World):
    """A machine that the check looks at; *faults* are the causes of runs that fail on purpose."""

    settings: Settings = field(default_factory=Settings)
    gpus: Devices = NO_DEVICES
    said: dict[str, Output] = field(default_factory=dict)
    speeds: Speeds = field(default_factory=Speeds)
    transport: str = "NVLS, P2P/CUMEM"
    throttled: str = "by the power limit for 80% of the run"
    quick: bool = False
    record: Path | None = None
    is_slurm: bool = False
    nodes: int = 1
    is_container: bool = False
    shared_memory: float = 2.0**40
    lockable: float = math.inf
    begun: float = 1000.0
    cards: tuple[str, ...] = ("mlx5_0", "mlx5_1")
    joined: float = 3.0
    importing: float = 2.0  # seconds for torch
    failing: dict[str, str] = field(default_factory=dict)  # causes by lab
    faults: dict[str, str] = field(default_factory=dict)
    lasting: float = 1.0
    left: tuple[int, ...] = ()
    ran: list[str] = field(default_factory=list)
    disturbed: int = 0  # runs, from the first on

    def __post_init__(self) -> None:
        """Nothing runs."""

    def devices(self) -> Devices:
        return self.gpus

    def ask(self, *command: str) -> Output:
        text = " ".join(command)
        fitting = [start for start in self.said if text.startswith(start)]
        closest = max(fitting, key=len, default="")
        return self.said[closest] if fitting else Output("", f"{command[0]} cannot be run: No such file")

    def sees_all_processes(self) -> bool:
        return not self.is_container

    def names_in(self, folder: str) -> list[str]:
        return list(self.cards)

    def size_of(self, folder: str) -> float:
        return self.shared_memory

    def locked_memory(self) -> float:
        return self.lockable

    def torch_process(self) -> tuple[str, float]:
        return "2.13.0", self.importing

    def run_once(self, lab: str, given: Mapping[str, str], backend: str) -> CheckRun:
        self.ran.append(" ".join([lab, backend, *map("=".join, given.items())]))
        cause = self.failing.get(lab, "")
        if cause:
            return CheckRun(report=self._report(lab, given, (), RunState.FAILED, cause), seconds=1.0)
        measures = tuple(self._measures(lab, given))
        report = replace(self._report(lab, given, measures), doubts=self._doubts())
        return CheckRun(report=report, joined=self.joined, seconds=5.0)

    def fail(self, what: str, rank: int, ranks: int, backend: str, seconds: float) -> CheckFailure:
        self.ran.append(f"{what} on {rank} of {ranks} over {backend}")
        if what in ("nothing", "products"):
            cause = self.faults.get(what, "")
            state = RunState.FAILED if cause else RunState.DONE
            return CheckFailure(state=state, cause=cause, seconds=0.5)
        cause = self.faults.get(what, f"rank {rank}: it went wrong, as rank 0 noticed")
        return CheckFailure(state=RunState.FAILED, cause=cause, seconds=self.lasting, left=self.left)

    def _doubts(self) -> tuple[str, ...]:
        """What disturbed the run that has just ended."""
        self.disturbed -= 1
        return ("Rank 3 had no core.",) if self.disturbed >= 0 else ()

    def _measures(self, lab: str, given: Mapping[str, str]) -> list[Measure]:
        speeds = self.speeds
        if lab == "all-reduce":
            return self._collectives(given)
        if lab == "matrix-product":
            one = measure("time", {"side": 8192}, 1e-3, rate=speeds.products[given["format"]])
            return [replace(one, by_rank=speeds.by_rank)]
        return [measure("time", {"size": 2.0**32}, 1e-3, bandwidth=speeds.copy)]

    def _collectives(self, given: Mapping[str, str]) -> list[Measure]:
        speeds, ranks = self.speeds, int(given["ranks"])
        bus = speeds.nodes if ranks > len(self.gpus.devices) // max(self.nodes, 1) else speeds.bus
        found = []
        for size in (parse(text, BYTE) for text in given["sizes"].split(",")):
            at = {"size": size}
            found.append(measure("time", at, speeds.small, **{"bus bandwidth": bus}))
            found.append(measure("time with launch", at, speeds.with_launch))
        return found

    def _report(
        self,
        lab: str,
        given: Mapping[str, str],
        measures: tuple[Measure, ...],
        state: RunState = RunState.DONE,
        cause: str = "",
    ) -> Report:
        ranks = int(given.get("ranks", "1"))
        details = {"transport": self.transport, "throttled": self.throttled}
        return Report(
            id="1", lab=lab, state=state, cause=cause, seconds=1.0, at="2026-11-22T10:00:00",
            command="", ranks=ranks, world=ranks, backend="nccl", links="real",
            machine=MachineFacts(
                gpus=tuple(one.name for one in self.gpus.devices),
                uuids=tuple(one.uuid for one in self.gpus.devices),
            ),
            versions={"torch": "2.13.0", "nccl": "2.27.3"}, checks={"sums": True},
            measures=measures, details=details,
        )  # fmt: skip


def measure(name: str, where: Mapping[str, float], median: float, **derived: float) -> Measure:
    """A measure with one sample."""
    return Measure(
        name=name, where=where, count=1, least=median, median=median, p90=median, samples=(median,),
        derived={key: DerivedValue(value, str(value)) for key, value in derived.items()},
    )  # fmt: skip


def dgx(said: Mapping[str, Output] | None = None, **more: Any) -> FakeWorld:
    """A healthy DGX H100, but for what a test changes."""
    answers = {**of_dgx(), **(said or {})}
    return FakeWorld(**{"gpus": machine(8), "said": answers, **more})
