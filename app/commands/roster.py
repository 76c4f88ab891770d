"""`wallclock roster`: print the people of a class, or make them as a CSV file says."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from app.classes.people.classes import Member, members_of, number_of
from app.classes.people.csv_rosters import COLUMN_WORDS, SYSTEMS, ReadRoster, read_roster, write_roster
from app.classes.people.csv_text import FILE_LIMIT
from app.classes.people.rosters import RosterChanges, import_roster, roster_changes
from app.commands.files import source_of
from app.commands.people import OpenDatabase, class_called, open_database, print_json

_FIRST = 5  # people that are shown as they are read


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock roster`."""
    parser.add_argument("name", metavar="CLASS", help="number or name")
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE.csv",
        default="",
        help="make the class as this file says; -: standard input (default: print the roster)",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="WHAT:WHICH",
        help=f"which column is what, by number or title, such as id:1; of {', '.join(COLUMN_WORDS)} "
        f"(default: by the titles of {SYSTEMS} and Wallclock)",
    )
    parser.add_argument(
        "--first-line",
        type=int,
        default=0,
        metavar="LINE",
        help="the line of the first person (default: the one below the titles on line 1)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the difference alone")
    parser.add_argument("--remove-missing", action="store_true", help="remove students who are not in the file")
    parser.add_argument("--json", action="store_true", help="print the roster as JSON")


def run(arguments: Namespace) -> int:
    """Print or change a roster."""
    if arguments.file:
        _change(arguments)
        return 0
    with open_database() as here:
        members = members_of(here.session, _class_id(arguments, here))
    _show(members, as_json=arguments.json)
    return 0


def _class_id(arguments: Namespace, here: OpenDatabase) -> int:
    return number_of(class_called(here.session, arguments.name))


def _show(members: Sequence[Member], *, as_json: bool) -> None:
    if as_json:
        print_json([one.described() for one in members])
    else:
        sys.stdout.write(write_roster(members))


def _change(arguments: Namespace) -> None:
    with source_of(arguments.file) as source:
        roster = read_roster(source.read(FILE_LIMIT + 1), arguments.column, arguments.first_line)
    with open_database(writes=not arguments.dry_run) as here:
        class_id = _class_id(arguments, here)
        found = roster_changes(here.session, class_id, roster.entries)
        if not arguments.dry_run:
            import_roster(here.session, class_id, found, remove_missing=arguments.remove_missing)
            here.session.commit()
    if arguments.column:
        _show_first_entries(roster)
    for line in _roster_lines(found, removes=arguments.remove_missing):
        sys.stdout.write(f"{line}\n")
    for says in roster.left_out:
        sys.stderr.write(f"Left out: {says}\n")
    if roster.unused:
        sys.stderr.write(f"Columns that are not used: {', '.join(roster.unused)}\n")
    if arguments.dry_run:
        sys.stderr.write("Nothing was changed: --dry-run.\n")


def _show_first_entries(roster: ReadRoster) -> None:
    """Print the first people as they are read by the columns that were named."""
    for one in roster.entries[:_FIRST]:
        values = {"id": one.outside_id, "name": one.name, "group": one.group, "role": one.role and one.role.word}
        says = ", ".join(f"{word} {value!r}" for word, value in values.items() if value)
        sys.stderr.write(f"Line {one.line}: {says}\n")


def _roster_lines(found: RosterChanges, *, removes: bool) -> Iterator[str]:
    for new in found.added:
        yield f"+ {new.name}{_id(new.outside_id)}"
    for known in found.known:
        yield f"+ {known.listed.name}{_id(known.listed.outside_id)}, known from before as {known.name}"
    for one in (*found.changed, *found.found):
        yield f"~ {one.member.name} -> {one.listed.name}{_id(one.listed.outside_id)}"
    for double in found.doubled:
        yield f"= line {double.listed.line} is the same person as line {double.first.line}"
    for member in found.missing:
        yield f"{'-' if removes else '?'} {member.name}{_id(member.outside_id)}"
    yield f"{found.same:,} unchanged"


def _id(outside: str) -> str:
    return f" ({outside})" if outside else ""
