"""`wallclock grades`: the points of a class, as CSV for other systems or as JSON."""

import sys
from argparse import ArgumentParser, Namespace

from app.classes.people.classes import number_of
from app.classes.people.csv_grades import FORMATS, class_grades_file, is_taken
from app.classes.people.gradebook import grades_of
from app.commands.files import add_output, output
from app.commands.people import class_called, open_database, print_json


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock grades`."""
    parser.add_argument("name", metavar="CLASS", help="number or name")
    parser.add_argument("--format", choices=FORMATS, default="ours", help="columns of the file (default: ours)")
    parser.add_argument(
        "--assignment",
        type=int,
        default=0,
        metavar="NUMBER",
        help="the points in each exercise of this assignment (default: in each assignment)",
    )
    parser.add_argument("--group", help="of this group of the class alone (default: of everyone)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_output(parser, "FILE.csv")


def run(arguments: Namespace) -> int:
    """Write the grades of a class."""
    with open_database() as here:
        row = class_called(here.session, arguments.name)
        grades = grades_of(here.session, here.secret, number_of(row), arguments.group)
    if arguments.json:
        print_json(grades.described())
        return 0
    text = class_grades_file(grades, arguments.format, arguments.assignment)
    with output(arguments.output) as file:
        file.write(text.encode("utf-8-sig" if arguments.format == "excel" else "utf-8"))
    if left := sum(not is_taken(arguments.format, one.outside_id) for one in grades.members):
        sys.stderr.write(f"{left:,} left out, without the id by which {arguments.format} finds them\n")
    return 0
