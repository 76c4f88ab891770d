"""A part of the product that a site can do without."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from fastapi import FastAPI
from sqlalchemy import Engine

from app.server.config import Settings
from app.server.network.routes import LateModule
from app.site.members import Members


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePart:
    """What a part adds to a site.

    *pages* and *calls* of the JSON interface are imported when they are asked for; *private* are patterns of paths
    that are about persons, *ways_in* of those that a hall needs before anybody is known; *files* are paths that take
    large files, with the most bytes; *tasks* runs beside the server; *members* makes what a site asks about persons,
    which is `Assignments` of the pages as well.
    """

    pages: Sequence[LateModule] = ()
    calls: Sequence[LateModule] = ()
    private: Sequence[str] = ()
    ways_in: Sequence[str] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    tasks: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None
    members: Callable[[Settings, Engine, str], Members] | None = None
