"""`wallclock person`, and what the commands on classes share: the database, and a class by its number or name."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlmodel import Session, col, select

from app.commands.files import add_actions, add_command
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
            yield OpenDatabase(settings, session, secret)
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
    from app.classes.people.erasure import all_about

    print_json(all_about(here.session, _person_numbered(here, arguments.person)))


def _delete(arguments: Namespace, here: OpenDatabase) -> None:
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


def _merge(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.merges import merge_persons

    kept, gone = _person_numbered(here, arguments.kept), _person_numbered(here, arguments.gone)
    number = merge_persons(here.session, kept.id or 0, gone.id or 0, _OPERATOR)
    here.session.commit()
    sys.stdout.write(f"{number}\n")
    sys.stderr.write(
        f"Person {gone.id} is part of person {kept.id} now; to undo it: wallclock person unmerge {number}\n"
    )


def _unmerge(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.merges import undo_merge

    undo_merge(here.session, arguments.merge)
    here.session.commit()
    sys.stderr.write(f"Merge {arguments.merge} is undone.\n")
