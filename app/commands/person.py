"""`wallclock person`: everything about a person, a person deleted, two persons who are one."""

import sys
from argparse import ArgumentParser, Namespace

from app.classes.people.erasure import all_about, delete_person
from app.classes.people.merges import merge_persons, undo_merge
from app.commands.files import add_actions, add_command
from app.commands.people import OpenDatabase, open_database, print_json
from app.core.errors import InputError, NotFoundError
from app.server.db.people import PersonRow

_OPERATOR = "an operator"
_LARGEST = 2**63 - 1  # number of a row


def add_options(parser: ArgumentParser) -> None:
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


def run(arguments: Namespace) -> int:
    """Do what is asked about a person."""
    actions = {"export": _export, "delete": _delete, "merge": _merge, "unmerge": _unmerge}
    with open_database(writes=arguments.action != "export") as here:
        actions[arguments.action](arguments, here)
    return 0


def _person_numbered(here: OpenDatabase, number: int) -> PersonRow:
    row = here.session.get(PersonRow, number) if number <= _LARGEST else None
    if row is None:
        raise NotFoundError(f"person {number} does not exist; wallclock roster CLASS --json lists them")
    return row


def _export(arguments: Namespace, here: OpenDatabase) -> None:
    print_json(all_about(here.session, _person_numbered(here, arguments.person)))


def _delete(arguments: Namespace, here: OpenDatabase) -> None:
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


def _merge(arguments: Namespace, here: OpenDatabase) -> None:
    kept, gone = _person_numbered(here, arguments.kept), _person_numbered(here, arguments.gone)
    number = merge_persons(here.session, kept.id or 0, gone.id or 0, _OPERATOR)
    here.session.commit()
    sys.stdout.write(f"{number}\n")
    sys.stderr.write(
        f"Person {gone.id} is part of person {kept.id} now; to undo it: wallclock person unmerge {number}\n"
    )


def _unmerge(arguments: Namespace, here: OpenDatabase) -> None:
    undo_merge(here.session, arguments.merge)
    here.session.commit()
    sys.stderr.write(f"Merge {arguments.merge} is undone.\n")
