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
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import hold, member_row
from app.core.errors import InputError
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.people import REASON_LIMIT, MemberRow
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
    """What the class has stored about a member, as a file, for a reason."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    try:
        text = await aside(_of_class, site, member, person, _reason(why, sure=True))
    except InputError as error:
        return await aside(pages.show, member_page, request, site, (member, None), {"person": person}, error)
    headers = {"Content-Disposition": f'attachment; filename="class-{class_id}-person-{person}.json"'}
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
    """Delete what the class has stored about a member, who leaves it, for a reason."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    try:
        await aside(_forget, site, member, person, _reason(why, sure=sure == "yes"))
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


def _of_class(site: Site, member: Membership, person: int, why: str) -> str:
    with open_session(site.engine) as session:
        text = progress_file(about_member(session, site.secret, _student(session, member, person)))
    _note(member, person, "exported", why)
    return text


def _forget(site: Site, member: Membership, person: int, why: str) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, member.class_id)
        forget_member(session, site.secret, _student(session, member, person))
        session.commit()
    _note(member, person, "deleted", why)


def _note(member: Membership, person: int, what: str, why: str) -> None:
    teacher = member.person.person
    _log.info("what class %d stored about person %d was %s by %d: %s", member.class_id, person, what, teacher, why)


def _student(session: Session, member: Membership, person: int) -> MemberRow:
    """A student of the class."""
    row = member_row(session, member.class_id, person)
    if row.role != Role.STUDENT.word:
        raise InputError(translate("this is not a student: they can do it on their account page"))
    return row
