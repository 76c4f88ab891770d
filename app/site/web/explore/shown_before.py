"""The explorers that a visitor has asked to show at once, without a prediction first: a cookie."""

from collections.abc import Mapping

from fastapi import Request, Response

from app.course.explorers import EXPLORERS, Explorer

TOLD = "told"  # in the address of "Just show me"
_COOKIE = "shown"
_AGE = 400 * 24 * 3600  # seconds
_BETWEEN = "."


def query_as_wanted(request: Request, explorer: Explorer) -> Mapping[str, str]:
    """The query of *request*, which shows *explorer* if the visitor has once asked to."""
    given = dict(request.query_params)
    return {"show": "1", **given} if explorer.name in _names(request) else given


def remember_shown(request: Request, response: Response, explorer: Explorer) -> None:
    """Keep that *explorer* is shown from now on, or that a prediction is asked for again."""
    names = _names(request)
    asked = names | {explorer.name} if TOLD in request.query_params else names
    if "predict" in request.query_params:
        asked = asked - {explorer.name}
    if asked != names:
        response.set_cookie(_COOKIE, _BETWEEN.join(sorted(asked)), max_age=_AGE, samesite="lax")


def _names(request: Request) -> frozenset[str]:
    named = request.cookies.get(_COOKIE, "").split(_BETWEEN)
    return frozenset(name for name in named if name in EXPLORERS)
