"""The classes, as a part that a site can do without."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI

from app.classes.federation.outbox import linked_assignments
from app.classes.members import ClassMembers, site_members
from app.classes.pages import KEYS, ROSTER_LIMIT
from app.core.errors import UnavailableError
from app.server.db.session import open_session
from app.server.network.routes import LateModule
from app.site import Site
from app.site.part import SitePart

if TYPE_CHECKING:
    from app.classes.federation.delivery import Courier

_PAUSE = 5.0  # seconds between two looks whether there is a link
_log = logging.getLogger(__name__)


@asynccontextmanager
async def deliver_scores(app: FastAPI) -> AsyncIterator[None]:
    """Send scores while the server runs."""
    task = asyncio.create_task(_deliver(app.state.site))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _deliver(site: Site) -> None:
    while True:
        await asyncio.sleep(_PAUSE)
        try:
            if await asyncio.to_thread(_is_linked, site):
                break
        except UnavailableError as error:
            _log.warning("scores wait: %s (%s)", error, error.cause)
    courier = await asyncio.to_thread(_courier_for, site)
    await courier.run()


def _courier_for(site: Site) -> "Courier":
    from app.classes.federation.delivery import Courier  # needs the same packages as the tool, which are there

    return Courier(site.engine, site.secret, site_members(site).federation.tool.services)


def _is_linked(site: Site) -> bool:
    with open_session(site.engine) as session:
        return bool(linked_assignments(session))


# What is there is about persons: their grades, codes and files. The keys of LTI are for anyone.
_OF_PERSONS = "classes|assignments|join|sign-in|sign-out|me|lti"
PART = SitePart(
    pages=(
        LateModule("app.classes.pages.classes", ("classes",)),
        LateModule("app.classes.pages.assignment", ("assignments", "classes")),
        LateModule("app.classes.pages.assignment_editor", ("assignments", "classes")),
        LateModule("app.classes.pages.provider_sign_in", ("join", "sign-in")),
        LateModule("app.classes.pages.sign_in", ("me", "sign-in", "sign-out")),
        LateModule("app.classes.pages.account", ("me",)),
        LateModule("app.classes.pages.roster", ("classes",)),
        LateModule("app.classes.pages.roster_import", ("classes",)),
        LateModule("app.classes.pages.extensions", ("assignments", "classes")),
        LateModule("app.classes.pages.live", ("assignments", "classes")),
        LateModule("app.classes.pages.grades", ("classes",)),
        LateModule("app.classes.pages.student", ("classes",)),
        LateModule("app.classes.pages.regrades", ("classes",)),
        LateModule("app.classes.pages.lti.launch", ("lti",)),
        LateModule("app.classes.pages.lti.launch_entry", ("lti",)),
        LateModule("app.classes.pages.lti.course", ("assignments", "classes", "lti")),
    ),
    calls=(
        LateModule("app.classes.api.classes", ("api",)),
        LateModule("app.classes.api.grades", ("api",)),
        LateModule("app.classes.api.assignments", ("api",)),
    ),
    private=(rf"(?!{KEYS}\Z)/(?:{_OF_PERSONS})(?:/|\Z)", "/api/v1/classes"),
    ways_in=(r"/(?:sign-in|join|lti)(?:/|\Z)",),
    files=dict.fromkeys(("/classes/*/people/roster", "/classes/*/people/roster/apply"), ROSTER_LIMIT),
    tasks=deliver_scores,
    members=ClassMembers,
)
