"""`wallclock class` and `group`: make, list, change and delete classes, and the groups in them.

What one action alone needs is imported by it: a list of classes needs no course.
"""

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from zoneinfo import ZoneInfo

from sqlmodel import col, select

from app.classes.people.assignments import assignments_of
from app.classes.people.classes import class_facts, create_taught_class, number_of, refuse_archived
from app.classes.people.members import class_groups, delete_class, dissolve_group, rename_group
from app.commands.files import Commands, add_actions, add_command
from app.commands.people import OpenDatabase, class_called, open_database, print_json, public_address
from app.core.errors import InputError
from app.server.db.people import ClassRow
from app.server.db.tables import now


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
    copy = add_command(actions, "copy", "copy the assignments of a class into another one, with their dates moved")
    copy.add_argument("name", metavar="CLASS", help="number or name of the class that has them")
    copy.add_argument("into", metavar="INTO", help="number or name of the class that gets them")
    copy.add_argument(
        "--assignment",
        type=int,
        action="append",
        default=[],
        metavar="NUMBER",
        help="only this one; may be given several times (default: all)",
    )
    moved = copy.add_mutually_exclusive_group(required=True)
    moved.add_argument("--weeks", type=int, help="weeks by which all dates are moved")
    moved.add_argument(
        "--start", type=_day, metavar="YYYY-MM-DD", help="the first date comes into the week of this day"
    )
    weigh = add_command(actions, "weigh", "weigh the assignments of a class, and leave out the lowest of each student")
    weigh.add_argument("name", metavar="CLASS", help="number or name")
    weigh.add_argument(
        "--weight",
        type=_weight,
        action="append",
        default=[],
        metavar="NUMBER=WEIGHT",
        help="of an assignment; with nothing after = it weighs as much as its points",
    )
    weigh.add_argument(
        "--lowest",
        type=int,
        metavar="COUNT",
        help="how many assignments with the lowest share of the points are left out",
    )
    copy.add_argument("--dry-run", action="store_true", help="print the new dates alone")
    demo = add_command(actions, "demo", "make a class with invented students, to try everything on")
    for action in (create, listing, demo):
        action.add_argument("--json", action="store_true", help="print JSON")


def run_class(arguments: Namespace) -> int:
    """Create, list or delete classes."""
    actions = {
        "create": _create,
        "list": _list_classes,
        "delete": _delete,
        "demo": _demo,
        "copy": _copy_assignments,
        "weigh": _weigh,
    }
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


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day such as 2027-04-12") from None


def _weight(text: str) -> tuple[int, float | None]:
    number, equals, weight = text.partition("=")
    try:
        return int(number), float(weight) if weight or not equals else None
    except ValueError:
        says = f"{text!r} is not the number of an assignment and a weight, such as 3=20"
        raise ArgumentTypeError(says) from None


def _weigh(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.gradebook import GradeRule, change_grade_rule, grade_rule_in_words, grade_rule_of

    row = class_called(here.session, arguments.name)
    refuse_archived(row)
    assignments = assignments_of(here.session, number_of(row))
    weights = {**grade_rule_of(row, assignments).weights, **dict(arguments.weight)}
    lowest = row.lowest if arguments.lowest is None else arguments.lowest
    change_grade_rule(here.session, row, GradeRule(lowest, weights))
    here.session.commit()
    changed = assignments_of(here.session, number_of(row))
    for sentence in grade_rule_in_words(changed, row.lowest):
        sys.stdout.write(f"{sentence}\n")


def _copy_assignments(arguments: Namespace, here: OpenDatabase) -> None:
    from app.classes.people.assignment_copies import plan_copies, store_copies
    from app.course.content.course import read_course

    source = number_of(class_called(here.session, arguments.name))
    target = class_called(here.session, arguments.into)
    refuse_archived(target)
    zone = ZoneInfo(target.zone)
    known = read_course(here.settings).by_id
    when = arguments.weeks if arguments.start is None else arguments.start
    copies, weeks = plan_copies(here.session, source, arguments.assignment, when, zone, known)
    if not arguments.dry_run:
        store_copies(here.session, number_of(target), copies)
        here.session.commit()
    for one in copies:
        dates = [
            f"{name} {at.astimezone(zone):%Y-%m-%d %H:%M}"
            for name in ("opens", "due", "closes")
            if (at := getattr(one.policy, name))
        ]
        sys.stdout.write("\t".join([one.source.title, *dates]) + "\n")
        for says in (*one.notes, *(f"{name} is left out: it is gone" for name in one.gone)):
            sys.stderr.write(f"{one.source.title}: {says}\n")
    done = "would be copied" if arguments.dry_run else "copied"
    sys.stderr.write(f"{len(copies)} {done} into {target.name}, {weeks} weeks later\n")


def _described(row: ClassRow, here: OpenDatabase) -> Mapping[str, object]:
    return class_facts(here.session, here.secret, row, public_address(here.settings, ""))


def add_group_options(parser: ArgumentParser) -> None:
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


def run_group(arguments: Namespace) -> int:
    """List, rename or dissolve groups."""
    actions = {"list": _list_groups, "rename": _rename_group, "dissolve": _dissolve_group}
    with open_database(writes=arguments.action != "list") as here:
        actions[arguments.action](arguments, here)
    return 0


def _list_groups(arguments: Namespace, here: OpenDatabase) -> None:
    found = class_groups(here.session, number_of(class_called(here.session, arguments.name)))
    if arguments.json:
        print_json([asdict(one) for one in found])
    for one in [] if arguments.json else found:
        sys.stdout.write(f"{one.name}\t{one.students}\t{one.assignments}\n")


def _rename_group(arguments: Namespace, here: OpenDatabase) -> None:
    class_id = _class_to_change(arguments, here)
    rename_group(here.session, class_id, arguments.group, arguments.new)
    here.session.commit()
    sys.stderr.write(f"{arguments.group} is called {arguments.new.strip()} now.\n")


def _dissolve_group(arguments: Namespace, here: OpenDatabase) -> None:
    class_id = _class_to_change(arguments, here)
    dissolve_group(here.session, class_id, arguments.group)
    here.session.commit()
    sys.stderr.write(f"{arguments.group} is dissolved.\n")


def _class_to_change(arguments: Namespace, here: OpenDatabase) -> int:
    row = class_called(here.session, arguments.name)
    refuse_archived(row)
    return number_of(row)


COMMANDS: Commands = {"class": (add_class_options, run_class), "group": (add_group_options, run_group)}
