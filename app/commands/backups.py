"""`wallclock backup`, `restore` and `move`: a copy of the database, and what becomes of it."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.commands.files import Commands
from app.server.config import Settings
from app.server.db.backup import backup, move, restore, store_files, unpack_files


def add_backup_options(parser: ArgumentParser) -> None:
    """The options of `wallclock backup`."""
    parser.add_argument("file", metavar="FILE", help="the file to write; it must not exist")


def run_backup(arguments: Namespace) -> int:
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


def add_restore_options(parser: ArgumentParser) -> None:
    """The options of `wallclock restore`."""
    parser.add_argument("file", metavar="FILE", help="a file that `wallclock backup` wrote")
    parser.add_argument("--replace", action="store_true", help="delete the rows that the database has now")
    parser.add_argument(
        "--sign-out",
        action="store_true",
        help="forget the secret that signs cookies: learners without an account start over",
    )


def run_restore(arguments: Namespace) -> int:
    """Restore the rows, then the files of lab runs that are missing."""
    settings, file = Settings(), Path(arguments.file)
    rows = restore(file, settings.database, settings.secret, replace=arguments.replace, sign_out=arguments.sign_out)
    files = unpack_files(file, settings.runs)
    sys.stderr.write(f"{rows:,} rows and {files:,} files of lab runs restored.\n")
    return 0


def add_move_options(parser: ArgumentParser) -> None:
    """The options of `wallclock move`."""
    parser.add_argument("url", metavar="URL", help="as in WALLCLOCK_DATABASE, such as postgresql+psycopg://...")
    parser.add_argument("--replace", action="store_true", help="delete the rows that the other database has now")


def run_move(arguments: Namespace) -> int:
    """Put every row into the other database."""
    settings = Settings()
    rows = move(settings.database, arguments.url, settings.secret, replace=arguments.replace)
    sys.stderr.write(
        f"{rows:,} rows are in both databases. Set WALLCLOCK_DATABASE to the new one, and start the servers again.\n"
    )
    return 0


COMMANDS: Commands = {
    "backup": (add_backup_options, run_backup),
    "restore": (add_restore_options, run_restore),
    "move": (add_move_options, run_move),
}
