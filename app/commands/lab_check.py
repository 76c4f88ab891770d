"""`wallclock lab check`: the first hour on a machine with GPUs, as one command."""

import shlex
import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from app.commands.lab_check_nodes import run_on_nodes
from app.labs.check.steps import STEPS, report_check, take_steps
from app.labs.check.world import World, status
from app.server.config import Settings

_FAILED = 1


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
                sys.stdout.write("\n".join(step.lines()) + "\n")
                sys.stdout.flush()
            elif sys.stderr.isatty():
                sys.stderr.write(f"{step.number} of {len(STEPS)}: {step.title}\n")
    result = report_check(tuple(steps), _command(arguments))
    if arguments.json:
        sys.stdout.write(result.as_json() + "\n")
    else:
        sys.stdout.write(f"\n{result.summary()} {status()}\n")
        sys.stdout.write(f"{result.command} on {result.host}, {result.at}\n")
    return _FAILED if result.has_failed else 0


def _command(arguments: Namespace) -> str:
    """The command as it was typed."""
    words = ["wallclock", "lab", "check", *(["--quick"] if arguments.quick else [])]
    return shlex.join([*words, *(["--record", arguments.record] if arguments.record else [])])
