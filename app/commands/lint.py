"""`wallclock lint` and `pack`: check exercise files, and course packs."""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.authoring.lint import LintReport, ProofCache, lint
from app.commands.files import Commands, add_actions
from app.core.errors import InputError, UnavailableError
from app.course.content import course
from app.course.sandbox.runner import Runner
from app.server.config import Settings

if TYPE_CHECKING:
    from app.authoring.packs import CheckedPack


def add_lint_options(parser: ArgumentParser) -> None:
    """The options of `wallclock lint`."""
    parser.add_argument("path", nargs="*", metavar="PATH", help="files or folders (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON, for editors and CI")
    parser.add_argument(
        "--fresh", action="store_true", help="prove all, also files that are as they were when they were last proven"
    )


def run_lint(arguments: Namespace) -> int:
    """Print every problem; 1 if there are any."""
    settings = Settings()
    packs = course.read_packs(course.pack_folders(settings))
    course.load_formulas(settings, packs)
    proofs = ProofCache(None if arguments.fresh else settings.cache / "course", course.packs_digest(packs))
    paths = [Path(path) for path in arguments.path] or course.exercise_folders(settings)
    linted = asyncio.run(_lint(paths, settings, proofs))
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


async def _lint(paths: Sequence[Path], settings: Settings, proofs: ProofCache) -> LintReport:
    runner = Runner(settings)

    async def start() -> None:
        await runner.start()
        health = await runner.ready()
        if health.state != "ready":
            raise UnavailableError(health.cause or health.says)

    try:
        return await lint(paths, runner, course.exercise_folders(settings), proofs=proofs, start=start)
    finally:
        await runner.close()


def _near(path: Path) -> Path:
    """*path* relative to the current directory, where it is inside it."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else path


_AGREED = {"None": "no formulas", "True": "its formulas are loaded", "False": "its formulas are not loaded"}


def add_pack_options(parser: ArgumentParser) -> None:
    """The options of `wallclock pack`."""
    actions = add_actions(parser)
    listing = actions.add_parser("list", help="list the packs of this server")
    check = actions.add_parser(
        "check",
        help="check a pack: its pack.yaml, formulas, images and every exercise",
        description="Check a course pack. Its formulas are Python, which runs only with "
        "--load-formulas: read what others wrote before you use it.",
    )
    check.add_argument("folder", metavar="FOLDER", help="the folder that has the pack.yaml")
    check.add_argument("--load-formulas", action="store_true", help="run the pack's Python, and prove its formulas")
    for action in (listing, check):
        action.add_argument("--json", action="store_true", help="print JSON")


def run_pack(arguments: Namespace) -> int:
    """List packs, or check one; 1 if it has a problem."""
    return _list(arguments) if arguments.action == "list" else _check_pack(arguments)


def _list(arguments: Namespace) -> int:
    settings = Settings()
    rows = [_pack_row(settings, pack) for pack in course.read_packs(course.pack_folders(settings))]
    if arguments.json:
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=1)}\n")
        return 0
    for row in rows:
        agreed = _AGREED[str(row["agreed"])]
        digest = f" ({row['name']}@{row['digest']})" if row["digest"] else ""
        version = f" {row['version']}" if row["version"] else ""
        sys.stdout.write(f"{row['name']}{version}\t{row['folder']}\t{agreed}{digest}\n")
    if not rows:
        sys.stderr.write("No course pack is installed, and WALLCLOCK_EXERCISES names no folder.\n")
    return 0


def _pack_row(settings: Settings, pack: course.CoursePack) -> dict[str, object]:
    files = course.sources_of(pack)
    return {
        "name": pack.file.name if pack.file else pack.folder.name,
        "title": pack.file.title if pack.file else "",
        "version": pack.file.version if pack.file else "",
        "folder": str(pack.folder),
        "digest": course.files_digest(files) if files else "",
        "agreed": course.is_agreed(settings, pack, files) if files else None,
    }


def _check_pack(arguments: Namespace) -> int:
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name the one that has the pack.yaml")
    checked = asyncio.run(_checked_pack(folder, loads=arguments.load_formulas))
    if arguments.json:
        row = findings_document(checked.linted) | {"digest": checked.digest}
        sys.stdout.write(f"{json.dumps(row, ensure_ascii=False, indent=1)}\n")
        return 1 if checked.linted.problems else 0
    code = print_findings(checked.linted)
    if checked.formulas and checked.pack.file:
        sys.stderr.write(
            f"{checked.formulas} formula{'s' if checked.formulas > 1 else ''}; servers load with "
            f"WALLCLOCK_PACK_CODE={checked.pack.file.name}@{checked.digest}\n"
        )
    return code


async def _checked_pack(folder: Path, *, loads: bool) -> "CheckedPack":
    from app.authoring.packs import check_pack  # lint of files does without the server that this imports

    runner = Runner(Settings())
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            raise UnavailableError(health.cause or health.says)
        return await check_pack(folder, runner, loads=loads)
    finally:
        await runner.close()


COMMANDS: Commands = {"lint": (add_lint_options, run_lint), "pack": (add_pack_options, run_pack)}
