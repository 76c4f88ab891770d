"""The roster of a class: read it, replace it, add one person."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import Body, Query, Request, Response
from fastapi.responses import PlainTextResponse
from sqlmodel import Session
from starlette.concurrency import run_in_threadpool

from app.classes.api.access import ERRORS, LINK, ONE_CLASS, Number, Paged, Scoped, class_for, class_to_change
from app.classes.api.shapes import NewPerson, PersonChange, PersonDocument, RosterDifference
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.csv_rosters import COLUMN_WORDS, RosterEntry, clean_id, read_roster, write_roster
from app.classes.people.csv_text import MOST_LINES
from app.classes.people.groups import clean_group
from app.classes.people.persons import clean_name
from app.classes.people.rosters import RosterChanges, apply, import_roster, roster_changes
from app.server.db.session import open_session, open_writing_session
from app.server.db.tokens import Grant
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.api.documents import text_body, text_content

ROSTER = ONE_CLASS + "/roster"
_CSV = "text/csv", "id,name,role\n4711,Ada,student\n"
router = Router(tags=["roster"], responses=ERRORS)
DryRun = Annotated[bool, Query(description="change nothing, and return what would change")]
Columns = Annotated[
    tuple[str, ...],
    Query(
        max_length=len(COLUMN_WORDS),
        description="which column is what, each by number or title: id:1, name:2, last-first:Name, first, last, group, "
        "role; needed where the titles are not known",
    ),
]
FirstLine = Annotated[
    int, Query(ge=0, lt=2**31, description="the line of the first person; 0: the one below the titles on line 1")
]
RemoveMissing = Annotated[bool, Query(description="remove the students who are not on it; their answers stay")]


@router.get(ROSTER, summary="List the people of a class", responses={200: LINK})
def get_roster(site: Here, grant: Scoped, class_id: Number, page: Paged) -> list[PersonDocument]:
    """Returns teachers, assistants and students, by number."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        members = members_of(session, class_id)
    return [_document(one) for one in page.cut(members, lambda one: one.person)]


@router.get(
    ROSTER + ".csv",
    summary="Get the roster as CSV",
    response_class=PlainTextResponse,
    responses={200: {"content": text_content(*_CSV), "description": "CSV"}},
)
def get_roster_file(site: Here, grant: Scoped, class_id: Number) -> Response:
    """Returns a file that PUT takes."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return Response(write_roster(members_of(session, class_id)), media_type="text/csv")


@router.put(ROSTER, summary="Replace the roster")
def put_roster(
    site: Here,
    grant: Scoped,
    class_id: Number,
    body: Annotated[list[NewPerson], Body(max_length=MOST_LINES)],
    dry_run: DryRun = False,
    remove_missing: RemoveMissing = False,
) -> RosterDifference:
    """Adds and changes people, and returns the difference.

    A person is matched by number, as GET says it; by id; or by a name that only one has.
    """
    entries = tuple(_listed(line, one) for line, one in enumerate(body, 1))
    return _change(site, grant, class_id, entries, dry_run=dry_run, removes=remove_missing)


@router.put(
    ROSTER + ".csv", summary="Replace the roster with a CSV file", openapi_extra={"requestBody": text_body(*_CSV)}
)
async def put_roster_file(
    site: Here,
    grant: Scoped,
    class_id: Number,
    request: Request,
    dry_run: DryRun = False,
    remove_missing: RemoveMissing = False,
    column: Columns = (),
    first_line: FirstLine = 0,
) -> RosterDifference:
    """As with JSON; exports of Canvas, Moodle, Blackboard and Open edX are known by their titles.

    Of other files, say which column is what.
    """
    content = await request.body()

    def change() -> RosterDifference:
        with open_session(site.engine) as session:
            class_to_change(session, grant, class_id)
        read = read_roster(content, column, first_line)
        found = _change(site, grant, class_id, read.entries, dry_run=dry_run, removes=remove_missing)
        return found.model_copy(update={"left_out": list(read.left_out), "unused": list(read.unused)})

    return await run_in_threadpool(change)


@router.post(ROSTER, summary="Add a person", responses={201: {"description": "the person is new"}})
def add_person(site: Here, grant: Scoped, class_id: Number, body: NewPerson, response: Response) -> PersonDocument:
    """Returns the person, with 201 if they are new; one with the same id is changed."""
    listed = _listed(1, body)
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        before = members_of(session, class_id)
        found = roster_changes(session, class_id, [listed])
        apply(session, class_id, found)
        document = _document(_added(session, class_id, before, found, listed))
        session.commit()
    response.status_code = 201 if found.added else 200
    return document


def _added(
    session: Session, class_id: int, before: Sequence[Member], found: RosterChanges, listed: RosterEntry
) -> Member:
    """The member whom *listed* is about, after the change."""
    known = {one.person for one in before}
    changed = {one.member.person for one in (*found.changed, *found.found)}
    members = members_of(session, class_id)
    if found.added or found.known:
        return next(one for one in members if one.person not in known)
    if changed or listed.number is not None:
        return next(one for one in members if one.person in changed | {listed.number})
    same = [one for one in members if one.outside_id == listed.outside_id] if listed.outside_id else []
    return next(iter(same), None) or next(one for one in members if one.name.casefold() == listed.name.casefold())


def _change(
    site: Site, grant: Grant, class_id: int, roster: Sequence[RosterEntry], *, dry_run: bool, removes: bool
) -> RosterDifference:
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        found = roster_changes(session, class_id, roster)
        if not dry_run:
            import_roster(session, class_id, found, remove_missing=removes)
            session.commit()
    return RosterDifference(
        applied=not dry_run,
        added=[_sent(one) for one in found.added],
        known=[_sent(replace(one.listed, number=one.person)) for one in found.known],
        changed=[
            PersonChange(before=_document(one.member), after=_sent(one.listed))
            for one in (*found.changed, *found.found)
        ],
        missing=[_document(one) for one in found.missing],
        removed=removes and not dry_run,
        doubled=[one.listed.line for one in found.doubled],
        same=found.same,
        left_out=[],
        unused=[],
    )


def _listed(line: int, one: NewPerson) -> RosterEntry:
    role = Role.read(one.role) if one.role else None
    return RosterEntry(
        line=line,
        name=clean_name(one.name),
        outside_id=clean_id(one.id),
        role=role,
        number=one.number,
        group=None if one.group is None else clean_group(one.group),
    )


def _sent(one: RosterEntry) -> NewPerson:
    return NewPerson(
        name=one.name, id=one.outside_id, role=one.role.word if one.role else None, number=one.number, group=one.group
    )


def _document(one: Member) -> PersonDocument:
    return PersonDocument(number=one.person, id=one.outside_id, name=one.name, role=one.role.word, group=one.group)
