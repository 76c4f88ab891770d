"""Scores and line items on their way to platforms, in the background of every server."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Engine, Executable, func, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.federation import outbox
from app.classes.federation.lti import scores
from app.classes.federation.lti.platforms import Platform, platform_with
from app.classes.federation.outbox import DueScore, shares_of
from app.classes.people.assignments import assignment_with, assignments_with
from app.core.errors import AppError, RefusedError, UnavailableError
from app.server.db.people import AssignedRow, ExtensionRow, LinkRow, OverrideRow, PersonRow, PlatformRow, RegradeRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow, now
from app.server.metrics import SCORES

EVERY = timedelta(seconds=15)  # between two looks
_DOWN = timedelta(minutes=1)  # for which a platform is left alone that does not answer
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Change:
    """What the line item of a link should say."""

    link: int
    lineitem: str
    terms: scores.ItemTerms


class PlatformWorker:
    """Works for platforms in the background of every server, in a task for each."""

    def __init__(self, engine: Engine, services: scores.Services, clock: Callable[[], datetime]) -> None:
        self._engine = engine
        self._services = services
        self._clock = clock
        self._under_way: dict[int, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """Those that are not done."""
        return [task for task in self._under_way.values() if not task.done()]

    def stop(self) -> None:
        """Do nothing anymore."""
        for task in self._under_way.values():
            task.cancel()

    def _start(self, platform: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin to *work* for a platform, unless that goes on already."""
        task = self._under_way.get(platform)
        if task is None or task.done():
            self._under_way[platform] = asyncio.create_task(work())

    async def _ask(self, ask: Callable[..., T], *given: Any) -> T:
        """What *ask* finds in a session, beside the event loop."""

        def found() -> T:
            with open_session(self._engine) as session:
                return ask(session, *given)

        return await asyncio.to_thread(found)

    async def _change(self, change: Callable[..., T], *given: Any, **named: Any) -> T:
        """What *change* returns, beside the event loop, once what it did in a session is stored."""

        def done() -> T:
            with open_writing_session(self._engine) as session:
                made = change(session, *given, **named)
                session.commit()
            return made

        return await asyncio.to_thread(done)


class LineItems(PlatformWorker):
    """Tells platforms what has changed.

    Two servers may tell a platform the same: that changes nothing.
    """

    def __init__(self, engine: Engine, services: scores.Services, clock: Callable[[], datetime]) -> None:
        super().__init__(engine, services, clock)
        self._next: datetime | None = None
        self._down: dict[int, datetime] = {}

    async def look(self) -> Sequence[asyncio.Task[None]]:
        """Start to tell what has changed, if it is time to look: the tasks that do."""
        at = self._clock()
        if self._next is None or at >= self._next:
            self._next = at + EVERY
            for platform, changes in (await self._ask(_line_item_changes)).items():
                if self._down.get(platform, at) <= at:
                    self._start(platform, partial(self._tell, platform, changes))
        return self.tasks

    async def _tell(self, number: int, changes: Sequence[_Change]) -> None:
        platform = await self._ask(platform_with, number)
        for one in changes:
            try:
                await scores.change_line_item(self._services, platform, one.lineitem, one.terms)
            except RefusedError as error:
                _log.info("%s keeps what it says of a link: %s", platform.name, error)
            except UnavailableError as error:
                _log.warning("%s is told later: %s (%s)", platform.name, error, error.cause)
                self._down[number] = self._clock() + _DOWN
                return
            await self._change(_store_link, one.link, item_digest=one.terms.digest)


def _line_item_changes(session: Session) -> Mapping[int, Sequence[_Change]]:
    """What line items should say, and do not yet, by platform."""
    rows = session.exec(
        select(LinkRow)
        .join(PlatformRow, col(PlatformRow.id) == col(LinkRow.platform))
        .where(col(PlatformRow.active), LinkRow.lineitem_url != "")
    ).all()
    assignments = assignments_with(session, {row.assignment for row in rows})
    terms = {one.id: scores.terms_of(one) for one in assignments}
    found: dict[int, list[_Change]] = defaultdict(list)
    for row in rows:
        if row.id is not None and terms[row.assignment].digest != row.item_digest:
            found[row.platform].append(_Change(row.id, row.lineitem_url, terms[row.assignment]))
    return found


def _store_link(session: Session, link: int, **values: str) -> None:
    session.connection().execute(update(LinkRow).where(col(LinkRow.id) == link).values(**values))


# Rows are not committed in the order of their numbers and times: the last minute is read again.
_OVERLAP = timedelta(minutes=1)


@dataclass(slots=True)
class _Mark:
    """Up to where attempts and overrides were read, and when."""

    at: datetime
    attempt: int
    override: int


class Changes:
    """Remembers up to where the tables were read."""

    def __init__(self) -> None:
        self._marks: list[_Mark] = []

    def skip(self, session: Session, at: datetime) -> None:
        """Regard everything until now as read."""
        self._marks = [self._mark(session, at)]

    def since(self, session: Session, at: datetime) -> Mapping[int, set[int]]:
        """The persons whose points may have changed since the last call, by assignment."""
        newest = self._mark(session, at)
        start = self._marks[0] if self._marks else newest
        found: dict[int, set[int]] = defaultdict(set)
        for statement in _changed(start):
            for assignment, person in session.connection().execute(statement):
                found[assignment].add(person)
        self._marks.append(newest)
        while len(self._marks) > 1 and self._marks[1].at <= at - _OVERLAP:
            del self._marks[0]
        return found

    def _mark(self, session: Session, at: datetime) -> _Mark:
        connection = session.connection()
        attempt = connection.execute(columns(func.max(col(AttemptRow.id)))).scalar()
        override = connection.execute(columns(func.max(col(OverrideRow.id)))).scalar()
        return _Mark(at, attempt or 0, override or 0)


def _changed(start: _Mark) -> Iterable[Executable]:
    """Statements for pairs of an assignment and a person."""
    linked = columns(col(LinkRow.assignment))
    answered = (
        columns(col(AssignedRow.assignment), col(PersonRow.id))
        .distinct()
        .join_from(AttemptRow, PersonRow, col(PersonRow.learner) == col(AttemptRow.learner))
        .join(AssignedRow, col(AssignedRow.exercise) == col(AttemptRow.exercise))
        .where(col(AssignedRow.assignment).in_(linked))
    )
    since = start.at - _OVERLAP
    yield answered.where(col(AttemptRow.id) > start.attempt)
    yield answered.join(RegradeRow, col(RegradeRow.attempt) == col(AttemptRow.id)).where(col(RegradeRow.at) > since)
    yield columns(col(ExtensionRow.assignment), col(ExtensionRow.person)).where(
        col(ExtensionRow.at) > since, col(ExtensionRow.assignment).in_(linked)
    )
    yield (
        columns(col(OverrideRow.assignment), col(OverrideRow.person))
        .distinct()
        .where(col(OverrideRow.id) > start.override, col(OverrideRow.assignment).in_(linked))
    )


PAUSE = 3.0  # seconds between two looks at the outbox
_EVERYTHING = timedelta(minutes=10)
_AT_ONCE = 4  # scores on their way to one platform
_MANY = 40  # scores that are taken from the outbox together
_TICK = timedelta(milliseconds=1)


class Courier(PlatformWorker):
    """Keeps the outbox, and empties it."""

    def __init__(
        self, engine: Engine, secret: str, services: scores.Services, clock: Callable[[], datetime] = now
    ) -> None:
        super().__init__(engine, services, clock)
        self._secret = secret
        self._changes = Changes()
        self._everything_at: datetime | None = None
        self._items = LineItems(engine, services, clock)
        self._finding: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, pause: float = PAUSE) -> None:
        """Work until canceled; a database that cannot be used is tried again."""
        try:
            while True:
                await asyncio.sleep(pause)
                try:
                    await self.look()
                except AppError as error:
                    cause = error.cause if isinstance(error, UnavailableError) else ""
                    _log.warning("scores wait: %s (%s)", error, cause)
        finally:
            self._items.stop()
            self.stop()

    async def look(self) -> Sequence[asyncio.Task[None]]:
        """Post what has changed, and start to send what is due: the tasks that do."""
        await asyncio.to_thread(self._post)
        changing = await self._items.look()
        for platform in await self._ask(outbox.waiting_platforms, self._clock()):
            self._start(platform, partial(self._empty, platform))
        return [*changing, *self.tasks]

    def _post(self) -> None:
        at = self._clock()
        with open_session(self._engine) as session:
            linked = outbox.linked_assignments(session)
            if not linked:
                return
            last = self._everything_at
            if last is None or at - last > _EVERYTHING:
                self._changes.skip(session, at)
                changed: Mapping[int, set[int] | None] = dict.fromkeys(linked)
                self._everything_at = at
            else:
                changed = {**self._changes.since(session, at)}
                changed |= dict.fromkeys(outbox.find_unposted(session))
        for assignment, persons in changed.items():
            with open_session(self._engine) as session:  # computed without the lock of a writer
                shares = shares_of(session, self._secret, assignment, at, persons)
            with open_writing_session(self._engine) as session:
                outbox.post(session, assignment, shares, at, everyone=persons is None)

    async def _empty(self, number: int) -> None:
        """Send what is due to a platform, until nothing is, or it does not answer."""
        try:
            while some := await self._ask(outbox.due_scores, number, self._clock(), _MANY):
                if not await self._sent(await self._ask(platform_with, number), some):
                    return
        except AppError as error:
            _log.warning("scores of platform %d wait: %s", number, error)

    async def _sent(self, platform: Platform, some: Sequence[DueScore]) -> bool:
        """Send *some* scores; whether the platform answers."""
        waiting, answers = list(reversed(some)), True
        pause = _DOWN

        async def work() -> None:
            nonlocal answers, pause
            while waiting and answers:
                wait = await self._try(platform, waiting.pop())
                if wait is not None:
                    answers, pause = False, wait

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
        if not answers:
            at = self._clock()
            await self._change(outbox.postpone, platform.id, at, at + pause)
        return answers

    async def _try(self, platform: Platform, one: DueScore) -> timedelta | None:
        """Send a score, and note what became of it; how long to leave a platform alone."""
        link = await self._change(_claimed_link, one, self._clock())
        if link is None:
            return None  # another server sends it, or its link is gone
        at = self._clock()
        sent = max(at, one.previous + _TICK) if one.previous else at
        try:
            await self._send(
                platform,
                link,
                scores.Score(
                    subject=one.subject,
                    share=None if one.share == outbox.NO_SCORE else one.share,
                    answered=one.answered,
                    at=sent,
                ),
            )
        except RefusedError as error:
            SCORES.labels("refused").inc()
            await self._change(outbox.mark_failed, one, str(error), self._clock(), refused=True)
        except UnavailableError as error:
            why = f"{error} ({error.cause})" if error.cause else str(error)
            SCORES.labels("unavailable").inc()
            asked = error.seconds if isinstance(error, scores.RetryLaterError) else None
            after = timedelta(seconds=asked) if asked is not None else None
            await self._change(outbox.mark_failed, one, why, self._clock(), refused=False, after=after)
            return _DOWN if after is None else after
        else:
            SCORES.labels("arrived").inc()
            await self._change(outbox.note_arrival, one, sent)
        return None

    async def _send(self, platform: Platform, link: scores.ResourceLink, score: scores.Score) -> None:
        """Send a score to the line item of a link; one that is gone is looked for again."""
        known = link.lineitem or await self._found(platform, link)
        try:
            await scores.send_score(self._services, platform, link, known, score)
        except RefusedError:
            if not (link.lineitem and link.lineitems):
                raise
            another = await self._found(platform, link)
            if another == known:
                raise
            await scores.send_score(self._services, platform, link, another, score)

    async def _found(self, platform: Platform, link: scores.ResourceLink) -> str:
        async with self._finding[link.id]:
            row: LinkRow | None = await self._ask(Session.get, LinkRow, link.id)
            if row and row.lineitem_url not in ("", link.lineitem):
                return row.lineitem_url  # another score has found it in the meantime
            found = await scores.line_item(self._services, platform, link)
            await self._change(_store_link, link.id, lineitem_url=found)
            return found


def _claimed_link(session: Session, one: DueScore, at: datetime) -> scores.ResourceLink | None:
    """The link of a score that this server may send now."""
    row = session.get(LinkRow, one.link)
    if row is None or not outbox.claim_score(session, one, at):
        return None
    assignment = assignment_with(session, row.assignment)
    return scores.ResourceLink(
        id=one.link,
        resource_link=row.resource_link,
        assignment=row.assignment,
        title=assignment.title,
        terms=scores.terms_of(assignment),
        lineitem=row.lineitem_url,
        lineitems=row.lineitems_url,
    )
