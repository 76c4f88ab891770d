"""The assignments of a class, copies of them, and later dates for single students."""

from dataclasses import asdict
from datetime import UTC, datetime
from math import isclose
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import Header, HTTPException, Response

from app.classes.api import shapes
from app.classes.api.access import LINK, ClassCall, ClassCalls, Number, Paged, class_for, persons_called
from app.classes.api.classes import DryRun
from app.classes.people import assignments, counted_answers
from app.classes.people.assignment_copies import AssignmentCopy, plan_copies, store_copies
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.classes import Member
from app.classes.people.members import refuse_unknown_groups, students_in
from app.classes.people.persons import clean_name
from app.classes.people.policy import DATES, RULES, GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.site import Site
from app.site.api.documents import responses

ASSIGNMENTS = "/assignments"
ASSIGNMENT = ASSIGNMENTS + "/{assignment}"
EXTENSIONS = ASSIGNMENT + "/extensions"
router = ClassCalls("assignments")
CHANGED = responses(412)
VERSIONED: dict[str, Any] = {
    "headers": {
        "ETag": {"description": "the version, for If-Match when it is changed or deleted", "schema": {"type": "string"}}
    }
}
IfMatch = Annotated[
    str | None, Header(description="change it only if this is its version still: the ETag that was sent")
]
_CHANGED = "the assignment was changed in the meantime: GET it again; its version is {now} now"


@router.call("GET", ASSIGNMENTS, summary="List assignments", responses={200: LINK})
def list_assignments(call: ClassCall, page: Paged) -> list[shapes.AssignmentDocument]:
    """Returns the assignments of a class, oldest first."""
    return [
        _document(one) for one in page.cut(assignments.assignments_of(call.session, call.class_id), lambda one: one.id)
    ]


@router.call("POST", ASSIGNMENTS, status_code=201, summary="Make an assignment", responses={201: VERSIONED})
def make_assignment(call: ClassCall, body: shapes.NewAssignment, response: Response) -> shapes.AssignmentDocument:
    """Returns the assignment with its number."""
    _refuse_other_points(body)
    entries, groups = _entries(call.site, body, ()), _group_dates(call, body)
    draws = [pool.draw for pool in body.pools]
    number = assignments.create_assignment(
        call.session, call.class_id, body.title, _policy(body), entries, groups, draws
    )
    return _versioned(response, assignments.assignment_with(call.session, number))


@router.call("GET", ASSIGNMENT, summary="Get an assignment", responses={200: VERSIONED})
def get_assignment(call: ClassCall, assignment: Number, response: Response) -> shapes.AssignmentDocument:
    """Returns the assignment, and its version in the header ETag."""
    return _versioned(response, call.assignment(assignment))


@router.call("GET", ASSIGNMENT + "/variants", summary="List everyone's variants", responses={200: LINK})
def list_variants(call: ClassCall, assignment: Number, page: Paged) -> list[shapes.PersonVariants]:
    """Returns the seed of each exercise that counts for each student, by their number."""
    found = call.assignment(assignment)
    students = page.cut(students_in(call.session, call.class_id), lambda one: one.person)
    return [_variants(call.site, found, one) for one in students]


@router.call("PUT", ASSIGNMENT, summary="Change an assignment", responses={200: VERSIONED, **CHANGED})
def put_assignment(
    call: ClassCall, assignment: Number, body: shapes.NewAssignment, response: Response, if_match: IfMatch = None
) -> shapes.AssignmentDocument:
    """Replaces the assignment; what is left out gets its usual value. Answers stay."""
    call.assignment(assignment)
    if body.id not in (None, assignment):
        raise InputError(f"body.id: this is assignment {assignment}, not {body.id}")
    before = assignments.assignment_to_change(call.session, assignment)
    _refuse_other_version(before, if_match)
    _refuse_other_points(body, before.points)
    entries, groups = _entries(call.site, body, before.entries), _group_dates(call, body)
    draws = [pool.draw for pool in body.pools]
    assignments.change_assignment(call.session, assignment, body.title, _policy(body), entries, groups, draws)
    return _versioned(response, assignments.assignment_with(call.session, assignment))


@router.call("DELETE", ASSIGNMENT, status_code=204, summary="Delete an assignment", responses=CHANGED)
def remove_assignment(call: ClassCall, assignment: Number, if_match: IfMatch = None) -> None:
    """Deletes it with its extensions and the points given by hand; answers stay."""
    call.assignment(assignment)
    _refuse_other_version(assignments.assignment_to_change(call.session, assignment), if_match)
    assignments.delete_assignment(call.session, assignment)


@router.call("POST", "/copies", summary="Copy assignments into a class")
def copy_assignments(call: ClassCall, body: shapes.NewCopies, dry_run: DryRun = False) -> shapes.CopiedAssignments:
    """Returns the copies with their dates; the token must open both classes.

    Clocks show the same times on the same days of the week, also where they were changed meanwhile.
    """
    class_for(call.session, call.grant, body.source)
    when = body.weeks if body.start is None else body.start
    zone, known = ZoneInfo(call.row.zone), call.site.catalog.by_id
    copies, weeks = plan_copies(call.session, body.source, body.assignments, when, zone, known)
    made = {} if dry_run else store_copies(call.session, call.class_id, copies)
    return shapes.CopiedAssignments(
        applied=not dry_run, weeks=weeks, copies=[_copy_document(one, made.get(one.source.id)) for one in copies]
    )


@router.call("GET", EXTENSIONS, summary="List extensions", responses={200: LINK})
def list_extensions(call: ClassCall, assignment: Number, page: Paged) -> list[shapes.ExtensionDocument]:
    """Returns the extensions of an assignment, by the number of the person."""
    return list(page.cut(_extensions(call, call.assignment(assignment)), lambda one: one.number))


@router.call("POST", EXTENSIONS, summary="Extend for one or many")
def give_extensions(call: ClassCall, assignment: Number, body: shapes.NewExtension) -> list[shapes.ExtensionDocument]:
    """Moves the due date and the close of these people; an earlier extension is replaced."""
    extended, session = call.assignment(assignment), call.session
    persons = persons_called(session, call.class_id, body.people)
    until, why = body.until.astimezone(UTC), " ".join(body.why.split())
    try:
        counted_answers.give_extension(session, extended, persons, until, call.by[:100], why, call.site.clock())
    except counted_answers.EarlyExtensionError as error:
        raise InputError(f"body.until: everyone has until {error.first:%Y-%m-%dT%H:%MZ} already") from None
    session.flush()
    return [one for one in _extensions(call, extended) if one.number in persons]


@router.call("DELETE", EXTENSIONS + "/{person}", status_code=204, summary="Take an extension back")
def end_extension(call: ClassCall, assignment: Number, person: Number) -> None:
    """The dates of everyone hold again for the person with that number."""
    if not counted_answers.drop_extension(call.session, call.assignment(assignment).id, person):
        raise NotFoundError("this person has no extension")


def _variants(site: Site, found: Assignment, member: Member) -> shapes.PersonVariants:
    exercises = [one.exercise for one in found.personal(member.learner).entries]
    drawings = counted_answers.Drawings(site.secret, found)
    seeded = () if found.policy.variants == "many" else exercises
    return shapes.PersonVariants(
        **member.named(), exercises=exercises, seeds={name: drawings.of(member.learner, name) for name in seeded}
    )


def _refuse_other_version(stored: Assignment, if_match: str | None) -> None:
    """Refuse to change an assignment that is not as the program that asks for it knows it."""
    # A proxy that compresses makes the tag a weak one: W/"...".
    known = [one.strip().removeprefix("W/") for one in (if_match or "*").split(",")]
    if "*" not in known and _tag(stored) not in known:
        raise HTTPException(412, _CHANGED.format(now=_tag(stored)))


def _refuse_other_points(body: shapes.NewAssignment, before: float | None = None) -> None:
    """Refuse points that are not the sum of the exercises, nor the sum *before* the change, which GET gave."""
    total = sum(one.points for one in body.exercises) + sum(one.draw * one.points for one in body.pools)
    if body.points is not None and not any(isclose(body.points, one) for one in (total, before) if one is not None):
        raise InputError(
            f"body.points: this is the sum of the exercises, which is {total:g}, not {body.points:g}: leave it out, or "
            "change the points of the exercises"
        )


def _versioned(response: Response, stored: Assignment) -> shapes.AssignmentDocument:
    response.headers["ETag"] = _tag(stored)
    return _document(stored)


def _tag(stored: Assignment) -> str:
    return f'"{stored.version}"'


def _entries(site: Site, body: shapes.NewAssignment, stored: tuple[AssignmentEntry, ...]) -> list[AssignmentEntry]:
    """The entries of *body*; an exercise must be in the course, or *stored* already."""
    known = {entry.exercise for entry in stored}
    seen: set[str] = set()
    fixed = [
        (f"body.exercises.{place}.exercise", AssignmentEntry(one.exercise, one.points))
        for place, one in enumerate(body.exercises)
    ]
    found = fixed + [
        (f"body.pools.{number}.of.{place}", AssignmentEntry(name, pool.points, number + 1))
        for number, pool in enumerate(body.pools)
        for place, name in enumerate(pool.of)
    ]
    for where, entry in found:
        if entry.exercise in seen:
            raise InputError(f"{where}: {entry.exercise!r} is already in this assignment")
        seen.add(entry.exercise)
        if entry.exercise not in known:
            try:
                site.catalog.exercise(entry.exercise)
            except NotFoundError as error:
                raise InputError(f"{where}: {error}") from None
    return [entry for _, entry in found]


def _policy(body: shapes.NewAssignment) -> Policy:
    rules = {name: getattr(body, name) for name in RULES}
    return Policy(**(rules | _moments(body)))


def _moments(document: shapes.NewAssignment | shapes.GroupDatesDocument) -> dict[str, datetime | None]:
    given = {name: getattr(document, name) for name in DATES}
    return {name: at.astimezone(UTC) if at else None for name, at in given.items()}


def _group_dates(call: ClassCall, body: shapes.NewAssignment) -> list[GroupDates]:
    """The dates of groups in *body*; the class must have these groups."""
    found = [GroupDates(group=clean_name(one.group), **_moments(one)) for one in body.groups]
    refuse_unknown_groups(call.session, call.class_id, [one.group for one in found])
    return found


def _document(one: Assignment) -> shapes.AssignmentDocument:
    return shapes.AssignmentDocument(
        id=one.id,
        title=one.title,
        points=one.points,
        exercises=[
            shapes.EntryDocument(exercise=entry.exercise, points=entry.points)
            for entry in one.entries
            if not entry.pool
        ],
        pools=[shapes.PoolDocument(draw=pool.draw, of=list(pool.exercises), points=pool.points) for pool in one.pools],
        groups=[shapes.GroupDatesDocument(**asdict(dates)) for dates in one.groups],
        **{name: getattr(one.policy, name) for name in RULES},
    )


def _copy_document(one: AssignmentCopy, number: int | None) -> shapes.CopyDocument:
    dates = {name: getattr(one.policy, name) for name in DATES}
    return shapes.CopyDocument(
        source=one.source.id,
        id=number,
        title=one.source.title,
        left_out=list(one.gone),
        notes=list(one.notes),
        **{name: at.astimezone(UTC) if at else None for name, at in dates.items()},
    )


def _extensions(call: ClassCall, assignment: Assignment) -> list[shapes.ExtensionDocument]:
    return [
        shapes.ExtensionDocument(**one.named(), until=row.until, by=row.by, why=row.why)
        for one, row in counted_answers.extensions_of(call.session, assignment)
    ]
