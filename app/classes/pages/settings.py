"""/classes/ID/settings: the name and the time zone of a class, its archive and its end."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from app.classes.pages.class_head import ClassHead, class_head, class_url
from app.classes.pages.guard import Membership, in_class
from app.classes.people.assignments import mark_changed
from app.classes.people.classes import Role, class_with, take_out_of_archive, time_zones, zone_named
from app.classes.people.classes import set_archived as archive_class
from app.classes.people.deletion import delete_class, refuse_other_name
from app.classes.people.persons import clean_name
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/classes/{class_id:int}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage:
    """The settings of a class, as they are or as they were sent."""

    head: ClassHead
    name: str
    zone: str
    pseudonyms: bool
    zones: tuple[str, ...]
    copies: str  # the day on which the last copy of the database is removed
    problem: str = ""


@router.get("/settings")
async def settings(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The settings of a class."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return _shown_settings(request, site, member, (member.row.name, member.row.zone, member.row.pseudonyms))


@router.post("/settings", dependencies=[FromHere])
async def change_settings(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    name: Annotated[str, Form()] = "",
    zone: Annotated[str, Form()] = "",
    pseudonyms: Annotated[str, Form()] = "",
) -> Response:
    """Change the settings of a class."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    try:
        await aside(_change, site, class_id, name, zone, pseudonyms=bool(pseudonyms))
    except InputError as error:
        sent = (name, zone, bool(pseudonyms))
        return _shown_settings(request, site, member, sent, sentence(str(error)))
    return RedirectResponse(class_url(class_id), 303)


@router.post("/archive", dependencies=[FromHere])
async def post_archive(
    request: Request, site: Here, visiting: Visiting, class_id: int, archived: Annotated[str, Form()] = ""
) -> Response:
    """Archive a class, or take it out of the archive."""
    await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    await aside(_archive, site, class_id, archived=archived == "yes")
    return RedirectResponse(class_url(class_id), 303)


@router.post("/delete", dependencies=[FromHere])
async def delete_class_for_good(
    request: Request, site: Here, visiting: Visiting, class_id: int, sure: Annotated[str, Form()] = ""
) -> Response:
    """Delete a class with everything in it, once its name is typed."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER, archived=True)
    refuse_other_name(sure, member.row.name)
    await aside(_delete, site, class_id)
    return RedirectResponse("/classes", 303)


def _shown_settings(
    request: Request, site: Site, member: Membership, sent: tuple[str, str, bool], problem: str = ""
) -> Response:
    name, zone, pseudonyms = sent
    page = SettingsPage(
        head=class_head(member, "Settings"),
        name=name,
        zone=zone,
        pseudonyms=pseudonyms,
        zones=time_zones(),
        copies=copies_until(site.settings.database),
        problem=problem,
    )
    around = frame(request, translate("Settings of {name}", name=member.row.name), here="classes")
    return render("people/settings.html", around, page, 422 if problem else 200)


def _change(site: Site, class_id: int, name: str, zone: str, *, pseudonyms: bool) -> None:
    with open_writing_session(site.engine) as session:
        row = class_with(session, class_id)
        row.name, row.zone = clean_name(name), zone_named(zone.strip()).key
        row.pseudonyms = pseudonyms
        session.add(row)
        session.commit()


def _archive(site: Site, class_id: int, *, archived: bool) -> None:
    with open_writing_session(site.engine) as session:
        row = class_with(session, class_id)
        change = archive_class if archived else take_out_of_archive
        change(session, row)
        mark_changed(session, class_id)
        session.commit()


def _delete(site: Site, class_id: int) -> None:
    with open_writing_session(site.engine) as session:
        delete_class(session, class_with(session, class_id))
        session.commit()
