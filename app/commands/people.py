"""`wallclock class`, `roster`, `person`, `grades` and `results`: classes, their people, and what these did.

What one action alone needs is imported by it: a list of classes needs no course.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from app.classes.people.classes import class_facts, create_taught_class, members_of, number_of
from app.classes.people.csv_rosters import COLUMN_WORDS, SYSTEMS, read_roster, write_roster
from app.classes.people.csv_text import FILE_LIMIT
from app.classes.people.members import delete_class
from app.classes.people.rosters import RosterChanges, import_roster, roster_changes
from app.commands.files import Commands, add_actions, add_command, add_output, output, source_of
from app.core.errors import InputError, NotFoundError, nearest
from app.server.config import Settings
from app.server.db.learner_cookie import signing_secret
from app.server.db.migrations import migrate
from app.server.db.people import ClassRow, PersonRow
from app.server.db.session import connect, open_session, open_writing_session

_OPERATOR = "an operator"
_LARGEST = 2**63 - 1  # number of a row


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """The database, and the secret that codes and variants follow from."""

    settings: Settings
    engine: Engine
    session: Session
    secret: str


@contextmanager
def open_database(*, writes: bool = False) -> Iterator[OpenDatabase]:
    """The database of the settings, migrated.

    On SQLite, no other program can store anything from the first query of one that *writes* to
    its commit: what may wait for a person or a file is done before or after.
    """
    settings = Settings()
    migrate(settings.database)
    engine = connect(settings.database)
    try:
        secret = signing_secret(engine, settings.secret)
        with (open_writing_session if writes else open_session)(engine) as session:
            yield OpenDatabase(settings, engine, session, secret)
    finally:
        engine.dispose()


def class_called(session: Session, text: str) -> ClassRow:
    """The class with that number or name.

    Raises:
        InputError: several classes have the name.
        NotFoundError: the class does not exist; the message offers the closest name.
    """
    rows = session.exec(select(ClassRow).order_by(col(ClassRow.id))).all()
    found = [row for row in rows if text == str(row.id)] or [r for r in rows if r.name == text]
    if len(found) > 1:
        numbers = ", ".join(str(row.id) for row in found)
        raise InputError(f"several classes are called {text!r}: give the number, of {numbers}")
    if not found:
        known = [row.name for row in rows]
        says = nearest(text, known) or "; `wallclock class list` lists all"
        raise NotFoundError(f"no class {text[:60]!r} was found{says}")
    return found[0]


def print_json(value: object) -> None:
    """Print *value* as JSON."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def public_address(settings: Settings, path: str) -> str:
    """*path* on the public site, or on this machine if no address is set."""
    return f"{settings.url or f'http://{settings.host}:{settings.port}{settings.prefix}'}{path}"


def add_person_options(parser: ArgumentParser) -> None:
    """The options of `wallclock person`."""
    actions = add_actions(parser)
    export = add_command(actions, "export", "print everything stored about a person, as JSON")
    delete = add_command(actions, "delete", "delete a person; answers that a class has graded stay, without a name")
    for action in (export, delete):
        action.add_argument("person", type=int, metavar="PERSON", help="number, as in the roster")
    delete.add_argument("--yes", action="store_true", help="do it")
    merge = add_command(actions, "merge", "make two persons one: all that the second has moves")
    merge.add_argument("kept", type=int, metavar="KEPT", help="number of the one who stays")
    merge.add_argument("gone", type=int, metavar="GONE", help="number of the one who goes")
    unmerge = add_command(actions, "unmerge", "undo a merge")
    unmerge.add_argument("merge", type=int, metavar="MERGE", help="number that `merge` printed")


def run_person(arguments: Namespace) -> int:
    """Do what is asked about a person."""
    actions = {"export": _export_person, "delete": _delete_person, "merge": _merge_persons, "unmerge": _undo_merge}
    with open_database(writes=arguments.action != "export") as here:
        actions[arguments.action](arguments, here)
    return 0


def _person_numbered(here: OpenDatabase, number: int) -> PersonRow:
    row = here.session.get(PersonRow, number) if number <= _LARGEST else None
    if row is None:
        raise NotFoundError(f"person {number} does not exist; wallclock roster CLASS --json lists them")
    return row


def _export_person(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.erasure import all_about

    print_json(all_about(here.session, _person_numbered(here, arguments.person)))


def _delete_person(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.erasure import delete_person

    row = _person_numbered(here, arguments.person)
    name = row.name or f"person {arguments.person}"
    if not arguments.yes:
        raise InputError(
            f"this deletes {name} with names, ways to sign in and every answer that no class has "
            "graded; add --yes to do it"
        )
    stays = delete_person(here.session, row)
    left = "; graded answers stay with their class, without a name" if stays else ""
    sys.stderr.write(f"{name} is deleted{left}. Copies of the database still have it.\n")


def _merge_persons(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.merges import merge_persons

    kept, gone = _person_numbered(here, arguments.kept), _person_numbered(here, arguments.gone)
    number = merge_persons(here.session, kept.id or 0, gone.id or 0, _OPERATOR)
    here.session.commit()
    sys.stdout.write(f"{number}\n")
    sys.stderr.write(
        f"Person {gone.id} is part of person {kept.id} now; to undo it: wallclock person unmerge {number}\n"
    )


def _undo_merge(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.merges import undo_merge

    undo_merge(here.session, arguments.merge)
    here.session.commit()
    sys.stderr.write(f"Merge {arguments.merge} is undone.\n")


def add_class_options(parser: ArgumentParser) -> None:
    """The options of `wallclock class`."""
    actions = add_actions(parser)
    create = add_command(actions, "create", "make a class, and print its join link and its teacher's code")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--zone", default="UTC", help="time zone of its dates, such as Europe/Berlin (default: UTC)")
    create.add_argument("--teacher", metavar="NAME", default="Teacher", help="of the teacher (default: Teacher)")
    create.add_argument("--pseudonyms", action="store_true", help="ask students for an invented name")
    listing = add_command(actions, "list", "list classes: number, name, students and join link")
    delete = add_command(actions, "delete", "delete a class with all of it")
    delete.add_argument("name", metavar="CLASS", help="number or name")
    delete.add_argument("--yes", action="store_true", help="do it")
    for action in (create, listing):
        action.add_argument("--json", action="store_true", help="print JSON")


def run_class(arguments: Namespace) -> int:
    """Create, list or delete classes."""
    actions = {"create": _create_class, "list": _list_classes, "delete": _delete_class}
    with open_database(writes=arguments.action != "list") as here:
        actions[arguments.action](arguments, here)
    return 0


def _create_class(arguments: Namespace, here: OpenDatabase) -> None:
    row, code = create_taught_class(
        here.session, here.secret, arguments.name, arguments.zone, arguments.teacher, pseudonyms=arguments.pseudonyms
    )
    here.session.commit()
    made = {**_described(row, here), "teacher": arguments.teacher, "code": code}
    if arguments.json:
        print_json(made)
        return
    sys.stdout.write(
        f"{row.name} is class {row.id}.\n"
        f"Students join at     {made['join']}\n"
        f"The teacher signs in at {public_address(here.settings, '/sign-in')} "
        f"with the code {code}\n"
    )
    sys.stderr.write("Copy the code now: it is not shown again.\n")


def _list_classes(arguments: Namespace, here: OpenDatabase) -> None:
    rows = here.session.exec(select(ClassRow).order_by(col(ClassRow.id))).all()
    found = [_described(row, here) for row in rows]
    if arguments.json:
        print_json(found)
    for one in [] if arguments.json else found:
        archived = "\tarchived" if one["archived"] else ""
        sys.stdout.write(f"{one['id']}\t{one['name']}\t{one['students']}\t{one['join']}{archived}\n")


def _delete_class(arguments: Namespace, here: OpenDatabase) -> None:
    row = class_called(here.session, arguments.name)
    if not arguments.yes:
        raise InputError(
            f"this deletes {row.name!r} with its assignments, its grades and the answers of those "
            "who are in no other class; add --yes to do it"
        )
    name = row.name
    delete_class(here.session, row)
    here.session.commit()
    sys.stderr.write(f"{name} is deleted.\n")


def _described(row: ClassRow, here: OpenDatabase) -> Mapping[str, object]:
    return class_facts(here.session, here.secret, row, public_address(here.settings, ""))


_FIRST = 5  # people that are shown as they are read


def add_roster_options(parser: ArgumentParser) -> None:
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


def run_roster(arguments: Namespace) -> int:
    """Print or change a roster."""
    if arguments.file:
        _change_roster(arguments)
        return 0
    with open_database() as here:
        members = members_of(here.session, _class_id(arguments, here))
    if arguments.json:
        print_json([one.described() for one in members])
    else:
        sys.stdout.write(write_roster(members))
    return 0


def _class_id(arguments: Namespace, here: OpenDatabase) -> int:
    return number_of(class_called(here.session, arguments.name))


def _change_roster(arguments: Namespace) -> None:
    with source_of(arguments.file) as source:
        roster = read_roster(source.read(FILE_LIMIT + 1), arguments.column, arguments.first_line)
    with open_database(writes=not arguments.dry_run) as here:
        class_id = _class_id(arguments, here)
        found = roster_changes(here.session, class_id, roster.entries)
        if not arguments.dry_run:
            import_roster(here.session, class_id, found, remove_missing=arguments.remove_missing)
            here.session.commit()
    if arguments.column:
        for entry in roster.entries[:_FIRST]:
            role = entry.role and entry.role.word
            values = {"id": entry.outside_id, "name": entry.name, "group": entry.group, "role": role}
            says = ", ".join(f"{word} {value!r}" for word, value in values.items() if value)
            sys.stderr.write(f"Line {entry.line}: {says}\n")
    for line in _roster_lines(found, removes=arguments.remove_missing):
        sys.stdout.write(f"{line}\n")
    for says in roster.left_out:
        sys.stderr.write(f"Left out: {says}\n")
    if roster.unused:
        sys.stderr.write(f"Columns that are not used: {', '.join(roster.unused)}\n")
    if arguments.dry_run:
        sys.stderr.write("Nothing was changed: --dry-run.\n")


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


COMMANDS: Commands = {
    "class": (add_class_options, run_class),
    "roster": (add_roster_options, run_roster),
    "person": (add_person_options, run_person),
    "grades": (add_grades_options, run_grades),
    "results": (add_results_options, run_results),
}
