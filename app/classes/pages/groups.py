"""/classes/ID/groups: the groups of a class, and which student is in which."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from app.classes.pages.class_head import ClassHead, class_head, class_url
from app.classes.pages.extensions import CHOOSER_FIELDS, chosen_numbers
from app.classes.pages.guard import Membership, in_class
from app.classes.people.classes import Role
from app.classes.people.groups import (
    Group,
    class_groups,
    clean_group,
    dissolve_group,
    put_into_group,
    rename_group,
    students_in,
)
from app.classes.people.members import hold
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/classes/{class_id:int}/groups")


@dataclass(frozen=True, slots=True)
class GroupedStudent:
    """A student to choose, and the group that they are in."""

    person: int
    name: str
    group: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class GroupForm:
    """Who is to be put into which group, as it was sent."""

    persons: frozenset[int] = frozenset()
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPage:
    """The groups of a class, and the form that puts students into one."""

    head: ClassHead
    href: str
    groups: tuple[Group, ...]
    students: tuple[GroupedStudent, ...]
    sent: GroupForm
    problem: str


@router.get("")
async def show_groups(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The groups of a class."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await aside(_shown_groups, request, site, member, GroupForm())


@router.post("", dependencies=[FromHere])
async def fill_group(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Put the students who are chosen into a group; without a name, into none."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_fields=CHOOSER_FIELDS) as form:
        persons = chosen_numbers(str(value) for value in form.getlist("person"))
        sent = GroupForm(frozenset(persons), str(form.get("name", "")))
    try:
        await aside(_fill, site, class_id, sent)
    except InputError as error:
        return await aside(_shown_groups, request, site, member, sent, sentence(str(error)))
    return RedirectResponse(f"{class_url(class_id)}/groups", 303)


@router.post("/rename", dependencies=[FromHere])
async def give_group_another_name(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    group: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    """Give a group another name."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    try:
        await aside(_rename, site, class_id, group, name)
    except InputError as error:
        problem = sentence(str(error))
        return await aside(_shown_groups, request, site, member, GroupForm(), problem)
    return RedirectResponse(f"{class_url(class_id)}/groups", 303)


@router.post("/dissolve", dependencies=[FromHere])
async def end_group(
    request: Request, site: Here, visiting: Visiting, class_id: int, group: Annotated[str, Form()] = ""
) -> Response:
    """Take everyone out of a group, and delete its dates."""
    await in_class(request, site, visiting, class_id, Role.TEACHER)
    await aside(_dissolve, site, class_id, group)
    return RedirectResponse(f"{class_url(class_id)}/groups", 303)


def _fill(site: Site, class_id: int, sent: GroupForm) -> None:
    if not sent.persons:
        raise InputError(translate("nobody is chosen: tick at least one student"))
    name = clean_group(sent.name)
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        if sent.persons - {one.person for one in students_in(session, class_id)}:
            raise InputError(translate("one of those who are chosen has left the class meanwhile"))
        put_into_group(session, class_id, sent.persons, name)
        session.commit()


def _rename(site: Site, class_id: int, group: str, name: str) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        rename_group(session, class_id, group, name)
        session.commit()


def _dissolve(site: Site, class_id: int, group: str) -> None:
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        dissolve_group(session, class_id, group)
        session.commit()


def _shown_groups(request: Request, site: Site, member: Membership, sent: GroupForm, problem: str = "") -> Response:
    with open_session(site.engine) as session:
        groups = class_groups(session, member.class_id)
        students = students_in(session, member.class_id)
    page = GroupsPage(
        head=class_head(member, "People"),
        href=f"{class_url(member.class_id)}/groups",
        groups=tuple(groups),
        students=tuple(GroupedStudent(one.person, one.name, one.group, one.person in sent.persons) for one in students),
        sent=sent,
        problem=problem,
    )
    around = frame(request, translate("Groups of {name}", name=member.row.name), here="classes")
    return render("people/groups.html", around, page, 422 if problem else 200)
