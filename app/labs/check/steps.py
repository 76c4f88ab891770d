"""The twelve steps of the first hour, in their order."""

import math
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from app.core.errors import InputError, UnavailableError
from app.labs.check.gpu_state import judge_log, judge_state, read_state
from app.labs.check.hardware import driver, links, torch_devices
from app.labs.check.kernels import bandwidth, check_copies, nccl, products, two_nodes
from app.labs.check.world import CheckFailure, CheckFinding, CheckReport, CheckStep, World
from app.labs.results.report import WHAT_TO_DO
from app.labs.runner.job import write_whole
from app.server.db.run_state import RunState


def after_the_load(world: World) -> Iterator[CheckFinding]:
    """The state in which the steps before have left the GPUs."""
    devices = world.devices()
    if devices.kind != "cuda":
        yield CheckFinding.unknown(
            "state after the load", devices.why_none if devices.kind == "none" else "not for AMD"
        )
        return
    yield from judge_log(world)
    log, trouble = read_state(world)
    if trouble:
        yield CheckFinding.unknown("state of the GPUs", trouble)
    if log.gpus:
        yield from judge_state(log.gpus)


# With the parameters that labs start with, so that runs of different machines can be compared.
STANDARD: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("all-reduce", {}),
    ("point-to-point", {}),
    ("two-streams", {}),
    ("matrix-product", {}),
    ("memory-copy", {}),
    ("attention", {}),
)
_QUICK: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("all-reduce", {"sizes": "4KiB,64KiB,1MiB"}),
    ("memory-copy", {"sizes": "1MiB,16MiB"}),
)


def record_standard_runs(world: World) -> Iterator[CheckFinding]:
    """Run the standard runs, and write those that nothing disturbed to the file."""
    if world.record is None:
        names = ", ".join(name for name, _ in STANDARD)
        cure = f"--record FILE runs {names}, and writes a file to send in."
        yield CheckFinding.unknown("runs to send in", "nothing was recorded", cure)
        return
    reports = []
    for name, given in _QUICK if world.quick else STANDARD:
        try:
            ran = world.run(name, given)
        except InputError as error:
            yield CheckFinding.unknown(name, str(error))
            continue
        if not ran.is_done:
            yield CheckFinding.failed(name, ran.report.cause, "it runs, and its data is right", "")
        elif ran.report.doubts:
            yield CheckFinding.odd(name, " ".join(ran.report.doubts), "nothing disturbs it", WHAT_TO_DO)
        else:
            reports.append(ran.report)
    try:
        write_whole(world.record, "".join(f"{report.as_json()}\n" for report in reports).encode())
        yield CheckFinding.passed("file", f"{len(reports)} runs in {world.record}")
    except OSError as error:
        yield CheckFinding.failed("file", f"{world.record}: {error.strerror}", "it can be written", "")


_STARTING = 30.0  # seconds from which on the import of torch is slow
_LIMIT, _QUICK_LIMIT = 20.0, 3.0  # seconds of a run in which a rank is missing
_LATER = 5.0  # seconds after the limit in which everything is over
_RANKS = 4
_MAJORITY = 3  # ranks, of which two outnumber the one that went elsewhere
_EVEN = "of two ranks in different collectives, neither is known to be wrong"
_FIRST_NAMED = re.compile(r"\branks? (\d+)")


def forks(world: World) -> Iterator[CheckFinding]:
    """Whether ranks can be forked, and use the GPUs."""
    if world.is_slurm:
        yield CheckFinding.unknown("process with torch", "under Slurm, each rank imports torch by itself")
    else:
        version, seconds = world.torch_process()
        found = f"torch {version}, imported in {seconds:.1f} s"
        cure = "Install PyTorch on a local disk; a network file system takes this long at each start."
        yield (
            CheckFinding.passed("process with torch", found)
            if seconds < _STARTING
            else CheckFinding.odd("process with torch", found, f"less than {_STARTING:g} s", cure)
        )
    yield _products(world)


def _products(world: World) -> CheckFinding:
    gpus = world.devices().usable
    if world.is_slurm or not gpus:
        met = world.fail("nothing", 0, 2, "gloo", _LIMIT)
        return _as_expected("forks", met, "two ranks met and summed")
    done = world.fail("products", 0, gpus, "gloo", _LIMIT)
    each = "a fork per GPU multiplied matrices of BF16 on it"
    return _as_expected("forks", done, each if gpus > 1 else "a fork multiplied matrices of BF16")


def _as_expected(name: str, broke: CheckFailure, says: str) -> CheckFinding:
    if broke.state is RunState.DONE:
        return CheckFinding.passed(name, f"{says}, in {broke.seconds:.1f} s")
    return CheckFinding.failed(name, broke.cause or broke.state.word, says, "")


# What goes wrong, with which rank, in words that begin a line.
_FAULTS = (
    ("memory", 1, "out of memory on rank {rank}"),
    ("raises", 1, "an exception on rank {rank}"),
    ("killed", 2, "rank {rank} is killed"),
    ("skips", 3, "rank {rank} skips a collective"),
)


def failures(world: World) -> Iterator[CheckFinding]:
    """Whether runs that fail name the right rank, and leave nothing that stops the next one."""
    gpus = world.devices().usable
    backend = "nccl" if gpus > 1 else "gloo"
    ranks = min(_RANKS, gpus) if gpus > 1 else _RANKS
    limit = _QUICK_LIMIT if world.quick else _LIMIT
    most = math.inf if world.is_slurm else limit + _LATER  # a job also waits for its nodes
    for what, number, name in _FAULTS:
        rank = min(number, ranks - 1)
        if what == "skips" and ranks < _MAJORITY:
            yield CheckFinding.unknown("a rank skips a collective", _EVEN)
            continue
        broke = world.fail(what, rank, ranks, backend, limit)
        yield _judged(name.format(rank=rank), broke, rank, most)
    after = world.fail("nothing", 0, ranks, backend, limit + _LATER)
    yield _as_expected("the next run", after, f"{ranks} ranks over {backend} met and summed")
    if gpus <= 1:
        yield CheckFinding.unknown("failures over NCCL", "they need two GPUs")


def _judged(name: str, broke: CheckFailure, rank: int, most: float) -> CheckFinding:
    """Whether a run *broke* as it should: *rank* is to blame, in time, and nothing is left."""
    found = f"{broke.cause} ({broke.seconds:.1f} s)"
    within = "" if most == math.inf else f", within {most:g} s"
    expected = f"rank {rank} is to blame{within}"
    named = _FIRST_NAMED.search(broke.cause)
    if broke.state is RunState.DONE or named is None or int(named[1]) != rank:
        return CheckFinding.failed(name, found, expected, "Report this, with the logs of the run.")
    if broke.left:
        pids = ", ".join(map(str, broke.left))
        cure = "End them; a GPU that they hold cannot be used."
        return CheckFinding.failed(name, f"{found}; processes left: {pids}", "nothing is left", cure)
    if broke.seconds > most:
        return CheckFinding.odd(name, found, expected, "The driver takes long to free a GPU; see dmesg.")
    return CheckFinding.passed(name, found, expected)


STEPS: tuple[tuple[str, Callable[[World], Iterator[CheckFinding]]], ...] = (
    ("Driver and GPUs", driver),
    ("GPUs as torch sees them", torch_devices),
    ("Ranks as forks of one process", forks),
    ("Links, and limits of the system", links),
    ("Ranks meet", nccl),
    ("All-reduce on all GPUs", bandwidth),
    ("Two nodes", two_nodes),
    ("Matrix products", products),
    ("Copies", check_copies),
    ("Failures on purpose", failures),
    ("Runs to send in", record_standard_runs),
    ("After the load", after_the_load),
)


_OF_NODES = (driver, torch_devices, links, after_the_load)  # of which nothing is seen where jobs are submitted


def take_steps(world: World) -> Iterator[CheckStep]:
    """Each step, once it has been taken."""
    for number, (title, look) in enumerate(STEPS, 1):
        begun = time.monotonic()
        findings = tuple(_found(look, world))
        yield CheckStep(number, title, findings, time.monotonic() - begun)


def report_check(steps: tuple[CheckStep, ...], command: str) -> CheckReport:
    """The report of *steps*, which *command* has taken."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return CheckReport(at, platform.node(), command, steps)


def _found(look: Callable[[World], Iterator[CheckFinding]], world: World) -> Iterator[CheckFinding]:
    """What a step finds; what stops it is a finding too."""
    if world.is_slurm and look in _OF_NODES:
        cure = "Run this on a node too: srun wallclock lab check, with WALLCLOCK_LAB_LAUNCHER=local."
        yield CheckFinding.unknown("this step", "under Slurm, this is a matter of the nodes", cure)
        return
    try:
        yield from look(world)
    except (InputError, UnavailableError) as error:
        yield CheckFinding.failed("this step", str(error), "it can be taken", "")
