"""Who asks: the token in the Authorization header."""

from typing import Annotated

from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.db.tokens import name_of_token
from app.site import Here

_BEARER = HTTPBearer(auto_error=False, description="`wallclock token create NAME` makes one")
_LONGEST = 200  # characters of a token


async def grader(
    site: Here, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> str:
    """The learner whose attempts the bearer of the token hands in: token:NAME.

    Raises:
        HTTPException: 401, without a valid token.
    """
    if given is not None and 0 < len(given.credentials) <= _LONGEST:
        # A read by primary index takes less time here than a trip to another thread.
        name = name_of_token(site.engine, given.credentials)
        if name is not None:
            return f"token:{name}"[:64]
    says = "a valid token is wanted: Authorization: Bearer wc_... (wallclock token create NAME)"
    raise HTTPException(401, says, {"WWW-Authenticate": "Bearer"})


Grader = Annotated[str, Depends(grader)]
