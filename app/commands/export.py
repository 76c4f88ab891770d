"""`wallclock export`: the course as files that work without a server of their own."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.core.errors import InputError
from app.core.translation import LANGUAGES
from app.exporting.course import write_course
from app.exporting.python import browser_python
from app.server.config import Settings

_MARK = "service.js"  # every export has it
_MB = 1e6


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock export`."""
    parser.add_argument("folder", metavar="FOLDER", help="a new folder, or one with an earlier export")
    parser.add_argument(
        "--exercises",
        action="append",
        default=[],
        metavar="DIR",
        help="an additional folder of exercises; may be repeated",
    )
    parser.add_argument(
        "--language",
        choices=tuple(LANGUAGES),
        default="",
        help="the language of the pages; the default is that of WALLCLOCK_LANGUAGE",
    )
    parser.add_argument(
        "--pyodide", metavar="FILE", default="", help="the npm package of Pyodide, where this machine cannot fetch it"
    )
    parser.add_argument(
        "--wheels",
        metavar="FOLDER",
        default="",
        help="a folder with the wheels of pydantic, where this machine cannot fetch them",
    )


def run(arguments: Namespace) -> int:
    """Write the course."""
    folder, settings = Path(arguments.folder), Settings()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise InputError(f"{folder} has files that are not an exported course: name a new folder")
    more = tuple(Path(one) for one in arguments.exercises)
    chosen = arguments.language or settings.language
    every = {"exercises": (*settings.exercises, *more), "language": chosen}
    settings = settings.model_copy(update=every)
    package = Path(arguments.pyodide) if arguments.pyodide else None
    wheels = Path(arguments.wheels) if arguments.wheels else None
    python = browser_python(settings.cache, package, wheels)
    sys.stderr.write("Writing the pages; this takes about half a minute.\n")
    done = write_course(settings, python, folder)
    sys.stderr.write(
        f"{folder}: {done.pages:,} pages, {done.exercises:,} exercises, {done.bytes / _MB:.1f} MB; "
        f"a device fetches {done.compressed / _MB:.1f} MB at most.\n"
        f"Try it: python -m http.server -d {folder}\n"
    )
    return 0
