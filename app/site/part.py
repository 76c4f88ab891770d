"""A part of the product that a site can do without."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import ModuleType

from fastapi import FastAPI
from sqlalchemy import Engine

from app.server.config import Settings
from app.site.members import Members


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePart:
    """What a part adds to a site.

    Modules of *pages* and of *calls* of the JSON interface have a `router`; *private* are patterns of paths that are
    about persons, *ways_in* of those that a hall needs before anybody is known; *files* are paths that take large
    files, with the most bytes; *tasks* runs beside the server; *members* makes what a site asks about persons,
    which is `Assignments` of the pages as well.
    """

    pages: Sequence[ModuleType] = ()
    calls: Sequence[ModuleType] = ()
    private: Sequence[str] = ()
    ways_in: Sequence[str] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    tasks: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None
    members: Callable[[Settings, Engine, str], Members] | None = None
