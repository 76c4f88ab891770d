"""`wallclock merge`: put graded shards together."""

import sys
from argparse import ArgumentParser, Namespace

from app.commands.files import add_output, output
from app.site.grading.offline import VerdictTally
from app.site.grading.parallel import merge_shards


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock merge`."""
    parser.add_argument("part", nargs="+", metavar="PART.jsonl", help="a graded shard")
    add_output(parser, "OUT.jsonl")


def run(arguments: Namespace) -> int:
    """Write the rows of all shards in order; 1 as `wallclock grade` would for the whole file."""
    tally = VerdictTally()
    with output(arguments.output) as target:
        for row in merge_shards(arguments.part, tally):
            target.write(row)
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1
