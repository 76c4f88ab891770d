"""The options of commands that operators need."""

from argparse import ArgumentParser
from collections.abc import Callable

Add = Callable[[str, str], ArgumentParser]


def add_operations(command: Add) -> None:
    """`wallclock backup`, `restore` and `move`."""
    backup = command("backup", "copy the database and lab runs, even while they are in use")
    backup.add_argument("file", metavar="FILE", help="the file to write; it must not exist")
    restore = command("restore", "put a backup into the database")
    restore.add_argument("file", metavar="FILE", help="a file that `wallclock backup` wrote")
    restore.add_argument(
        "--replace", action="store_true", help="delete the rows that the database has now"
    )
    restore.add_argument(
        "--sign-out", action="store_true",
        help="forget the secret that signs cookies: learners without an account start over",
    )  # fmt: skip
    move = command("move", "copy everything to another database, such as PostgreSQL")
    move.add_argument(
        "url", metavar="URL", help="as in WALLCLOCK_DATABASE, such as postgresql+psycopg://..."
    )
