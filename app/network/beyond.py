"""What one response may do beyond this site: go to another host, be framed by it, post to it.

Every response forbids all three (see `door`). A handler that needs one of them says so here, for
an address that it has checked itself: never for one that a visitor has merely sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import Scope

_NAME = "beyond"


@dataclass(slots=True)
class Beyond:
    """Where a redirect may go, and the origins of pages that frame ours or that ours posts to."""

    location: str = ""
    frames: set[str] = field(default_factory=set)
    forms: set[str] = field(default_factory=set)


def redirect_beyond(request: Request, address: str, status: int = 303) -> RedirectResponse:
    """A redirect to *address* on another host."""
    response = RedirectResponse(address, status)
    _beyond(request).location = response.headers["location"]
    return response


def let_frame(request: Request, origins: Iterable[str]) -> None:
    """Let pages of *origins* show the response in a frame."""
    _beyond(request).frames |= set(origins)


def let_post(request: Request, origins: Iterable[str]) -> None:
    """Let forms of the response be sent to *origins*."""
    _beyond(request).forms |= set(origins)


def beyond_of(scope: Scope) -> Beyond | None:
    """What the handler of a request has allowed; None: nothing."""
    found = scope.get("state", {}).get(_NAME)
    return found if isinstance(found, Beyond) else None


def _beyond(request: Request) -> Beyond:
    state: State = request.state
    if not isinstance(getattr(state, _NAME, None), Beyond):
        setattr(state, _NAME, Beyond())
    found = getattr(state, _NAME)
    return found if isinstance(found, Beyond) else Beyond()
