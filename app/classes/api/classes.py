"""Classes: list, make, archive and delete them; their roster, and their persons one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body, Query, Request, Response
from fastapi.responses import PlainTextResponse
from sqlmodel import Session, col, select
from starlette.concurrency import run_in_threadpool

from app.classes.api import access, shapes
from app.classes.people import classes
from app.classes.people.csv_rosters import COLUMN_WORDS, RosterEntry, read_roster, write_roster
from app.classes.people.csv_text import MOST_LINES
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import clean_group, delete_class, member_row, refuse_other_name, remove_members
from app.classes.people.merges import merge_members, merges_in, undo_or_ask
from app.classes.people.persons import clean_id, clean_name
from app.classes.people.rosters import RosterFinder, apply, import_roster, roster_changes
from app.server.db.people import ClassRow, MergeRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.site import Here, Site
from app.site.api.documents import text_body, text_content

_classes_router = access.ClassCalls("classes")


@_classes_router.get(access.CLASSES, summary="List classes", responses={200: access.LINK})
def list_classes(request: Request, site: Here, grant: access.Scoped, page: access.Paged) -> list[shapes.ClassDocument]:
    """Returns the classes that the token opens, oldest first."""
    with open_session(site.engine) as session:
        statement = select(ClassRow).where(col(ClassRow.id) > page.after).order_by(col(ClassRow.id))
        if grant.scope != "admin":
            statement = statement.where(ClassRow.id == grant.class_id)
        rows = session.exec(statement.limit(page.limit + 1)).all()
        return [_classes_document(request, site, session, row) for row in page.cut(rows, classes.number_of)]


@_classes_router.post(access.CLASSES, status_code=201, summary="Make a class")
def make_class(request: Request, site: Here, _: access.Administrative, body: shapes.NewClass) -> shapes.MadeClass:
    """Returns the class and the seat code of its teacher, which is sent only once."""
    with open_writing_session(site.engine) as session:
        row, code = classes.create_taught_class(
            session, site.secret, body.name, body.zone, body.teacher, pseudonyms=body.pseudonyms
        )
        made = shapes.MadeClass(**_classes_document(request, site, session, row).model_dump(), code=code)
        session.commit()
    return made


@_classes_router.call("GET", "", summary="Get a class")
def get_class(call: access.ClassCall, request: Request) -> shapes.ClassDocument:
    """Returns the class."""
    return _classes_document(request, call.site, call.session, call.row)


@_classes_router.call("DELETE", "", archived=True, status_code=204, summary="Delete a class")
def remove_class(
    call: access.ClassCall,
    name: Annotated[str, Query(max_length=4 * NAME_LIMIT, description="of the class, to confirm")] = "",
) -> None:
    """Deletes it with its assignments, its grades, its tokens, and those who are only in it."""
    access.administrative(call.grant, "delete")
    refuse_other_name(name, call.row.name)
    delete_class(call.session, call.row)


@_classes_router.call("PUT", "/archive", archived=True, summary="Archive a class")
def put_into_archive(call: access.ClassCall, request: Request) -> shapes.ClassDocument:
    """Returns the class: nobody can join it anymore. Everything in it stays."""
    classes.set_archived(call.session, call.row)
    return get_class(call, request)


@_classes_router.call("DELETE", "/archive", archived=True, summary="Take a class out of the archive")
def take_from_archive(call: access.ClassCall, request: Request) -> shapes.ClassDocument:
    """Returns the class, which stays closed to those who want to join."""
    classes.take_out_of_archive(call.session, call.row)
    return get_class(call, request)


def _classes_document(request: Request, site: Site, session: Session, row: ClassRow) -> shapes.ClassDocument:
    root = (site.settings.url or str(request.base_url)).rstrip("/")
    return shapes.ClassDocument(**classes.class_facts(session, site.secret, row, root))


ROSTER = "/roster"
_CSV = "text/csv", "id,name,role\n4711,Ada,student\n"
router = access.ClassCalls("roster")
DryRun = Annotated[bool, Query(description="change nothing, and return what would change")]
Columns = Annotated[
    tuple[str, ...],
    Query(
        max_length=len(COLUMN_WORDS),
        description="which column is what, each by number or title: id:1, name:2, last-first:Name, first, last, group, "
        "role, time; needed where the titles are not known",
    ),
]
FirstLine = Annotated[
    int, Query(ge=0, lt=2**31, description="the line of the first person; 0: the one below the titles on line 1")
]
RemoveMissing = Annotated[bool, Query(description="remove the students who are not on it; their answers stay")]


@router.call("GET", ROSTER, summary="List the people of a class", responses={200: access.LINK})
def get_roster(call: access.ClassCall, page: access.Paged) -> list[shapes.PersonDocument]:
    """Returns teachers, assistants and students, by number."""
    members = classes.members_of(call.session, call.class_id)
    return [_document(one) for one in page.cut(members, lambda one: one.person)]


@router.call(
    "GET",
    ROSTER + ".csv",
    summary="Get the roster as CSV",
    response_class=PlainTextResponse,
    responses={200: {"content": text_content(*_CSV), "description": "CSV"}},
)
def get_roster_file(call: access.ClassCall) -> Response:
    """Returns a file that PUT takes."""
    return Response(write_roster(classes.members_of(call.session, call.class_id)), media_type="text/csv")


@router.call("PUT", ROSTER, summary="Replace the roster")
def put_roster(
    call: access.ClassCall,
    body: Annotated[list[shapes.NewPerson], Body(max_length=MOST_LINES)],
    dry_run: DryRun = False,
    remove_missing: RemoveMissing = False,
) -> shapes.RosterDifference:
    """Adds and changes people, and returns the difference.

    A person is matched by number, as GET says it; by id; or by a name that only one has.
    """
    entries = tuple(_listed(line, one) for line, one in enumerate(body, 1))
    return _change(call.session, call.class_id, entries, dry_run=dry_run, removes=remove_missing)


@router.put(
    access.ONE_CLASS + ROSTER + ".csv",
    summary="Replace the roster with a CSV file",
    openapi_extra={"requestBody": text_body(*_CSV)},
)
async def put_roster_file(
    site: Here,
    grant: access.Scoped,
    class_id: access.Number,
    request: Request,
    dry_run: DryRun = False,
    remove_missing: RemoveMissing = False,
    column: Columns = (),
    first_line: FirstLine = 0,
) -> shapes.RosterDifference:
    """As with JSON; exports of Canvas, Moodle, Blackboard and Open edX are known by their titles.

    Of other files, say which column is what.
    """
    content = await request.body()

    def change() -> shapes.RosterDifference:
        with open_session(site.engine) as session:
            access.class_to_change(session, grant, class_id)
        read = read_roster(content, column, first_line)  # takes a while, and holds nothing
        with open_writing_session(site.engine) as session:
            access.class_to_change(session, grant, class_id)
            found = _change(session, class_id, read.entries, dry_run=dry_run, removes=remove_missing)
            session.commit()
        return found.model_copy(update={"left_out": list(read.left_out), "unused": list(read.unused)})

    return await run_in_threadpool(change)


@router.call("POST", ROSTER, summary="Add a person", responses={201: {"description": "the person is new"}})
def add_person(call: access.ClassCall, body: shapes.NewPerson, response: Response) -> shapes.PersonDocument:
    """Returns the person, with 201 if they are new; one with the same id is changed."""
    listed, session = _listed(1, body), call.session
    found = roster_changes(session, call.class_id, [listed])
    apply(session, call.class_id, found)
    response.status_code = 201 if found.added else 200
    members = classes.members_of(session, call.class_id)
    newest = max(members, key=lambda one: one.person)  # who is new and has the name of others
    return _document(RosterFinder(members, [listed]).member(listed)[0] or newest)


def _change(
    session: Session, class_id: int, roster: Sequence[RosterEntry], *, dry_run: bool, removes: bool
) -> shapes.RosterDifference:
    found = roster_changes(session, class_id, roster)
    if not dry_run:
        import_roster(session, class_id, found, remove_missing=removes)
    return shapes.RosterDifference(
        applied=not dry_run,
        added=[_person_sent(one) for one in found.added],
        known=[_person_sent(replace(one.listed, number=one.person)) for one in found.known],
        changed=[
            shapes.PersonChange(before=_document(one.member), after=_person_sent(one.listed))
            for one in (*found.changed, *found.found)
        ],
        missing=[_document(one) for one in found.missing],
        removed=removes and not dry_run,
        doubled=[one.listed.line for one in found.doubled],
        same=found.same,
        left_out=[],
        unused=[],
    )


def _listed(line: int, one: shapes.NewPerson) -> RosterEntry:
    role = classes.Role.read(one.role) if one.role else None
    return RosterEntry(
        line=line,
        name=clean_name(one.name),
        outside_id=clean_id(one.id),
        role=role,
        number=one.number,
        group=None if one.group is None else clean_group(one.group),
        time=one.time_factor,
    )


def _person_sent(one: RosterEntry) -> shapes.NewPerson:
    return shapes.NewPerson(
        name=one.name,
        id=one.outside_id,
        role=one.role.word if one.role else None,
        number=one.number,
        group=one.group,
        time_factor=one.time,
    )


def _document(one: classes.Member) -> shapes.PersonDocument:
    return shapes.PersonDocument(**one.described())


MERGES = "/merges"
_PERSON = ROSTER + "/{person}"
Deletes = Annotated[
    bool, Query(description="also delete what the class stored about them, with answers to its assignments")
]


@router.call("GET", MERGES, summary="List merges")
def list_merges(call: access.ClassCall) -> list[shapes.MergeDocument]:
    """Returns the merges that can be undone, newest first."""
    return [_persons_document(row) for row in merges_in(call.session, call.class_id)]


@router.call("POST", MERGES, status_code=201, summary="Merge two students")
def merge_students(call: access.ClassCall, body: shapes.NewMerge) -> shapes.MergeDocument:
    """Gives answers, extensions, points and ways to sign in of one to the other.

    If `waits` is not empty, nothing has moved yet: these persons, who sign in with accounts of their
    own or are in other classes, are asked first, on the page that they see next.
    """
    session, class_id = call.session, call.class_id
    (kept,) = access.persons_called(session, class_id, [body.kept])
    (gone,) = access.persons_called(session, class_id, [body.gone])
    number = merge_members(session, class_id, kept, gone, own=[class_id], by=call.by)
    return _persons_document(session.get_one(MergeRow, number))


@router.call(
    "DELETE",
    MERGES + "/{merge}",
    status_code=204,
    summary="Undo a merge",
    responses={202: {"description": "it is undone when the person has agreed"}},
)
def undo_students_merge(call: access.ClassCall, merge: access.Number) -> Response:
    """Lets two persons be two again, or takes back a merge that waits."""
    undone = undo_or_ask(call.session, call.class_id, merge, [call.class_id])
    return Response(status_code=204 if undone else 202)


@router.call("GET", _PERSON, summary="Get what a class stored about a person")
def get_everything(call: access.ClassCall, person: access.Number) -> Mapping[str, Any]:
    """Returns name and id in the class, dates, points, and what was done for its assignments.

    Everything about a person is theirs, on their page; an operator has `wallclock person export`.
    """
    return dict(about_member(call.session, call.site.secret, member_row(call.session, call.class_id, person)))


@router.call("DELETE", _PERSON, status_code=204, summary="Remove a person")
def remove_person(call: access.ClassCall, person: access.Number, deletes: Deletes = False) -> None:
    """Takes a person out of the class; their answers stay."""
    row = member_row(call.session, call.class_id, person)
    if deletes:
        forget_member(call.session, call.site.secret, row)
    else:
        remove_members(call.session, call.class_id, [person])


def _persons_document(row: MergeRow) -> shapes.MergeDocument:
    waits = [int(one) for one in row.waits.split()]
    return shapes.MergeDocument(id=row.id or 0, kept=row.kept, gone=row.gone, by=row.by, at=row.at, waits=waits)


router.routes += _classes_router.routes
