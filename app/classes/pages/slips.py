"""Seat codes, made and shown once: slips to print and cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Form, Request, Response

from app.classes.pages.class_head import ClassHead, class_head
from app.classes.pages.guard import Membership, in_class
from app.classes.pages.join_link import root_of
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.members import SeatCode, new_seat_codes
from app.core.errors import InputError
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/classes/{class_id:int}/people")


@dataclass(frozen=True, slots=True)
class SlipsPage:
    """New seat codes, where to type them, and those for whom none was made."""

    head: ClassHead
    slips: tuple[SeatCode, ...]
    without: tuple[str, ...]
    address: str
    is_own: bool


@router.post("/{person:int}/code", dependencies=[FromHere])
async def renew_code(request: Request, site: Here, visiting: Visiting, class_id: int, person: int) -> Response:
    """A new code of one member; everyone who teaches may renew their own."""
    own = visiting.person is not None and visiting.person.person == person
    least = Role.ASSISTANT if own else Role.TEACHER
    member = await in_class(request, site, visiting, class_id, least)
    return await aside(_slips, request, site, member, person=person)


@router.post("/codes", dependencies=[FromHere])
async def renew_codes(
    request: Request, site: Here, visiting: Visiting, class_id: int, which: Annotated[str, Form()] = ""
) -> Response:
    """New codes of all students, or of those who have none."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    if which not in ("missing", "all"):
        raise InputError(translate("say for which students: missing or all"))
    return await aside(_slips, request, site, member, renews=which == "all")


def _slips(
    request: Request, site: Site, member: Membership, *, person: int | None = None, renews: bool = False
) -> Response:
    with open_writing_session(site.engine) as session:
        everyone = members_of(session, member.class_id)
        chosen = _chosen(everyone, person, renews=renews)
        slips = new_seat_codes(session, member.class_id, chosen, member.person.person)
        session.commit()
    made = {slip.member.person for slip in slips}
    address = urlsplit(root_of(request, site) + "/sign-in")
    page = SlipsPage(
        head=class_head(member, "People"),
        slips=tuple(slips),
        without=tuple(one.name for one in chosen if one.person not in made),
        address=address.netloc + address.path,
        is_own=person == member.person.person,
    )
    return render("people/slips.html", frame(request, translate("Codes"), here="classes"), page)


def _chosen(everyone: Sequence[Member], person: int | None, *, renews: bool) -> Sequence[Member]:
    if person is not None:
        found = [one for one in everyone if one.person == person]
        if not found:
            raise InputError(translate("this person is not in the class; they may have left a moment ago"))
        return found
    students = [one for one in everyone if one.role is Role.STUDENT]
    return students if renews else [one for one in students if not one.has_code]
