"""In place of the site of a server, in a browser: the course, and the learner's own rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar

from app.server.db.shelf import Shelf
from fastapi import Depends, Request

from app.course.content.catalog import Catalog
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.server.db.history import ExerciseHistory, LearnerDrawing
from app.server.db.tables import now

T = TypeVar("T")


class Writer:
    """Stores rows in the browser."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def put(self, row: Any) -> None:
        """Store *row*."""
        self._shelf.add(row)

    enqueue = put  # what it returns is awaited, too


class Histories:
    """What the learner has done, from a *shelf*."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def of(self, at: LearnerDrawing) -> ExerciseHistory:
        """What the learner of this browser has done at a drawing."""
        return self._shelf.history_at(at)


class Outage:
    """Never begins: the rows are here."""

    async def again(self, read: Callable[[], T]) -> T:
        """What *read* returns."""
        return read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The course, and what is stored in this browser, called engine as on a server."""

    settings: Settings
    catalog: Catalog
    engine: Shelf
    writer: Writer
    histories: Histories
    runner: Runner
    labs: Any = None
    members: Any = field(default_factory=lambda: SimpleNamespace(exist=True))
    outage: Outage = field(default_factory=Outage)
    secret: str = ""
    allowances: Any = field(default_factory=lambda: SimpleNamespace(answers=None, sent_runs=None))
    clock: Callable[[], datetime] = now


async def site_of(request: Request) -> Site:
    """The site of this browser."""
    return site_in(request)


def site_in(request: Request) -> Site:
    """The site of this browser."""
    site: Site = request.app.state.site
    return site


Here = Annotated[Site, Depends(site_of)]
Query = Mapping[str, str]
