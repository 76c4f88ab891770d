"""What the steps of the check look at, and what they found."""

import contextlib
import json
import math
import os
import re
import resource
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from app.core.errors import UnavailableError
from app.core.units import scale_of, show_in
from app.core.yaml_file import read_document
from app.labs.launch.base import Launcher
from app.labs.launch.local import LocalLauncher, launcher_of
from app.labs.machines.devices import Devices
from app.labs.machines.vendor import Output, run_vendor_tool
from app.labs.results.analysis import report_of
from app.labs.results.report import WHAT_TO_DO, Report
from app.labs.run import LabRun
from app.labs.runner.events import ReadyEvent
from app.labs.spec import FrozenModel, Lab, LabJob, Parameter, Value, lab_called
from app.server.config import Settings
from app.server.db.run_state import RunState


class CheckVerdict(StrEnum):
    """How a finding compares with what is expected, the worst last."""

    UNKNOWN = "could not be checked"
    PASSED = "passed"
    ODD = "odd"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that a step looked at; *cure* says what to do about it, in sentences.

    What was measured is also a number: *value* in the base unit of *unit*.
    """

    name: str
    verdict: CheckVerdict
    found: str
    expected: str = ""
    cure: str = ""
    source: str = ""
    value: float | None = None
    unit: str = ""

    @classmethod
    def passed(cls, name: str, found: str, expected: str = "") -> Self:
        """What is as expected."""
        return cls(name, CheckVerdict.PASSED, found, expected)

    @classmethod
    def odd(cls, name: str, found: str, expected: str, cure: str) -> Self:
        """What is not as expected, though runs may work."""
        return cls(name, CheckVerdict.ODD, found, expected, cure)

    @classmethod
    def failed(cls, name: str, found: str, expected: str, cure: str) -> Self:
        """What makes runs fail, or their results wrong."""
        return cls(name, CheckVerdict.FAILED, found, expected, cure)

    @classmethod
    def unknown(cls, name: str, why: str, cure: str = "") -> Self:
        """What could not be checked, and why."""
        return cls(name, CheckVerdict.UNKNOWN, why, "", cure)


@dataclass(frozen=True, slots=True)
class CheckStep:
    """A step that was taken, and the *seconds* that it took."""

    number: int
    title: str
    findings: tuple[CheckFinding, ...]
    seconds: float

    @property
    def verdict(self) -> CheckVerdict:
        """The worst verdict of its findings."""
        found = (finding.verdict for finding in self.findings)
        return max(found, key=list(CheckVerdict).index, default=CheckVerdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All steps, and what they looked at."""

    at: str
    host: str
    command: str
    steps: tuple[CheckStep, ...]

    @property
    def has_failed(self) -> bool:
        """Whether something failed; what is odd or could not be checked did not."""
        return any(step.verdict is CheckVerdict.FAILED for step in self.steps)

    def as_json(self) -> str:
        """Everything as JSON."""
        steps = [{**asdict(step), "verdict": step.verdict} for step in self.steps]
        return json.dumps({**asdict(self), "steps": steps}, ensure_ascii=False)


_TABLE = Path(__file__).with_name("reference_values.yaml")
What = Literal[
    "latency", "latency with launch", "bandwidth", "bandwidth of two nodes", "bf16 product", "tf32 product",
    "fp32 product", "copy", "NVLinks", "NVLink",
]  # fmt: skip


class Expectation(FrozenModel):
    """From *least* to *most*, in *unit*, is expected of a GPU whose name has the pattern *gpu*.

    Beyond *fails_below* or *fails_above* something is wrong. *low* and *high* are the cures of numbers outside of the
    range, *impossible* that of numbers above *fails_above*. With *ranks*, it holds for that number of them.
    """

    what: What
    gpu: re.Pattern[str]
    ranks: int = 0
    least: float
    most: float = Field(default=float("inf"))
    unit: str = ""
    fails_below: float = 0.0
    fails_above: float = Field(default=float("inf"))
    low: str = ""
    high: str = ""
    impossible: str = ""
    source: str

    def shown(self) -> str:
        """The range in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.most == float("inf"):
            return f"{self.least:g}{unit} or more"
        if self.least == self.most:
            return f"{self.least:g}{unit}"
        return f"{self.least:g} to {self.most:g}{unit}"

    def verdict_on(self, number: float) -> CheckVerdict:
        """How *number*, in its unit, compares with the range."""
        if number < self.fails_below or number > self.fails_above:
            return CheckVerdict.FAILED
        return CheckVerdict.PASSED if self.least <= number <= self.most else CheckVerdict.ODD


class _Table(FrozenModel):
    status: str
    numbers: tuple[Expectation, ...]


@cache
def _table() -> _Table:
    return _Table.model_validate(read_document(_TABLE).values)


def status() -> str:
    """What the expectations are worth, as a sentence."""
    return _table().status


def expectation(what: What, gpu: str, ranks: int = 0) -> Expectation | None:
    """What is expected of the GPU called *gpu*; None if nothing is known of it."""
    for one in _table().numbers:
        if one.what == what and one.gpu.search(gpu) and one.ranks in (0, ranks):
            return one
    return None


def compare_expected(name: str, value: float, unit: str, what: What, gpu: str, ranks: int = 0) -> CheckFinding:
    """*value*, in the base unit of *unit*, against what is expected of the GPU called *gpu*."""
    scale = scale_of(unit)
    shown = show_in(value, scale, 3)
    one = expectation(what, gpu, ranks)
    if one is None:
        of = f"{ranks} × {gpu}" if ranks else gpu
        found = CheckFinding.unknown(name, f"{shown}; what is usual for {of} is not known here")
        return replace(found, value=value, unit=unit)
    number = value / scale_of(one.unit).factor
    cure = one.low if number < one.least else one.high
    if number > one.fails_above:
        cure = one.impossible or one.high
    return CheckFinding(name, one.verdict_on(number), shown, one.shown(), cure, one.source, value, unit)


_PATIENCE = 600.0  # seconds until the devices are free
_ASKING = 120.0  # seconds for a tool: nccl-tests takes longer than all others
_LOOK = 0.2  # seconds between an answer of a tool and the next question, during a run
_OWN_PIDS = "/proc/self/ns/pid"
_ALL_PIDS = "pid:[4026531836]"  # the kernel's first namespace (PROC_PID_INIT_INO), which sees all


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """How a run went: its report, and the *seconds* until its ranks had met and until it ended."""

    report: Report
    joined: float = 0.0
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether it ended well, and its data was right."""
        return self.report.state is RunState.DONE and all(self.report.checks.values())

    def judged(self, finding: CheckFinding) -> CheckFinding:
        """*finding*, which is about times of this run, or that nothing is known, since something disturbed it."""
        if not self.report.doubts:
            return finding
        says = f"{finding.found}, which was disturbed, and so was a second run. {' '.join(self.report.doubts)}"
        return CheckFinding.unknown(finding.name, says, WHAT_TO_DO)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFailure:
    """How a run went that failed on purpose; *left* are its processes that still ran after it."""

    state: RunState
    cause: str
    seconds: float
    left: tuple[int, ...] = ()


@dataclass(slots=True)
class World:
    """The machine of this process, and runs on it or, through Slurm, elsewhere.

    *quick* leaves out what takes minutes; *record* is the file for runs that a server takes. The
    check has *begun* that many seconds after the machine was started.
    """

    settings: Settings
    quick: bool = False
    record: Path | None = None
    begun: float = field(default_factory=time.monotonic, init=False)  # as the log of the kernel counts
    _launcher: Launcher = field(init=False)
    _process: tuple[str, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._launcher = launcher_of(self.settings)

    @property
    def is_slurm(self) -> bool:
        """Whether runs are jobs of Slurm."""
        return self.settings.lab_launcher == "slurm"

    @property
    def nodes(self) -> int:
        """How many nodes a run may use."""
        return self.settings.slurm_nodes if self.is_slurm else 1

    def close(self) -> None:
        """Stop whatever runs."""
        self._launcher.close()

    def devices(self) -> Devices:
        """The GPUs that a run may use."""
        with contextlib.suppress(UnavailableError):  # told by the step that needs it
            self.torch_process()
        return self._launcher.devices()

    def ask(self, *command: str) -> Output:
        """What a tool prints."""
        return run_vendor_tool(command, _ASKING)

    def sees_all_processes(self) -> bool:
        """Whether this process could see those of others: in most containers it cannot."""
        try:
            return os.readlink(_OWN_PIDS) == _ALL_PIDS
        except OSError:
            return False

    def names_in(self, folder: str) -> list[str]:
        """The files of *folder*; none if it is not there."""
        try:
            return sorted(path.name for path in Path(folder).iterdir())
        except OSError:
            return []

    def size_of(self, folder: str) -> float:
        """Bytes of the file system of *folder*; 0 if it is not there."""
        try:
            return float(shutil.disk_usage(folder).total)
        except OSError:
            return 0.0

    def locked_memory(self) -> float:
        """Bytes that a process may lock in memory; infinite if there is no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        return math.inf if soft == resource.RLIM_INFINITY else float(soft)

    def torch_process(self) -> tuple[str, float]:
        """The version of torch in the process from which ranks are forked, and the seconds of its import."""
        if self._process is None and isinstance(self._launcher, LocalLauncher):
            begun = time.monotonic()
            self._process = self._launcher.warm(), time.monotonic() - begun
        if self._process is None:
            raise UnavailableError("under Slurm, each rank imports torch by itself")
        return self._process

    def run(self, lab: str, given: Mapping[str, str], backend: str = "auto") -> CheckRun:
        """Run *lab* to its end, and once more if something disturbed it."""
        ran = self.run_once(lab, given, backend)
        return self.run_once(lab, given, backend) if ran.report.doubts else ran

    def run_once(self, lab: str, given: Mapping[str, str], backend: str) -> CheckRun:
        """Run *lab* to its end."""
        launcher, begun = self._launcher, time.time()
        plan = launcher.plan(lab_called(lab), given, backend)
        run = launcher.start(plan.job, plan.backend, _PATIENCE, notes=plan.notes)
        _wait(launcher, run)
        seconds = time.time() - begun
        joined = next((event.at - begun for event in run.events() if isinstance(event, ReadyEvent)), seconds)
        return CheckRun(report=report_of(run), joined=joined, seconds=seconds)

    def run_watched(self, lab: str, given: Mapping[str, str], *command: str) -> tuple[CheckRun, Sequence[Output]]:
        """Run *lab* over nccl, and what a tool prints meanwhile, again and again."""
        ended = threading.Event()

        def ask() -> list[Output]:
            said = [self.ask(*command)]
            while not ended.wait(_LOOK):
                said.append(self.ask(*command))
            return said

        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask)
            try:
                ran = self.run(lab, given, "nccl")
            finally:
                ended.set()
            return ran, asked.result()

    def fail(self, what: str, rank: int, ranks: int, backend: str, seconds: float) -> CheckFailure:
        """Let *rank* of *ranks* go wrong in a run that may take *seconds*; `nothing`: none does."""
        begun = time.monotonic()
        run = self._launcher.start(failing_job(what, rank, ranks, seconds), backend, _PATIENCE)
        _wait(self._launcher, run)
        lasted = time.monotonic() - begun
        outcome = self._launcher.outcome_of(run)
        return CheckFailure(
            state=outcome.state if outcome else RunState.LOST,
            cause=outcome.cause if outcome else "it has no outcome",
            seconds=lasted,
            left=() if self.is_slurm else tuple(self._left(run)),
        )

    def _left(self, run: LabRun) -> Iterator[int]:
        """The ranks of *run* that are still there, or still hold a GPU."""
        fields = ("--query-compute-apps=pid", "--format=csv,noheader")
        holding = self.ask("nvidia-smi", *fields).text.split()
        for path in sorted(run.folder.glob("pid*")):
            pid = path.read_text()
            if pid in holding or (Path("/proc") / pid).exists():
                yield int(pid)


def _wait(launcher: Launcher, run: LabRun) -> None:
    for _ in launcher.follow(run):
        continue


def failing_job(what: str, rank: int, ranks: int, seconds: float) -> LabJob:
    """A run in which *rank* does *what*: not a lab, though it runs as one."""
    whole = Parameter(says="a number", start=0, whole=True)
    lab = Lab(
        name="check",
        title="Check",
        links="real",
        summary="Ranks sum, and one of them may go wrong.",
        question="Which one?",
        ranks=(1, 1024, 2),
        seconds=seconds,
        parameters={"what": Parameter(says="what", start=what), "bad": whole, "seconds": whole},
        measures={},
        asks="",
        explains="",
    )
    values: dict[str, Value] = {"what": what, "bad": float(rank), "seconds": seconds}
    given = {"ranks": str(ranks), "what": what, "bad": str(rank), "seconds": f"{seconds:g}"}
    return LabJob(lab, ranks, values, given)
