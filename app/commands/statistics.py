"""`wallclock statistics`: figures of the exercises of a class, to keep and to compare."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from app.classes.people.classes import number_of
from app.classes.people.exercise_statistics import statistics_csv, statistics_of_class
from app.commands.files import add_output, output
from app.commands.people import class_called, open_database, print_json
from app.course.content.course import read_course


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock statistics`."""
    parser.add_argument("name", metavar="CLASS", help="number or name")
    parser.add_argument("--drawings", action="store_true", help="also by the values of the drawings")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_output(parser, "FILE.csv")


def run(arguments: Namespace) -> int:
    """Write the figures."""
    with open_database() as here:
        class_id = number_of(class_called(here.session, arguments.name))
        catalog = read_course(here.settings)
        found = list(statistics_of_class(here.session, here.secret, catalog, class_id, drawings=arguments.drawings))
    if arguments.json:
        print_json([asdict(one) for one in found])
        return 0
    with output(arguments.output) as file:
        file.write(statistics_csv(found).encode())
    return 0
