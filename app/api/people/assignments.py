"""The assignments of a class."""

from dataclasses import asdict
from datetime import UTC, datetime
from math import isclose
from typing import Annotated, Any

from fastapi import Header, HTTPException, Response
from sqlmodel import Session

from app.api.documents import responses
from app.api.people.access import (
    ERRORS,
    LINK,
    ONE_CLASS,
    Number,
    Paged,
    Scoped,
    assignment_for,
    class_for,
    class_to_change,
)
from app.api.people.assignment_shapes import (
    AssignmentDocument,
    EntryDocument,
    GroupDatesDocument,
    NewAssignment,
    PersonVariants,
    PoolDocument,
)
from app.db.session import open_session, open_writing_session
from app.errors import InputError, NotFoundError
from app.network.routes import Router
from app.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_to_change,
    assignment_with,
    assignments_of,
    change_assignment,
    create_assignment,
    delete_assignment,
)
from app.people.classes import Member, Role, members_of
from app.people.groups import refuse_unknown_groups
from app.people.persons import clean_name
from app.people.policy import DATES, RULES, GroupDates, Policy
from app.people.variants import Drawings
from app.site import Here, Site

ASSIGNMENTS = ONE_CLASS + "/assignments"
ASSIGNMENT = ASSIGNMENTS + "/{assignment}"
router = Router(tags=["assignments"], responses=ERRORS)
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


@router.get(ASSIGNMENTS, summary="List assignments", responses={200: LINK})
def list_assignments(site: Here, grant: Scoped, class_id: Number, page: Paged) -> list[AssignmentDocument]:
    """Returns the assignments of a class, oldest first."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        found = assignments_of(session, class_id)
    return [_document(one) for one in page.cut(found, lambda one: one.id)]


@router.post(ASSIGNMENTS, status_code=201, summary="Make an assignment", responses={201: VERSIONED})
def make_assignment(
    site: Here, grant: Scoped, class_id: Number, body: NewAssignment, response: Response
) -> AssignmentDocument:
    """Returns the assignment with its number."""
    _refuse_other_points(body)
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        entries = _entries(site, body, ())
        groups = _groups(session, class_id, body)
        draws = [pool.draw for pool in body.pools]
        number = create_assignment(session, class_id, body.title, _policy(body), entries, groups, draws)
        session.commit()
        return _versioned(response, assignment_with(session, number))


@router.get(ASSIGNMENT, summary="Get an assignment", responses={200: VERSIONED})
def get_assignment(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, response: Response
) -> AssignmentDocument:
    """Returns the assignment, and its version in the header ETag."""
    with open_session(site.engine) as session:
        return _versioned(response, assignment_for(session, grant, class_id, assignment))


@router.get(ASSIGNMENT + "/variants", summary="List everyone's variants", responses={200: LINK})
def list_variants(site: Here, grant: Scoped, class_id: Number, assignment: Number, page: Paged) -> list[PersonVariants]:
    """Returns the seed of each exercise that counts for each student, by their number."""
    with open_session(site.engine) as session:
        found = assignment_for(session, grant, class_id, assignment)
        everyone = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    return [_variants(site, found, one) for one in page.cut(everyone, lambda one: one.person)]


@router.put(ASSIGNMENT, summary="Change an assignment", responses={200: VERSIONED, **CHANGED})
def put_assignment(
    site: Here,
    grant: Scoped,
    class_id: Number,
    assignment: Number,
    body: NewAssignment,
    response: Response,
    if_match: IfMatch = None,
) -> AssignmentDocument:
    """Replaces the assignment; what is left out gets its usual value. Answers stay."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        assignment_for(session, grant, class_id, assignment)
        if body.id not in (None, assignment):
            raise InputError(f"body.id: this is assignment {assignment}, not {body.id}")
        before = assignment_to_change(session, assignment)
        _refuse_other_version(before, if_match)
        _refuse_other_points(body, before.points)
        entries = _entries(site, body, before.entries)
        groups = _groups(session, class_id, body)
        draws = [pool.draw for pool in body.pools]
        change_assignment(session, assignment, body.title, _policy(body), entries, groups, draws)
        session.commit()
        return _versioned(response, assignment_with(session, assignment))


@router.delete(ASSIGNMENT, status_code=204, summary="Delete an assignment", responses=CHANGED)
def remove_assignment(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, if_match: IfMatch = None
) -> Response:
    """Deletes it with its extensions and the points given by hand; answers stay."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        assignment_for(session, grant, class_id, assignment)
        _refuse_other_version(assignment_to_change(session, assignment), if_match)
        delete_assignment(session, assignment)
        session.commit()
    return Response(status_code=204)


def _variants(site: Site, found: Assignment, member: Member) -> PersonVariants:
    exercises = [one.exercise for one in found.personal(member.learner).entries]
    drawings = Drawings(site.secret, found)
    seeded = () if found.policy.variants == "many" else exercises
    return PersonVariants(
        number=member.person,
        id=member.outside_id,
        name=member.name,
        exercises=exercises,
        seeds={name: drawings.of(member.learner, name) for name in seeded},
    )


def _refuse_other_version(stored: Assignment, if_match: str | None) -> None:
    """Refuse to change an assignment that is not as the program that asks for it knows it.

    Raises:
        HTTPException: 412, someone has changed it.
    """
    # A proxy that compresses makes the tag a weak one: W/"...".
    known = [one.strip().removeprefix("W/") for one in (if_match or "*").split(",")]
    if "*" not in known and _tag(stored) not in known:
        raise HTTPException(412, _CHANGED.format(now=_tag(stored)))


def _refuse_other_points(body: NewAssignment, before: float | None = None) -> None:
    """Refuse points that are not the sum of the exercises, nor the sum *before* the change, which GET gave.

    Raises:
        InputError: they are something else.
    """
    total = sum(one.points for one in body.exercises) + sum(one.draw * one.points for one in body.pools)
    if body.points is not None and not any(isclose(body.points, one) for one in (total, before) if one is not None):
        raise InputError(
            f"body.points: this is the sum of the exercises, which is {total:g}, not {body.points:g}: leave it out, or "
            "change the points of the exercises"
        )


def _versioned(response: Response, stored: Assignment) -> AssignmentDocument:
    response.headers["ETag"] = _tag(stored)
    return _document(stored)


def _tag(stored: Assignment) -> str:
    return f'"{stored.version}"'


def _entries(site: Site, body: NewAssignment, stored: tuple[AssignmentEntry, ...]) -> list[AssignmentEntry]:
    """The entries of *body*; an exercise must be in the course, or *stored* already."""
    known = {entry.exercise for entry in stored}
    seen: set[str] = set()
    found = _placed_entries(body)
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


def _placed_entries(body: NewAssignment) -> list[tuple[str, AssignmentEntry]]:
    """The exercises of *body*, those of pools last, each with its place in the document."""
    fixed = [
        (f"body.exercises.{place}.exercise", AssignmentEntry(one.exercise, one.points))
        for place, one in enumerate(body.exercises)
    ]
    return fixed + [
        (f"body.pools.{number}.of.{place}", AssignmentEntry(name, pool.points, number + 1))
        for number, pool in enumerate(body.pools)
        for place, name in enumerate(pool.of)
    ]


def _policy(body: NewAssignment) -> Policy:
    rules = {name: getattr(body, name) for name in RULES}
    return Policy(**(rules | _moments(body)))


def _moments(document: NewAssignment | GroupDatesDocument) -> dict[str, datetime | None]:
    given = {name: getattr(document, name) for name in DATES}
    return {name: at.astimezone(UTC) if at else None for name, at in given.items()}


def _groups(session: Session, class_id: int, body: NewAssignment) -> list[GroupDates]:
    """The dates of groups in *body*; the class must have these groups."""
    found = [GroupDates(group=clean_name(one.group), **_moments(one)) for one in body.groups]
    refuse_unknown_groups(session, class_id, [one.group for one in found])
    return found


def _document(one: Assignment) -> AssignmentDocument:
    return AssignmentDocument(
        id=one.id,
        title=one.title,
        points=one.points,
        exercises=[
            EntryDocument(exercise=entry.exercise, points=entry.points) for entry in one.entries if not entry.pool
        ],
        pools=[PoolDocument(draw=pool.draw, of=list(pool.exercises), points=pool.points) for pool in one.pools],
        groups=[GroupDatesDocument(**asdict(dates)) for dates in one.groups],
        **{name: getattr(one.policy, name) for name in RULES},
    )
