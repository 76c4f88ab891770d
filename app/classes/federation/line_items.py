"""Keeps the line items of platforms as the assignments are: points and dates that change later."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine, update
from sqlmodel import Session, col, select

from app.classes.federation.lti.platforms import Platform, platform_with
from app.classes.federation.lti.scores import ItemTerms, change_line_item, terms_of
from app.classes.federation.lti.services import Services
from app.classes.people.assignments import assignments_with
from app.core.errors import RefusedError, UnavailableError
from app.server.db.platforms import LinkRow, PlatformRow
from app.server.db.session import open_session, open_writing_session

EVERY = timedelta(seconds=15)  # between two looks
_DOWN = timedelta(minutes=1)  # for which a platform is left alone that does not answer
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Change:
    """What the line item of a link should say."""

    link: int
    lineitem: str
    terms: ItemTerms


class LineItems:
    """Tells platforms what has changed, in the background of every server.

    Two servers may tell a platform the same: that changes nothing.
    """

    def __init__(self, engine: Engine, services: Services, clock: Callable[[], datetime]) -> None:
        self._engine = engine
        self._services = services
        self._clock = clock
        self._next: datetime | None = None
        self._down: dict[int, datetime] = {}
        self._under_way: dict[int, asyncio.Task[None]] = {}

    async def look(self) -> Sequence[asyncio.Task[None]]:
        """Start to tell what has changed, if it is time to look: the tasks that do."""
        at = self._clock()
        if self._next is None or at >= self._next:
            self._next = at + EVERY
            for platform, changes in (await asyncio.to_thread(self._changes)).items():
                task = self._under_way.get(platform)
                if (task is None or task.done()) and self._down.get(platform, at) <= at:
                    self._under_way[platform] = asyncio.create_task(self._tell(platform, changes))
        return [task for task in self._under_way.values() if not task.done()]

    def stop(self) -> None:
        """Tell nothing anymore."""
        for task in self._under_way.values():
            task.cancel()

    def _changes(self) -> Mapping[int, Sequence[_Change]]:
        found: dict[int, list[_Change]] = defaultdict(list)
        with open_session(self._engine) as session:
            for link, terms in _links(session):
                if link.id is not None and terms.digest != link.item_digest:
                    found[link.platform].append(_Change(link.id, link.lineitem_url, terms))
        return found

    async def _tell(self, number: int, changes: Sequence[_Change]) -> None:
        platform = await asyncio.to_thread(self._platform, number)
        for one in changes:
            try:
                await change_line_item(self._services, platform, one.lineitem, one.terms)
            except RefusedError as error:
                _log.info("%s keeps what it says of a link: %s", platform.name, error)
            except UnavailableError as error:
                _log.warning("%s is told later: %s (%s)", platform.name, error, error.cause)
                self._down[number] = self._clock() + _DOWN
                return
            await asyncio.to_thread(self._told, one)

    def _platform(self, number: int) -> Platform:
        with open_session(self._engine) as session:
            return platform_with(session, number)

    def _told(self, one: _Change) -> None:
        with open_writing_session(self._engine) as session:
            told = update(LinkRow).where(col(LinkRow.id) == one.link).values(item_digest=one.terms.digest)
            session.connection().execute(told)
            session.commit()


def _links(session: Session) -> Sequence[tuple[LinkRow, ItemTerms]]:
    """The links of active platforms that have a line item, and what that should say."""
    rows = session.exec(
        select(LinkRow)
        .join(PlatformRow, col(PlatformRow.id) == col(LinkRow.platform))
        .where(col(PlatformRow.active), LinkRow.lineitem_url != "")
    ).all()
    assignments = assignments_with(session, {row.assignment for row in rows})
    terms = {one.id: terms_of(one) for one in assignments}
    return [(row, terms[row.assignment]) for row in rows]
