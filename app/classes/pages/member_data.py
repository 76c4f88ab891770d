"""/classes/ID/people/PERSON: everything about a student, as a file or deleted, for a reason."""

import logging
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.pages.class_head import class_url
from app.classes.pages.guard import Membership, in_class
from app.classes.pages.member import member_page
from app.classes.pages.member import router as pages
from app.classes.people.classes import Role
from app.classes.people.erasure import all_about, delete_person, refuse_elsewhere
from app.classes.people.members import member_row, taught_by
from app.core.errors import InputError, NotFoundError
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.people import REASON_LIMIT, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.visitor import FromHere, Visiting
from app.site.web.progress.file import progress_file

router = Router(prefix="/classes/{class_id:int}/people")
_log = logging.getLogger(__name__)


@router.post("/{person:int}/everything", dependencies=[FromHere])
async def export_member(
    request: Request, site: Here, visiting: Visiting, class_id: int, person: int, why: Annotated[str, Form()] = ""
) -> Response:
    """Everything stored about a member, as a file, for a reason."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    try:
        text = await aside(_everything, site, member, person, _reason(why, sure=True))
    except InputError as error:
        return await aside(pages.show, member_page, request, site, (member, None), {"person": person}, error)
    headers = {"Content-Disposition": f'attachment; filename="person-{person}.json"'}
    return Response(text, media_type="application/json", headers=headers)


@router.post("/{person:int}/delete", dependencies=[FromHere])
async def delete_member(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    person: int,
    why: Annotated[str, Form()] = "",
    sure: Annotated[str, Form()] = "",
) -> Response:
    """Delete everything about a member that no class has graded, for a reason."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    try:
        await aside(_delete, site, member, person, _reason(why, sure=sure == "yes"))
    except InputError as error:
        return await aside(pages.show, member_page, request, site, (member, None), {"person": person}, error)
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


def _reason(why: str, *, sure: bool) -> str:
    """The reason that is written to the log of the server.

    Raises:
        InputError: there is none, or the teacher is not *sure*.
    """
    if not sure:
        raise InputError(translate("nobody was deleted: tick the box to confirm"))
    if not (given := " ".join(why.split())[:REASON_LIMIT]):
        raise InputError(translate("give a reason: it is written to the log of the server"))
    return given


def _everything(site: Site, member: Membership, person: int, why: str) -> str:
    with open_session(site.engine) as session:
        text = progress_file(all_about(session, _own_student(session, member, person)))
    _note(member, person, "exported", why)
    return text


def _delete(site: Site, member: Membership, person: int, why: str) -> None:
    with open_writing_session(site.engine) as session:
        row = _own_student(session, member, person)
        delete_person(session, row)
    _note(member, person, "deleted", why)


def _note(member: Membership, person: int, what: str, why: str) -> None:
    teacher = member.person.person
    _log.info("person %d of class %d was %s by %d: %s", person, member.class_id, what, teacher, why)


def _own_student(session: Session, member: Membership, person: int) -> PersonRow:
    """A student of the class who is in no class but those of the teacher."""
    if member_row(session, member.class_id, person).role != Role.STUDENT.word:
        raise InputError(translate("this is not a student: they can do it on their account page"))
    refuse_elsewhere(session, person, taught_by(session, member.person.person))
    row = session.get(PersonRow, person)
    if row is None:
        raise NotFoundError(translate("this person was deleted a moment ago"))
    return row
