"""The options of commands for those who run a server or write a course pack."""

from argparse import ArgumentParser


def add_doctor(parser: ArgumentParser) -> None:
    """The options of `wallclock doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
