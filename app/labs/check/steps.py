"""The fourteen steps of the first hour, in their order."""

import platform
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from app.core.errors import InputError, UnavailableError
from app.labs.check.cluster import jobs
from app.labs.check.collectives import bandwidth, nccl, two_nodes
from app.labs.check.findings import CheckFinding, CheckReport, CheckStep, failed_finding
from app.labs.check.hardware import driver, torch_devices
from app.labs.check.health import after_the_load
from app.labs.check.kernels import check_attention, check_copies, products
from app.labs.check.links import links
from app.labs.check.processes import failures, forks
from app.labs.check.standard_runs import record_standard_runs
from app.labs.check.world import World

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
    ("Attention", check_attention),
    ("Failures on purpose", failures),
    ("Slurm", jobs),
    ("Runs for a board", record_standard_runs),
    ("After the load", after_the_load),
)


def taken(world: World) -> Iterator[CheckStep]:
    """Each step, once it has been taken."""
    for number, (title, look) in enumerate(STEPS, 1):
        begun = time.monotonic()
        findings = tuple(_found(look, world))
        yield CheckStep(number, title, findings, time.monotonic() - begun)


def checked(steps: tuple[CheckStep, ...], command: str) -> CheckReport:
    """The report of *steps*, which *command* has taken."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return CheckReport(at, platform.node(), command, steps)


def _found(look: Callable[[World], Iterator[CheckFinding]], world: World) -> Iterator[CheckFinding]:
    """What a step finds; what stops it is a finding too."""
    try:
        yield from look(world)
    except (InputError, UnavailableError) as error:
        yield failed_finding("this step", str(error), "it can be taken", "")
