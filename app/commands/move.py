"""`wallclock move`: a backup of the database, restored into another one."""

import sys
from argparse import ArgumentParser, Namespace

from app.server.config import Settings
from app.server.db.backup import move


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock move`."""
    parser.add_argument("url", metavar="URL", help="as in WALLCLOCK_DATABASE, such as postgresql+psycopg://...")
    parser.add_argument("--replace", action="store_true", help="delete the rows that the other database has now")


def run(arguments: Namespace) -> int:
    """Put every row into the other database."""
    settings = Settings()
    rows = move(settings.database, arguments.url, settings.secret, replace=arguments.replace)
    sys.stderr.write(
        f"{rows:,} rows are in both databases. Set WALLCLOCK_DATABASE to the new one, and start the servers again.\n"
    )
    return 0
