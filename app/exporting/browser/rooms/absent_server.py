"""In place of what a server alone has, in a browser, which works for one learner: nothing, or as much as one needs.

A module in which `IN_PLACE_OF` is, is imported under each of these names.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Generic, Literal, NoReturn, TypeVar

from fastapi import APIRouter, Depends, Request

from app.core.errors import InputError, NotFoundError

IN_PLACE_OF = (
    "app.server.config",
    "app.server.metrics",
    "app.server.network.door",
    "app.server.network.prefix",
    "app.server.network.routes",
    "app.server.aside.fair_queue",
    "app.server.aside",
    "app.server.aside.child_process",
    "app.server.aside.jobs",
    "app.course.sandbox.pool",
    "app.site.web.frame.visitor",
    "app.site.web.frame.database_copies",
    "app.site.web.exercise.picture_link",
    "app.core.yaml_file",
    "app.course.content.images",
    "app.site.labs.upload",
    "app.site.web.measured.saved_measurement",
)
Router = APIRouter  # nothing is called aside


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server that matter in a browser."""

    answer_limit: int = 20_000
    sandbox_wall: float = 2.0
    url: str = ""
    prefix: str = ""
    database: str = ""


def do_nothing(*_: object) -> None:
    """Nothing: a browser works for its own visitor, who signs in nowhere, and the page says what is out of order."""


note_trouble = signed_in = spend = spend_storage = remember = do_nothing


def verdicts(*_: str) -> SimpleNamespace:
    """What would count a verdict."""
    return SimpleNamespace(inc=do_nothing)


def no_text(*_: object) -> str:
    """The empty string: a browser has no copies to remove and no pictures stored on a server."""
    return ""


copies_until = picture_link = no_text


def prefix_addresses(_: str, html: str) -> str:
    """*html* as it is."""
    return html


@dataclass(frozen=True, slots=True)
class Client:
    """Who a run is scheduled for."""

    name: str


@dataclass(frozen=True, slots=True)
class Payer:
    """The learner of this browser."""

    lane: Client


async def aside(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """The result of *work*."""
    return work(*args, **kwargs)


def current_payer() -> Payer:
    """The learner of this browser."""
    return Payer(Client("browser"))


def read_apart(work: Callable[..., Any], *args: object) -> Any:
    """The result of *work*."""
    return work(*args)


class ReadingChildren:
    """In place of several such processes."""

    def run(self, seconds: float, work: Callable[..., Any], *args: object) -> Any:
        """The result of *work*."""
        return work(*args)


Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class BoundedJobs(Generic[Key, Result]):
    """Runs jobs one after the other, and remembers the latest results."""

    def __init__(self, busy: str, *, room: int = 0, **_: object) -> None:
        self._room = room
        self._results: OrderedDict[Key, Result] = OrderedDict()

    async def result(self, key: Key, job: Callable[[], Awaitable[Result]], admit: Callable[[], None]) -> Result:
        """The result of *key*: remembered, or of *job*."""
        if key not in self._results:
            self._results[key] = await job()
            while len(self._results) > self._room:
                self._results.popitem(last=False)
        return self._results[key]


@dataclass(frozen=True, slots=True)
class SandboxHealth:
    """Whether code can run: it can."""

    state: str = "ready"
    says: str = ""
    cause: str = ""


COOKIE, SESSION, THEME = "learner", "session", "theme"
Theme = Literal["", "light", "dark"]
LEARNER = "browser"


@dataclass(frozen=True, slots=True)
class Visitor:
    """The learner of this browser."""

    learner: str = LEARNER
    client: Client = Client(LEARNER)
    person: None = None
    anonymous: str = ""


async def visitor(request: Request, site: object = None) -> Visitor:
    """The learner of this browser."""
    return Visitor()


Visiting = Annotated[Visitor, Depends(visitor)]
FromHere = None


async def from_here(_: Request) -> None:
    """Nothing is sent from elsewhere to a browser's own pages."""


def visitor_learner(visiting: Visitor) -> str:
    """The learner of this browser."""
    return visiting.learner


KeyPath = tuple[str | int, ...]


class YamlDocument:
    """A file, for annotations."""


def read_document(*_: object) -> NoReturn:
    """Refuse: what reads files is replaced with what it had read."""
    raise ValueError("the course was read at export")


with_images = images_in = read_document


def read_sent(*_: object) -> NoReturn:
    """Refuse: the lab runs of a file are left out."""
    raise InputError("lab runs need a server")


sent_row = read_sent  # without a run, no row can be made either


def view_of_row(*_: object) -> NoReturn:
    """Refuse: a browser stores no rows of measurements."""
    raise NotFoundError("measurements need a server")
