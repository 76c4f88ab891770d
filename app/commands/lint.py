"""`wallclock lint`: check exercise files."""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from app.authoring.lint import LintReport, lint
from app.core.errors import UnavailableError
from app.course.content.course import exercise_folders, load_formulas, pack_folders, read_packs
from app.course.sandbox.runner import Runner
from app.server.config import Settings


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock lint`."""
    parser.add_argument("path", nargs="*", metavar="PATH", help="files or folders (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON, for editors and CI")
    parser.add_argument("--links", action="store_true", help="also request every source link")


def run(arguments: Namespace) -> int:
    """Print every problem; 1 if there are any."""
    settings = Settings()
    load_formulas(settings, read_packs(pack_folders(settings)))
    paths = [Path(path) for path in arguments.path] or exercise_folders(settings)
    linted = asyncio.run(_lint(paths, settings, links=arguments.links))
    if arguments.json:
        document = findings_document(linted)
        sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        return 1 if linted.problems else 0
    return print_findings(linted)


def print_findings(linted: LintReport) -> int:
    """Print every problem and note, one per line; 1 if there is a problem."""
    for problem in linted.problems:
        cure = f"; {problem.cure}" if problem.cure else ""
        sys.stdout.write(f"{_near(problem.path)}:{problem.line}: {problem.says}{cure}\n")
    for note in linted.notes:
        level = "warning: " if note.level == "warning" else ""
        line = f":{note.line}" if note.line else ""
        sys.stderr.write(f"{_near(note.path)}{line}: {level}{note.says}\n")
    files = f"{linted.files} exercise file{'s' if linted.files != 1 else ''}"
    found = len(linted.problems)
    sys.stderr.write(f"{files}, {found or 'no'} problem{'s' if found != 1 else ''}\n")
    return 1 if found else 0


def findings_document(linted: LintReport) -> dict[str, object]:
    """The findings as JSON, for editors."""
    return {
        "files": linted.files,
        "problems": [
            {"path": str(_near(p.path)), "line": p.line, "level": "error", "says": p.says, "cure": p.cure}
            for p in linted.problems
        ],
        "notes": [
            {"path": str(_near(note.path)), "line": note.line, "level": note.level, "says": note.says}
            for note in linted.notes
        ],
    }


async def _lint(paths: Sequence[Path], settings: Settings, *, links: bool) -> LintReport:
    runner = Runner(settings)
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            raise UnavailableError(health.cause or health.says)
        return await lint(paths, runner, exercise_folders(settings), links=links)
    finally:
        await runner.close()


def _near(path: Path) -> Path:
    """*path* relative to the current directory, where it is inside it."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else path
