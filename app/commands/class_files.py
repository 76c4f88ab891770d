"""`wallclock grades` and `results`: what a class did, as a file. Each imports what it alone needs."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from app.classes.people.classes import number_of
from app.commands.files import Commands, add_output, output
from app.commands.people import OpenDatabase, class_called, open_database, print_json
from app.core.errors import InputError


def add_grades_options(parser: ArgumentParser) -> None:
    """The options of `wallclock grades`."""
    from app.classes.people.csv_grades import FORMATS

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


def run_grades(arguments: Namespace) -> int:
    """Write the grades of a class."""
    from app.classes.people.csv_grades import class_grades_file, is_taken
    from app.classes.people.gradebook import grades_of

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


def add_results_options(parser: ArgumentParser) -> None:
    """The options of `wallclock results`."""
    parser.add_argument("name", nargs="?", metavar="CLASS", default="", help="number or name")
    parser.add_argument("--learner", default="", help="such as token:NAME, instead of a class")
    add_output(parser, "FILE.jsonl")


def run_results(arguments: Namespace) -> int:
    """Write results."""
    if bool(arguments.name) == bool(arguments.learner):
        raise InputError("give a class, or --learner with a learner such as token:NAME")
    with open_database() as here, output(arguments.output) as file:
        for row in _result_rows(arguments, here):
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return 0


def _result_rows(arguments: Namespace, here: OpenDatabase) -> Iterator[Mapping[str, object]]:
    from app.classes.people.erasure import results_of_class, results_of_learner

    if arguments.learner:
        return results_of_learner(here.session, arguments.learner)
    class_id = number_of(class_called(here.session, arguments.name))
    return results_of_class(here.session, here.secret, class_id)


COMMANDS: Commands = {"grades": (add_grades_options, run_grades), "results": (add_results_options, run_results)}
