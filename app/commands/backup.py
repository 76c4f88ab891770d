"""`wallclock backup`: copy the database while it is in use."""

import sys
from argparse import Namespace
from pathlib import Path

from app.config import Settings
from app.db.backup import backup


def run(arguments: Namespace) -> int:
    """Copy the database."""
    target = Path(arguments.file)
    backup(Settings().database, target)
    sys.stderr.write(f"Database copied to {target}.\n")
    return 0
