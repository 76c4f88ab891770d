"""`wallclock move`: copy everything to another database."""

import sys
from argparse import ArgumentParser, Namespace

from app.server.config import Settings
from app.server.db.database_copy import move


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock move`."""
    parser.add_argument("url", metavar="URL", help="as in WALLCLOCK_DATABASE, such as postgresql+psycopg://...")


def run(arguments: Namespace) -> int:
    """Copy every row, compare both databases, and print the count and digest of each table."""
    copied = move(Settings().database, arguments.url)
    width = max(len(content.table) for content in copied)
    for content in copied:
        sys.stdout.write(f"{content.table:<{width}} {content.rows:>12,}  {content.digest}\n")
    rows = sum(content.rows for content in copied)
    sys.stderr.write(
        f"{rows:,} rows are in both databases. Set WALLCLOCK_DATABASE to the new one, and start the servers again.\n"
    )
    return 0
