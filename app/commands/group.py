"""`wallclock group`: list, rename and dissolve the groups of a class."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from app.classes.people.classes import number_of, refuse_archived
from app.classes.people.members import class_groups, dissolve_group, rename_group
from app.commands.files import add_actions, add_command
from app.commands.people import OpenDatabase, class_called, open_database, print_json


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock group`."""
    actions = add_actions(parser)
    listing = add_command(actions, "list", "list groups: name, students, assignments with dates of its own")
    rename = add_command(actions, "rename", "give a group another name")
    dissolve = add_command(actions, "dissolve", "take everyone out of a group; its dates go")
    for action in (listing, rename, dissolve):
        action.add_argument("name", metavar="CLASS", help="number or name")
    for action in (rename, dissolve):
        action.add_argument("group", metavar="GROUP", help="its name")
    rename.add_argument("new", metavar="NEW", help="its new name")
    listing.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """List, rename or dissolve groups."""
    actions = {"list": _list_groups, "rename": _rename, "dissolve": _dissolve}
    with open_database(writes=arguments.action != "list") as here:
        actions[arguments.action](arguments, here)
    return 0


def _list_groups(arguments: Namespace, here: OpenDatabase) -> None:
    found = class_groups(here.session, number_of(class_called(here.session, arguments.name)))
    if arguments.json:
        print_json([asdict(one) for one in found])
    for one in [] if arguments.json else found:
        sys.stdout.write(f"{one.name}\t{one.students}\t{one.assignments}\n")


def _rename(arguments: Namespace, here: OpenDatabase) -> None:
    class_id = _class_to_change(arguments, here)
    rename_group(here.session, class_id, arguments.group, arguments.new)
    here.session.commit()
    sys.stderr.write(f"{arguments.group} is called {arguments.new.strip()} now.\n")


def _dissolve(arguments: Namespace, here: OpenDatabase) -> None:
    class_id = _class_to_change(arguments, here)
    dissolve_group(here.session, class_id, arguments.group)
    here.session.commit()
    sys.stderr.write(f"{arguments.group} is dissolved.\n")


def _class_to_change(arguments: Namespace, here: OpenDatabase) -> int:
    row = class_called(here.session, arguments.name)
    refuse_archived(row)
    return number_of(row)
