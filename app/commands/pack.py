"""`wallclock pack`: list the course packs of this server, or check one."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.authoring.packs import CheckedPack, check_pack
from app.commands.files import add_actions
from app.commands.lint import findings_document, print_findings
from app.core.errors import InputError, UnavailableError
from app.course.content.course import CoursePack, files_digest, is_agreed, pack_folders, read_packs, sources_of
from app.course.sandbox.runner import Runner
from app.server.config import Settings

_AGREED = {"None": "no formulas", "True": "its formulas are loaded", "False": "its formulas are not loaded"}


def add_options(parser: ArgumentParser) -> None:
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
    check.add_argument("--against", metavar="FOLDER", help="an earlier version of it, to list what changed")
    for action in (listing, check):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """List packs, or check one; 1 if it has a problem."""
    return _list(arguments) if arguments.action == "list" else _check_pack(arguments)


def _list(arguments: Namespace) -> int:
    settings = Settings()
    rows = [_pack_row(settings, pack) for pack in read_packs(pack_folders(settings))]
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


def _pack_row(settings: Settings, pack: CoursePack) -> dict[str, object]:
    files = sources_of(pack)
    return {
        "name": pack.file.name if pack.file else pack.folder.name,
        "title": pack.file.title if pack.file else "",
        "version": pack.file.version if pack.file else "",
        "folder": str(pack.folder),
        "digest": files_digest(files) if files else "",
        "agreed": is_agreed(settings, pack, files) if files else None,
    }


def _check_pack(arguments: Namespace) -> int:
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name the one that has the pack.yaml")
    against = Path(arguments.against) if arguments.against else None
    checked = asyncio.run(_checked_pack(folder, against, loads=arguments.load_formulas))
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


async def _checked_pack(folder: Path, against: Path | None, *, loads: bool) -> CheckedPack:
    runner = Runner(Settings())
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            raise UnavailableError(health.cause or health.says)
        return await check_pack(folder, runner, loads=loads, against=against)
    finally:
        await runner.close()
