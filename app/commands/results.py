"""`wallclock results`: the answers of a class or of one learner, one JSON object per line."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from app.classes.people.classes import number_of
from app.classes.people.erasure import results_of_class, results_of_learner
from app.commands.files import add_output, output
from app.commands.people import OpenDatabase, class_called, open_database
from app.core.errors import InputError


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock results`."""
    parser.add_argument("name", nargs="?", metavar="CLASS", default="", help="number or name")
    parser.add_argument("--learner", default="", help="such as token:NAME, instead of a class")
    add_output(parser, "FILE.jsonl")


def run(arguments: Namespace) -> int:
    """Write results."""
    if bool(arguments.name) == bool(arguments.learner):
        raise InputError("give a class, or --learner with a learner such as token:NAME")
    with open_database() as here, output(arguments.output) as file:
        for row in _result_rows(arguments, here):
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return 0


def _result_rows(arguments: Namespace, here: OpenDatabase) -> Iterator[Mapping[str, object]]:
    if arguments.learner:
        return results_of_learner(here.session, arguments.learner)
    class_id = number_of(class_called(here.session, arguments.name))
    return results_of_class(here.session, here.secret, class_id)
