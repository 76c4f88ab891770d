"""`wallclock restore`: put a backup into the database."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.server.config import Settings
from app.server.db.backup import restore, unpack_files


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock restore`."""
    parser.add_argument("file", metavar="FILE", help="a file that `wallclock backup` wrote")
    parser.add_argument("--replace", action="store_true", help="delete the rows that the database has now")
    parser.add_argument(
        "--sign-out",
        action="store_true",
        help="forget the secret that signs cookies: learners without an account start over",
    )


def run(arguments: Namespace) -> int:
    """Restore the rows, then the files of lab runs that are missing."""
    settings, file = Settings(), Path(arguments.file)
    rows = restore(file, settings.database, settings.secret, replace=arguments.replace, sign_out=arguments.sign_out)
    files = unpack_files(file, settings.runs)
    sys.stderr.write(f"{rows:,} rows and {files:,} files of lab runs restored.\n")
    return 0
