"""`wallclock lab check --nodes`: each node of a cluster alone, and all of them side by side."""

import shlex
import sys
from argparse import Namespace

from app.commands.files import write_rows
from app.core.errors import InputError
from app.labs.check.node_comparison import NodeCheck, check_nodes, compare_nodes, confirm_nodes
from app.labs.check.steps import STEPS
from app.server.config import Settings


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
        sys.stdout.write(found.as_json(_command(arguments)) + "\n")
        return found.worst
    sys.stdout.write("\n")
    write_rows(found.rows())
    steps = ", ".join(f"{number} {title}" for number, (title, _) in enumerate(STEPS, 1))
    sys.stdout.write(f"\nSteps: {steps}\n")
    sys.stdout.write("".join(f"{line}\n" for line in found.remarks()))
    return found.worst


def _checked(settings: Settings, names: str, arguments: Namespace) -> list[NodeCheck]:
    """The checks of the nodes *names*, each shown as soon as it has ended."""
    checks = []
    for check in check_nodes(settings, names, quick=arguments.quick):
        checks.append(check)
        if not arguments.json:
            sys.stdout.write(f"{check.node}: {_summary(check)}\n")
            sys.stdout.flush()
    return sorted(checks, key=lambda one: one.node)


def _summary(check: NodeCheck) -> str:
    return check.report.summary() if check.report else check.trouble


def _command(arguments: Namespace) -> str:
    quick = ["--quick"] if arguments.quick else []
    return shlex.join(["wallclock", "lab", "check", "--nodes", arguments.nodes, *quick])
