"""`wallclock lab check`: the first hour on a machine with GPUs, as one command."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from app.commands.modules import load_command
from app.core.errors import capitalize
from app.labs.check.steps import STEPS, report_check, take_steps
from app.labs.check.world import CheckReport, CheckStep, CheckVerdict, World, status
from app.server.config import Settings

_FAILED = 1


def run(arguments: Namespace) -> int:
    """Take the steps, and show what was found; a failure is exit code 1."""
    if arguments.nodes:
        return int(load_command("lab_check_nodes").run(arguments))
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
    return _FAILED if result.has_failed else 0


def _command(arguments: Namespace) -> str:
    """The command as it was typed."""
    words = ["wallclock", "lab", "check", *(["--quick"] if arguments.quick else [])]
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
