"""`wallclock merge`: put graded shards together."""

import sys
from argparse import Namespace

from app.commands.files import output
from app.grading.merging import merged
from app.grading.offline import Tally


def run(arguments: Namespace) -> int:
    """Write the rows of all shards in order; 1 as `wallclock grade` would for the whole file."""
    tally = Tally()
    with output(arguments.output) as target:
        for row in merged(arguments.part, tally):
            target.write(row)
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1
