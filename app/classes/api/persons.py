"""Persons of a class: two who are one, everything about one, one deleted."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Response
from sqlmodel import Session

from app.classes.api.access import ERRORS, ONE_CLASS, Number, Scoped, class_for, class_to_change, persons_called
from app.classes.api.roster import ROSTER
from app.classes.api.shapes import MergeDocument, NewMerge
from app.classes.people.erasure import all_about, delete_person, refuse_elsewhere
from app.classes.people.members import hold, member_row, remove_members
from app.classes.people.merges import merge_members, merges_in, undo_merge
from app.core.errors import NotFoundError
from app.server.db.people import MergeRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here

MERGES = ONE_CLASS + "/merges"
_PERSON = ROSTER + "/{person}"
router = Router(tags=["roster"], responses=ERRORS)
Deletes = Annotated[bool, Query(description="also delete what is stored about them; graded answers stay, nameless")]


@router.get(MERGES, summary="List merges")
def list_merges(site: Here, grant: Scoped, class_id: Number) -> list[MergeDocument]:
    """Returns the merges that can be undone, newest first."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return [_document(row) for row in merges_in(session, class_id)]


@router.post(MERGES, status_code=201, summary="Merge two students")
def merge_students(site: Here, grant: Scoped, class_id: Number, body: NewMerge) -> MergeDocument:
    """Gives answers, extensions, points and ways to sign in of one to the other."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        (kept,) = persons_called(session, class_id, [body.kept])
        (gone,) = persons_called(session, class_id, [body.gone])
        own, by = [class_id], f"token {grant.name}"
        number = merge_members(session, class_id, kept, gone, own=own, by=by)
        made = _document(_merge_row(session, number))
        session.commit()
    return made


@router.delete(MERGES + "/{merge}", status_code=204, summary="Undo a merge")
def undo_students_merge(site: Here, grant: Scoped, class_id: Number, merge: Number) -> Response:
    """Lets two persons be two again."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        hold(session, class_id)
        undo_merge(session, merge, class_id)
        session.commit()
    return Response(status_code=204)


@router.get(_PERSON, summary="Get everything about a person")
def get_everything(site: Here, grant: Scoped, class_id: Number, person: Number) -> Mapping[str, Any]:
    """Returns what is stored about a person who is in no other class."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return dict(all_about(session, _own_person(session, class_id, person)))


@router.delete(_PERSON, status_code=204, summary="Remove a person")
def remove_person(site: Here, grant: Scoped, class_id: Number, person: Number, deletes: Deletes = False) -> Response:
    """Takes a person out of the class; their answers stay."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        member_row(session, class_id, person)
        if deletes:
            delete_person(session, _own_person(session, class_id, person))
        else:
            hold(session, class_id)
            remove_members(session, class_id, [person])
            session.commit()
    return Response(status_code=204)


def _own_person(session: Session, class_id: int, person: int) -> PersonRow:
    """A person of the class who is in no other one."""
    member_row(session, class_id, person)
    refuse_elsewhere(session, person, [class_id])
    row = session.get(PersonRow, person)
    if row is None:
        raise NotFoundError("this person was deleted a moment ago")
    return row


def _merge_row(session: Session, number: int) -> MergeRow:
    row = session.get(MergeRow, number)
    if row is None:
        raise NotFoundError("no merge has this number")
    return row


def _document(row: MergeRow) -> MergeDocument:
    return MergeDocument(id=row.id or 0, kept=row.kept, gone=row.gone, by=row.by, at=row.at)
