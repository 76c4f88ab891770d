"""How a command runs a lab to its end, and shows how far it is."""

import sys
from collections.abc import Mapping

from tqdm import tqdm

from app.labs.launch.base import Launcher, Waiting
from app.labs.launch.plan import LaunchPlan
from app.labs.run import LabRun
from app.labs.runner.events import MeasureEvent
from app.labs.spec import lab_called

_PATIENCE = 600.0  # seconds to wait for the devices


def run_to_end(launcher: Launcher, name: str, given: Mapping[str, str], backend: str, *, quiet: bool) -> LabRun:
    """Run the lab *name*, with its progress if not *quiet*; Ctrl+C cancels it.

    Raises:
        InputError: it cannot be run with these parameters, or here.
    """
    plan = launcher.plan(lab_called(name), given, backend)
    say_notes(plan)
    run = launcher.start(plan.job, plan.backend, _PATIENCE, notes=plan.notes)
    _follow(launcher, run, plan.job.lab.name, quiet=quiet)
    return run


def say_notes(plan: LaunchPlan) -> None:
    """Say what is to be known about the choice of the backend, apart from the results."""
    for note in plan.notes:
        sys.stderr.write(f"{note}\n")


def _follow(launcher: Launcher, run: LabRun, lab: str, *, quiet: bool) -> None:
    with tqdm(desc=lab, unit=" point", disable=quiet or None, leave=False) as bar:
        try:
            for event in launcher.follow(run):
                match event:
                    case MeasureEvent():
                        bar.update()
                    case Waiting(says):
                        bar.set_postfix_str(says)
        except KeyboardInterrupt:
            launcher.cancel(run)
            for _ in launcher.follow(run):
                continue
