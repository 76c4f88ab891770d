"""`wallclock lab check`: the first hour on a machine with GPUs; `--nodes`: on each node of a cluster, side by side."""

import contextlib
import json
import re
import shlex
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.commands.files import write_rows
from app.core.errors import InputError, UnavailableError, capitalize
from app.core.units import scale_of, show_in
from app.labs.check.steps import STEPS, report_check, take_steps
from app.labs.check.world import CheckFinding, CheckReport, CheckStep, CheckVerdict, World, status
from app.labs.launch.slurm import SiteLines, last_line, resource_options, slurm_output
from app.labs.run import new_name
from app.labs.runner.job import write_whole
from app.server.config import Settings


def run(arguments: Namespace) -> int:
    """Take the steps, and show what was found; a failure is exit code 1."""
    if arguments.nodes:
        return run_on_nodes(arguments)
    record = Path(arguments.record) if arguments.record else None
    steps = []
    with closing(World(Settings(), quick=arguments.quick, record=record)) as world:
        for step in take_steps(world):
            steps.append(step)
            if not arguments.json:
                sys.stdout.write("\n".join(step_lines(step)) + "\n")
                sys.stdout.flush()
            elif sys.stderr.isatty():
                sys.stderr.write(f"{step.number} of {len(STEPS)}: {step.title}\n")
    result = report_check(tuple(steps), _command(arguments))
    if arguments.json:
        sys.stdout.write(result.as_json() + "\n")
    else:
        sys.stdout.write(f"\n{check_summary(result)} {status()}\n")
        sys.stdout.write(f"{result.command} on {result.host}, {result.at}\n")
    return NodeHealth.FAILED if result.has_failed else NodeHealth.HEALTHY


def _command(arguments: Namespace) -> str:
    """The command as it was typed."""
    words = ["wallclock", "lab", "check", *(["--nodes", arguments.nodes] if arguments.nodes else [])]
    words += ["--quick"] if arguments.quick else []
    return shlex.join([*words, *(["--record", arguments.record] if arguments.record else [])])


def step_lines(step: CheckStep) -> Iterator[str]:
    """A step as lines of plain text."""
    yield f"{step.number:2}. {step.title}: {step.verdict}  ({step.seconds:.0f} s)"
    for one in step.findings:
        yield f"      {one.verdict:<20}  {one.name}: {one.found}"
        if one.expected and one.verdict is not CheckVerdict.PASSED:
            yield f"{'':28}expected: {one.expected}"
        if one.cure and one.verdict is not CheckVerdict.PASSED:
            yield f"{'':28}{one.cure}"


def check_summary(report: CheckReport) -> str:
    """How many findings have each verdict, the worst first, as a sentence."""
    verdicts = [one.verdict for step in report.steps for one in step.findings]
    counts = (f"{verdicts.count(one)} {one}" for one in reversed(CheckVerdict) if one in verdicts)
    return f"{capitalize(', '.join(counts))}."


_FEWEST = 3  # nodes, from which on a median says which one is off
# How far healthy nodes may be off the median: times, products, speedups, and by default copies and bandwidths.
_USUAL: Mapping[str, float] = {"us": 0.25, "TFLOP/s": 0.06, "": 0.1}
_OTHERWISE = 0.03
_TIMES = ("us", "s")  # of which more is slower
_UNJUDGED = "with its launch"  # at the end of a name: the host's doing
_DEVIATIONS = 4.0
_OF_MEDIAN = 1.4826  # a standard deviation over the median of absolute deviations, where they are normal
_REPORT: TypeAdapter[CheckReport] = TypeAdapter(CheckReport)


class NodeHealth(IntEnum):
    """The exit code of a node: what failed is worse than what is slow."""

    HEALTHY = 0
    FAILED = 1
    OUTLIER = 3  # argparse exits with 2


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """The check of *node*, or the *trouble* that left it without a report."""

    node: str
    report: CheckReport | None
    trouble: str = ""

    @property
    def findings(self) -> Sequence[CheckFinding]:
        """Everything that was found, in the order of the steps."""
        return [one for step in (self.report.steps if self.report else ()) for one in step.findings]

    @property
    def gpus(self) -> str:
        """Its GPUs and their driver, in words: nodes with the same ones are compared."""
        return next((one.found for one in self.findings if one.name == "GPUs"), "")

    @property
    def numbers(self) -> Mapping[str, CheckFinding]:
        """What was measured, by name."""
        return {one.name: one for one in self.findings if one.value is not None}


@dataclass(frozen=True, slots=True)
class NodeOutlier:
    """A number called *name* of *node*, and the *median* of the nodes with the same GPUs."""

    node: str
    name: str
    value: float
    unit: str
    median: float

    @property
    def share(self) -> float:
        """How far it is off the median, as a part of it."""
        return self.value / self.median - 1


@dataclass(frozen=True, slots=True)
class NodeComparison:
    """All nodes, and the numbers that are off."""

    checks: tuple[NodeCheck, ...]
    outliers: tuple[NodeOutlier, ...]

    def health(self, check: NodeCheck) -> NodeHealth:
        """The exit code of the node of *check*; one without a report has failed."""
        if check.report is None or check.report.has_failed:
            return NodeHealth.FAILED
        is_off = any(one.node == check.node for one in self.outliers)
        return NodeHealth.OUTLIER if is_off else NodeHealth.HEALTHY

    @property
    def worst(self) -> NodeHealth:
        """The exit code of all nodes together."""
        found = {self.health(one) for one in self.checks}
        worst_first = (NodeHealth.FAILED, NodeHealth.OUTLIER)
        return next((one for one in worst_first if one in found), NodeHealth.HEALTHY)


def confirm_nodes(first: NodeComparison, again: Sequence[NodeCheck]) -> NodeComparison:
    """The nodes of *first*, with what is off in the second check of some nodes, too."""
    later = {one.node: one for one in again}
    second = compare_nodes([later.get(one.node, one) for one in first.checks])
    off = {(one.node, one.name) for one in first.outliers}
    return NodeComparison(second.checks, tuple(one for one in second.outliers if (one.node, one.name) in off))


def compare_nodes(checks: Sequence[NodeCheck]) -> NodeComparison:
    """The nodes of *checks* side by side."""
    of_a_kind: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for check in checks:
        for name, one in check.numbers.items():
            values = of_a_kind.setdefault((check.gpus, name, one.unit), [])
            values.append((check.node, one.value or 0.0))
    found = [
        NodeOutlier(node, name, value, unit, median)
        for (_, name, unit), values in of_a_kind.items()
        if len(values) >= _FEWEST and not name.endswith(_UNJUDGED)
        if (median := statistics.median(value for _, value in values))
        for limit in [_limit([value / median for _, value in values], unit)]
        for node, value in values
        if (value / median - 1) * (1 if unit in _TIMES else -1) > limit  # slower: more time, or a lower rate
    ]
    return NodeComparison(tuple(checks), tuple(found))


def _limit(shares: Sequence[float], unit: str) -> float:
    """How much slower than the median a node may be, where all have these *shares* of it."""
    deviation = _OF_MEDIAN * statistics.median(abs(one - 1) for one in shares)
    return max(_USUAL.get(unit, _OTHERWISE), _DEVIATIONS * deviation)


ALL = "all"
_MINUTES, _QUICK_MINUTES, _ENDING = 30, 10, 1  # the last one is left for the end of the job
_KILL = 10  # seconds from SIGTERM to SIGKILL
_ARRIVAL = 3.0  # seconds until files that were written on a node are here
_AWAY = re.compile(r"\A(?:down|drain|fail|unk|.*\*$)", re.IGNORECASE)  # * does not answer
_SCRIPT = """\
#!/bin/bash
{site_header}
{site_setup}
export WALLCLOCK_LAB_LAUNCHER=local WALLCLOCK_RUNS={runs}
timeout --signal=TERM --kill-after={kill} {seconds} \\
  srun --ntasks=1 --cpu-bind=none {words}{python} -m app lab check --json{options} > {report}.new
mv {report}.new {report}
"""


def node_states(names: str, partition: str) -> Mapping[str, str]:
    """The state of each node in *names*, as Slurm writes lists of nodes, or of all of them."""
    which = [] if names == ALL else [f"--nodes={names}"]
    where = [f"--partition={partition}"] if partition else []
    done = slurm_output("sinfo", "--noheader", "--Node", "--format=%N %T", *which, *where)
    if done.returncode:
        raise UnavailableError(f"sinfo: {last_line(done.stderr)}")
    found = dict(line.split()[:2] for line in done.stdout.splitlines() if line.strip())
    if not found:
        raise InputError(f"Slurm knows no nodes {names}")
    return found


def check_nodes(settings: Settings, names: str, *, quick: bool) -> Iterator[NodeCheck]:
    """The check of each node in *names*, as soon as it has ended."""
    states, site = node_states(names, settings.slurm_partition), SiteLines.read(settings.slurm_site)
    folder = settings.runs / new_name("check")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UnavailableError(f"{folder}: {error.strerror}") from error
    away = {node: state for node, state in states.items() if _AWAY.match(state)}
    yield from (NodeCheck(node, None, f"Slurm says that it is {state}") for node, state in away.items())
    jobs = [_NodeJob(node, folder, settings, site, quick) for node in states if node not in away]
    with ThreadPoolExecutor(max(1, len(jobs))) as pool:
        try:
            for done in as_completed([pool.submit(job.run) for job in jobs]):
                yield done.result()
        finally:  # what has not ended
            with contextlib.suppress(UnavailableError):
                if jobs:
                    slurm_output("scancel", "--me", f"--name={','.join(job.name for job in jobs)}")


@dataclass(frozen=True, slots=True)
class _NodeJob:
    """The check of *node* as a job of Slurm, whose files are in *folder*."""

    node: str
    folder: Path
    settings: Settings
    site: SiteLines
    quick: bool

    @property
    def name(self) -> str:
        """The name by which it can be canceled."""
        return f"{self.folder.name}-{self.node}"

    def run(self) -> NodeCheck:
        """Submit it, and wait until it has ended, or has waited for too long."""
        script, report = self.folder / f"{self.node}.sh", self.folder / f"{self.node}.json"
        write_whole(script, self._script(report).encode())
        log = report.with_suffix(".log")
        command = ["sbatch", "--wait", "--parsable", *self._options(log), str(script)]
        most = self.settings.slurm_patience + 60 * self._minutes
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=most)
        except subprocess.TimeoutExpired:
            slurm_output("scancel", "--me", f"--name={self.name}")
            return NodeCheck(
                self.node, None, f"its job had not ended after {most:.0f} s, most of them in Slurm's queue"
            )
        except OSError as error:
            return NodeCheck(self.node, None, f"sbatch cannot be run: {error.strerror}")
        if not done.stdout.strip():
            return NodeCheck(self.node, None, f"Slurm rejected it: {last_line(done.stderr)}")
        end = time.monotonic() + _ARRIVAL
        while not report.exists() and time.monotonic() < end:
            time.sleep(_ARRIVAL / 10)
        return read_node_check(self.node, _text_of(report), f"its job has ended: {_last_words(_text_of(log))}")

    @property
    def _minutes(self) -> int:
        return _QUICK_MINUTES if self.quick else _MINUTES

    def _script(self, report: Path) -> str:
        settings = self.settings
        return _SCRIPT.format(
            site_header=self.site.header, site_setup=self.site.setup, kill=_KILL,
            runs=shlex.quote(str(self.folder / self.node)), report=shlex.quote(str(report)),
            seconds=60 * (self._minutes - _ENDING), options=" --quick" if self.quick else "",
            words=f"{settings.slurm_srun} " if settings.slurm_srun else "",
            python=shlex.quote(settings.slurm_python or sys.executable),
        )  # fmt: skip

    def _options(self, log: Path) -> Sequence[str]:
        """The options of sbatch: the whole node, whatever else the settings say."""
        gpus = self.settings.slurm_gpus
        whole = self.settings.model_copy(update={"slurm_exclusive": True})
        return [
            f"--job-name={self.name}", "--nodes=1", "--ntasks=1", f"--nodelist={self.node}",
            f"--time={self._minutes}", "--no-requeue", f"--output={str(log).replace('%', '%%')}",
            *resource_options(max(1, gpus), "nccl" if gpus else "gloo", whole, self.site),
        ]  # fmt: skip


def read_node_check(node: str, text: str, otherwise: str) -> NodeCheck:
    """The check of *node* that was printed as *text*; *otherwise* says why there is none."""
    try:
        return NodeCheck(node, _REPORT.validate_json(text))
    except ValidationError:
        return NodeCheck(node, None, otherwise)


def _last_words(log: str) -> str:
    """The last line of *log* that is not srun's, which only tells that there was an error."""
    lines = log.splitlines()
    return last_line("\n".join(line for line in lines if not line.startswith("srun:")) or log)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


_MARKS: Mapping[CheckVerdict, str] = {
    CheckVerdict.UNKNOWN: "-",
    CheckVerdict.PASSED: "ok",
    CheckVerdict.ODD: "odd",
    CheckVerdict.FAILED: "FAIL",
}


def run_on_nodes(arguments: Namespace) -> int:
    """Check the nodes, and show them side by side; the exit code is that of the worst."""
    settings = Settings()
    if settings.lab_launcher != "slurm":
        raise InputError("--nodes checks the nodes of Slurm; set WALLCLOCK_LAB_LAUNCHER=slurm")
    if arguments.record:
        raise InputError("--record is for one machine; take it without --nodes")
    found = compare_nodes(_checked(settings, arguments.nodes, arguments))
    if slow := sorted({one.node for one in found.outliers}):
        found = confirm_nodes(found, _checked(settings, ",".join(slow), arguments))
    if arguments.json:
        sys.stdout.write(nodes_as_json(found, _command(arguments)) + "\n")
        return found.worst
    sys.stdout.write("\n")
    write_rows(node_rows(found))
    steps = ", ".join(f"{number} {title}" for number, (title, _) in enumerate(STEPS, 1))
    sys.stdout.write(f"\nSteps: {steps}\n")
    sys.stdout.write("".join(f"{line}\n" for line in node_remarks(found)))
    return found.worst


def _checked(settings: Settings, names: str, arguments: Namespace) -> list[NodeCheck]:
    """The checks of the nodes *names*, each shown as soon as it has ended."""
    checks = []
    for check in check_nodes(settings, names, quick=arguments.quick):
        checks.append(check)
        if not arguments.json:
            sys.stdout.write(f"{check.node}: {check_summary(check.report) if check.report else check.trouble}\n")
            sys.stdout.flush()
    return sorted(checks, key=lambda one: one.node)


def node_rows(found: NodeComparison) -> Sequence[Sequence[str]]:
    """A header, then a row per node: its exit code, each step, and each number."""
    steps = list({step.number: None for one in found.checks if one.report for step in one.report.steps})
    names = list({name: None for one in found.checks for name in one.numbers})
    rows = [["node", "exit", *map(str, steps), *names]]
    for check in found.checks:
        taken = {one.number: _MARKS[one.verdict] for one in check.report.steps} if check.report else {}
        off, numbers = {one.name: one.share for one in found.outliers if one.node == check.node}, check.numbers
        cells = {name: show_in(one.value or 0.0, scale_of(one.unit), 3) for name, one in numbers.items()}
        cells |= {name: f"{cells[name]} ({share:+.1%})" for name, share in off.items() if name in cells}
        marks = [taken.get(number, "") for number in steps]
        rows.append([check.node, str(int(found.health(check))), *marks, *(cells.get(name, "") for name in names)])
    return rows


def node_remarks(found: NodeComparison) -> Iterator[str]:
    """What failed, what is odd and what is off, a line each."""
    for check in found.checks:
        if check.trouble:
            yield f"{check.node}: not checked: {check.trouble}"
        for one in check.findings:
            if one.verdict in (CheckVerdict.FAILED, CheckVerdict.ODD):
                expected = f"; expected: {one.expected}" if one.expected else ""
                yield f"{check.node}: {one.verdict}: {one.name}: {one.found}{expected}"
        yield from (f"{one.node}: {_outlier_words(one)}" for one in found.outliers if one.node == check.node)


def nodes_as_json(found: NodeComparison, command: str) -> str:
    """Everything as JSON, with the *command* that checked the nodes."""
    nodes = [
        {
            "node": one.node,
            "exit_code": found.health(one),
            "trouble": one.trouble,
            "report": json.loads(one.report.as_json()) if one.report else None,
        }
        for one in found.checks
    ]
    outliers = [asdict(one) for one in found.outliers]
    return json.dumps({"command": command, "exit_code": found.worst, "nodes": nodes, "outliers": outliers})


def _outlier_words(one: NodeOutlier) -> str:
    scale, side = scale_of(one.unit), "below" if one.share < 0 else "above"
    median = show_in(one.median, scale, 3)
    return f"{one.name}: {show_in(one.value, scale, 3)}, {abs(one.share):.1%} {side} the median of {median}"
