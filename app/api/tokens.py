"""Who asks: the token in the Authorization header."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from app.site import Here, Site

_BEARER = HTTPBearer(auto_error=False, description="`wallclock token create NAME` makes one")
_LONGEST = 200  # characters of a token
_REQUIRED = "a valid token is required: Authorization: Bearer wc_... (wallclock token create NAME)"


def grader_of(request: Request, site: Site) -> str:
    """The learner whose attempts the bearer of the token hands in: token:NAME.

    Raises:
        HTTPException: 401, without a valid token.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    secret = secret.strip()
    if scheme.lower() == "bearer" and 0 < len(secret) <= _LONGEST:
        # A read by primary index takes less time here than a trip to another thread.
        name = site.tokens.name(secret)
        if name is not None:
            return f"token:{name}"[:64]
    raise HTTPException(401, _REQUIRED, {"WWW-Authenticate": "Bearer"})


async def _grader(
    request: Request, site: Here, _: Annotated[object, Depends(_BEARER)]
) -> str:  # what _BEARER finds is not looked at: it describes the interface
    return grader_of(request, site)


Grader = Annotated[str, Depends(_grader)]
