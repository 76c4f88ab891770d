"""Scores leave in the background, once a link of a platform opens an assignment here."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI

from app.classes.federation.outbox import linked_assignments
from app.classes.pages.lti.desk import tool_for
from app.core.errors import UnavailableError
from app.server.db.session import open_session
from app.site import Site

if TYPE_CHECKING:
    from app.classes.federation.delivery import Courier

_PAUSE = 5.0  # seconds between two looks whether there is a link
_log = logging.getLogger(__name__)


@asynccontextmanager
async def deliver_scores(app: FastAPI) -> AsyncIterator[None]:
    """Send scores while the server runs."""
    task = asyncio.create_task(_deliver(app, app.state.site))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _deliver(app: FastAPI, site: Site) -> None:
    while True:
        await asyncio.sleep(_PAUSE)
        try:
            if await asyncio.to_thread(_is_linked, site):
                courier = courier_for(app, site)
                break
        except UnavailableError as error:
            _log.warning("scores wait: %s (%s)", error, error.cause)
    await courier.run()


def courier_for(app: FastAPI, site: Site) -> "Courier":
    """The courier of the server, which sends scores by way of its tool.

    Raises:
        UnavailableError: the packages that it needs are not installed.
    """
    services = tool_for(app.state, site).services
    from app.classes.federation.delivery import Courier  # needs the same packages, which are there

    return Courier(site.engine, site.secret, services)


def _is_linked(site: Site) -> bool:
    with open_session(site.engine) as session:
        return bool(linked_assignments(session))
