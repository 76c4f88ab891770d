"""Persons of a class: two who are one, what the class stored about one, one removed."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Response

from app.classes.api.access import ERRORS, ONE_CLASS, Number, Scoped, class_for, class_to_change, persons_called
from app.classes.api.roster import ROSTER
from app.classes.api.shapes import MergeDocument, NewMerge
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import hold, member_row, remove_members
from app.classes.people.merges import merge_members, merges_in, undo_or_ask
from app.server.db.people import MergeRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here

MERGES = ONE_CLASS + "/merges"
_PERSON = ROSTER + "/{person}"
router = Router(tags=["roster"], responses=ERRORS)
Deletes = Annotated[
    bool, Query(description="also delete what the class stored about them, with answers to its assignments")
]


@router.get(MERGES, summary="List merges")
def list_merges(site: Here, grant: Scoped, class_id: Number) -> list[MergeDocument]:
    """Returns the merges that can be undone, newest first."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return [_document(row) for row in merges_in(session, class_id)]


@router.post(MERGES, status_code=201, summary="Merge two students")
def merge_students(site: Here, grant: Scoped, class_id: Number, body: NewMerge) -> MergeDocument:
    """Gives answers, extensions, points and ways to sign in of one to the other.

    If `waits` is not empty, nothing has moved yet: these persons, who sign in with accounts of their
    own or are in other classes, are asked first, on the page that they see next.
    """
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        (kept,) = persons_called(session, class_id, [body.kept])
        (gone,) = persons_called(session, class_id, [body.gone])
        own, by = [class_id], f"token {grant.name}"
        number = merge_members(session, class_id, kept, gone, own=own, by=by)
        made = _document(session.get_one(MergeRow, number))
        session.commit()
    return made


@router.delete(
    MERGES + "/{merge}",
    status_code=204,
    summary="Undo a merge",
    responses={202: {"description": "it is undone when the person has agreed"}},
)
def undo_students_merge(site: Here, grant: Scoped, class_id: Number, merge: Number) -> Response:
    """Lets two persons be two again, or takes back a merge that waits."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        hold(session, class_id)
        undone = undo_or_ask(session, class_id, merge, [class_id])
        session.commit()
    return Response(status_code=204 if undone else 202)


@router.get(_PERSON, summary="Get what a class stored about a person")
def get_everything(site: Here, grant: Scoped, class_id: Number, person: Number) -> Mapping[str, Any]:
    """Returns name and id in the class, dates, points, and what was done for its assignments.

    Everything about a person is theirs, on their page; an operator has `wallclock person export`.
    """
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return dict(about_member(session, site.secret, member_row(session, class_id, person)))


@router.delete(_PERSON, status_code=204, summary="Remove a person")
def remove_person(site: Here, grant: Scoped, class_id: Number, person: Number, deletes: Deletes = False) -> Response:
    """Takes a person out of the class; their answers stay."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        row = member_row(session, class_id, person)
        hold(session, class_id)
        if deletes:
            forget_member(session, site.secret, row)
        else:
            remove_members(session, class_id, [person])
        session.commit()
    return Response(status_code=204)


def _document(row: MergeRow) -> MergeDocument:
    waits = [int(one) for one in row.waits.split()]
    return MergeDocument(id=row.id or 0, kept=row.kept, gone=row.gone, by=row.by, at=row.at, waits=waits)
