"""The options of the commands on classes and tokens."""

from argparse import ArgumentParser
from collections.abc import Callable

Add = Callable[[str, str], ArgumentParser]


def add_class(add: Add, parser: ArgumentParser) -> None:
    """The options of `wallclock class`; *add* adds an action."""
    parser.set_defaults(command="classes")  # `class` is a word of Python
    create = add("create", "make a class, and print its join link and its teacher's code")
    create.add_argument("name", metavar="NAME")
    create.add_argument(
        "--zone", default="UTC", help="time zone of its dates, such as Europe/Berlin (default: UTC)"
    )
    create.add_argument(
        "--teacher", metavar="NAME", default="Teacher", help="of the teacher (default: Teacher)"
    )
    create.add_argument(
        "--pseudonyms", action="store_true", help="ask students for an invented name"
    )
    listing = add("list", "list classes: number, name, students and join link")
    delete = add("delete", "delete a class with all of it")
    delete.add_argument("name", metavar="CLASS", help="number or name")
    delete.add_argument("--yes", action="store_true", help="do it")
    demo = add("demo", "make a class with invented students, to try everything on")
    for action in (create, listing, demo):
        action.add_argument("--json", action="store_true", help="print JSON")


def add_roster(parser: ArgumentParser) -> None:
    """The options of `wallclock roster`."""
    _add_name(parser)
    parser.add_argument(
        "file", nargs="?", metavar="FILE.csv", default="",
        help="make the class as this file says; -: standard input (default: print the roster)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print the difference alone")
    parser.add_argument(
        "--remove-missing", action="store_true", help="remove students who are not in the file"
    )
    parser.add_argument("--json", action="store_true", help="print the roster as JSON")


def add_grades(parser: ArgumentParser) -> None:
    """The options of `wallclock grades`."""
    _add_name(parser)
    parser.add_argument(
        "--format",
        choices=("ours", "canvas", "moodle"),
        default="ours",
        help="columns of the file (default: ours)",
    )
    parser.add_argument(
        "--assignment", type=int, default=0, metavar="NUMBER",
        help="the points in each exercise of this assignment (default: in each assignment)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    _add_output(parser, "FILE.csv")


def add_results(parser: ArgumentParser) -> None:
    """The options of `wallclock results`."""
    parser.add_argument("name", nargs="?", metavar="CLASS", default="", help="number or name")
    parser.add_argument("--learner", default="", help="such as token:NAME, instead of a class")
    _add_output(parser, "FILE.jsonl")


def add_token(add: Add) -> None:
    """The options of `wallclock token`; *add* adds an action."""
    create = add("create", "create a token and print it once")
    create.add_argument("name", metavar="NAME")
    create.add_argument(
        "--scope", choices=("check", "class", "admin"), default="check",
        help="check: check answers; class: also everything of one class; admin: of all (default: "
        "check)",
    )  # fmt: skip
    create.add_argument(
        "--class", dest="class_name", default="", metavar="CLASS", help="of scope class"
    )
    create.add_argument("--until", default="", metavar="DATE", help="last day, as 2027-07-31")
    add("revoke", "revoke a token").add_argument("name", metavar="NAME")
    listing = add("list", "list names, scopes, dates, and which are revoked")
    listing.add_argument("--json", action="store_true", help="print JSON")


def _add_name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="CLASS", help="number or name")


def _add_output(parser: ArgumentParser, name: str) -> None:
    parser.add_argument(
        "-o", "--output", metavar=name, default="-", help="default: standard output"
    )
