"""`wallclock backup`: a copy of the database while it serves."""

import sys
from argparse import Namespace
from pathlib import Path

from app.config import Settings
from app.db.backup import backup


def run(arguments: Namespace) -> int:
    """Copy the database."""
    target = Path(arguments.file)
    backup(Settings().database, target)
    sys.stderr.write(f"{target} is a whole copy of the database.\n")
    return 0
