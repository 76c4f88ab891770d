"""`wallclock lint`: are the exercise files right?"""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from app.config import Settings
from app.errors import Problem, UnavailableError
from app.lint import Linted, lint
from app.main import exercise_folders
from app.sandbox.runner import Runner


def run(arguments: Namespace) -> int:
    """Print every problem; 1 if there is one."""
    settings = Settings()
    paths = [Path(path) for path in arguments.path] or exercise_folders(settings)
    linted = asyncio.run(_lint(paths, settings))
    for problem in linted.problems:
        sys.stdout.write(f"{_near(problem)}\n")
    files = f"{linted.files} exercise file{'s' if linted.files != 1 else ''}"
    found = len(linted.problems)
    says = f"{files}, {found or 'no'} problem{'s' if found != 1 else ''}"
    sys.stderr.write(f"{says}\n")
    return 1 if found else 0


async def _lint(paths: Sequence[Path], settings: Settings) -> Linted:
    runner = Runner(settings)
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            raise UnavailableError(health.says)
        return await lint(paths, runner)
    finally:
        await runner.close()


def _near(problem: Problem) -> Problem:
    """*problem* with a path from where the user stands."""
    path = problem.path.resolve()
    here = Path.cwd()
    return (
        Problem(path.relative_to(here), problem.line, problem.says)
        if path.is_relative_to(here)
        else problem
    )
