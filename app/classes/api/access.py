"""Which classes a token opens, and lists in pages."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, HTTPException, Path, Query, Request, Response
from sqlmodel import Session

from app.classes.people.assignments import Assignment, assignment_with
from app.classes.people.classes import members_of, number_of, refuse_archived
from app.classes.people.members import hold
from app.core.errors import InputError, NotFoundError, nearest
from app.server.db.learner_cookie import Grant
from app.server.db.people import ClassRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.api.documents import responses
from app.site.api.headers import Granted

CLASSES = "/api/v1/classes"
ONE_CLASS = "/api/v1/classes/{class_id}"
_LARGEST = 2**63 - 1  # number of a row
_MOST, _USUAL = 1_000, 100  # rows of a page
_NOT_HERE = "this class does not exist, or this token does not open it; GET /api/v1/classes lists all"
_SCOPE = "a token of scope class or admin is required: wallclock token create NAME --scope class --class CLASS"
_ADMIN = "a token of scope admin is required to {do} a class: wallclock token create NAME --scope admin"
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])
Number = Annotated[int, Path(ge=1, le=_LARGEST, examples=[1])]


def _scoped(grant: Granted) -> Grant:
    if grant.scope == "check":
        raise HTTPException(403, _SCOPE)
    return grant


def administrative(grant: Grant, do: str) -> None:
    """Refuse to *do* something to a class with a token of another scope than admin.

    Raises:
        HTTPException: 403, it has another scope.
    """
    if grant.scope != "admin":
        raise HTTPException(403, _ADMIN.format(do=do))


def _administrative(grant: Granted) -> Grant:
    administrative(grant, "make")
    return grant


Scoped = Annotated[Grant, Depends(_scoped)]
Administrative = Annotated[Grant, Depends(_administrative)]
ERRORS: dict[int | str, dict[str, Any]] = responses(401, 403, 404, 422, 503)


def class_for(session: Session, grant: Grant, class_id: int) -> ClassRow:
    """The class with that number, if the token opens it.

    Raises:
        NotFoundError: there is none, or the token does not open it: it is not said which.
    """
    row = session.get(ClassRow, class_id) if grant.allows(class_id) else None
    if row is None:
        raise NotFoundError(_NOT_HERE)
    return row


def class_to_change(session: Session, grant: Grant, class_id: int) -> ClassRow:
    """The class with that number, to be changed.

    Raises:
        NotFoundError: there is none, or the token does not open it: it is not said which.
        InputError: it is archived.
    """
    row = class_for(session, grant, class_id)
    refuse_archived(row)
    return row


def persons_called(session: Session, class_id: int, texts: Iterable[str]) -> frozenset[int]:
    """The numbers of the members whom *texts* name, each by the id of another system or by number.

    Raises:
        InputError: nobody in the class is called so, and the message offers the closest; or several members are.
    """
    members = members_of(session, class_id)
    ids = Counter(one.outside_id for one in members if one.outside_id)
    known = {str(one.person): one.person for one in members}
    known |= {one.outside_id: one.person for one in members if one.outside_id}
    texts = set(texts)
    for text in sorted(texts):
        if text not in known:
            raise InputError(f"nobody in this class is called {text[:60]!r}{nearest(text, ids)}")
        if ids[text] > 1:
            raise InputError(f"several people are called {text[:60]!r}; send the number")
    return frozenset(known[text] for text in texts)


@dataclass(frozen=True, slots=True)
class ClassCall:
    """A call about a class that its token opens; nobody else changes the class meanwhile, if it does."""

    site: Site
    grant: Grant
    session: Session
    row: ClassRow

    @property
    def class_id(self) -> int:
        """The number of the class."""
        return number_of(self.row)

    @property
    def by(self) -> str:
        """Who calls, in what is stored."""
        return f"token {self.grant.name}"

    def assignment(self, number: int) -> Assignment:
        """The assignment of the class with that number.

        Raises:
            NotFoundError: there is none in this class.
        """
        found = assignment_with(self.session, number)
        if found.class_id != self.class_id:
            raise NotFoundError("this assignment does not exist")
        return found


class ClassCalls(Router):
    """Routes below a class: functions of a call, and of what was sent, that return a document.

    What a function of a PUT, POST or DELETE changes is stored once it returns.
    """

    def __init__(self, tag: str) -> None:
        super().__init__(tags=[tag], responses=ERRORS)

    def call(self, method: str, path: str, *, archived: bool = False, **options: Any) -> Callable[[C], C]:
        """Answer *method* below a class with what a function returns; with *archived*, also where that is archived."""

        def add(work: C) -> C:
            called = _called(work, changes=method != "GET", archived=archived)
            self.api_route(ONE_CLASS + path, methods=[method], **options)(called)
            return work

        return add


def _called(work: Callable[..., Any], *, changes: bool, archived: bool) -> Callable[..., Any]:
    """*work* as FastAPI calls it."""

    def endpoint(site: Here, grant: Scoped, class_id: Number, **given: Any) -> Any:
        with (open_writing_session if changes else open_session)(site.engine) as session:
            row = (class_to_change if changes and not archived else class_for)(session, grant, class_id)
            if changes:
                hold(session, class_id)
            result = work(ClassCall(site, grant, session, row), **given)
            if changes:
                session.commit()
        return result

    known, own = inspect.signature(endpoint), inspect.signature(work)
    first = [*known.parameters.values()][:-1]
    rest = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*own.parameters.values()][1:]]
    endpoint.__signature__ = own.replace(parameters=[*first, *rest])  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
    return endpoint


class Paging:
    """The part of a list that a request asks for: what comes *after* a number."""

    def __init__(
        self,
        request: Request,
        response: Response,
        after: Annotated[int, Query(ge=0, le=_LARGEST, description="the number of the last one that you have")] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST, description="the most to send")] = _USUAL,
    ) -> None:
        self.after, self.limit = after, limit
        self._request, self._response = request, response

    def cut(self, rows: Sequence[T], number: Callable[[T], int]) -> Sequence[T]:
        """The first of those *rows* that come after; the response links to the next part."""
        later = sorted((row for row in rows if number(row) > self.after), key=number)
        part = later[: self.limit]
        if len(later) > len(part):
            self.link(number(part[-1]))
        return part

    def link(self, last: int) -> None:
        """Let the response link to what comes after *last*."""
        kept = {name: value for name, value in self._request.query_params.items() if name not in ("after", "limit")}
        query = urlencode({**kept, "after": last, "limit": self.limit})
        self._response.headers["Link"] = f'<{self._request.url.path}?{query}>; rel="next"'


Paged = Annotated[Paging, Depends(Paging)]
LINK: dict[str, Any] = {
    "headers": {
        "Link": {
            "description": 'the next part of the list: <...>; rel="next"; absent at the end',
            "schema": {"type": "string"},
        }
    }
}
