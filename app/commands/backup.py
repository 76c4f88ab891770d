"""`wallclock backup`: copy the database and the lab runs while they are in use."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.server.config import Settings
from app.server.db.backup import backup, store_files


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock backup`."""
    parser.add_argument("file", metavar="FILE", help="the file to write; it must not exist")


def run(arguments: Namespace) -> int:
    """Copy everything into one file."""
    settings, target, said = Settings(), Path(arguments.file), []

    def add_runs(partial: Path) -> None:
        count, left_out = store_files(partial, settings.runs)
        said.append(f"Database and {count} files of lab runs copied to {target}.\n")
        said.extend(f"Left out, since it is too large: {name}\n" for name in left_out)

    backup(settings.database, target, add_runs)
    sys.stderr.write("".join(said))
    if settings.secret:
        sys.stderr.write("The copy has no secret: keep WALLCLOCK_SECRET with it.\n")
    return 0
