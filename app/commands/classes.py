"""`wallclock class`: make, list and delete classes.

What one action alone needs is imported by it: a list of classes needs no course.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from sqlmodel import col, select

from app.classes.people.classes import class_facts, create_taught_class
from app.classes.people.members import delete_class
from app.commands.files import add_actions, add_command
from app.commands.people import OpenDatabase, class_called, open_database, print_json, public_address
from app.core.errors import InputError
from app.server.db.people import ClassRow
from app.server.db.tables import now


def add_options(parser: ArgumentParser) -> None:
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
    demo = add_command(actions, "demo", "make a class with invented students, to try everything on")
    for action in (create, listing, demo):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Create, list or delete classes."""
    actions = {"create": _create, "list": _list_classes, "delete": _delete, "demo": _demo}
    with open_database(writes=arguments.action != "list") as here:
        actions[arguments.action](arguments, here)
    return 0


def _create(arguments: Namespace, here: OpenDatabase) -> None:
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


def _delete(arguments: Namespace, here: OpenDatabase) -> None:
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


def _demo(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.demo import create_demo
    from app.course.content.course import read_course
    from app.course.sandbox.runner import Runner

    catalog = read_course(here.settings)
    runner = Runner(here.settings)  # not started: no exercise of the demo runs code
    demo = asyncio.run(create_demo(here.session, catalog, here.secret, runner, now()))
    here.session.commit()
    if arguments.json:
        print_json(
            {
                "id": demo.class_id,
                "name": demo.name,
                "code": demo.code,
                "students": demo.students,
                "answers": demo.answers,
            }
        )
        return
    sys.stdout.write(
        f"{demo.name} is class {demo.class_id}: {demo.students} invented students, "
        f"{demo.answers:,} answers.\n"
        f"Its teacher signs in at {public_address(here.settings, '/sign-in')} with {demo.code}\n"
        f"To remove all of it: wallclock class delete {demo.class_id} --yes\n"
    )


def _described(row: ClassRow, here: OpenDatabase) -> Mapping[str, object]:
    return class_facts(here.session, here.secret, row, public_address(here.settings, ""))
