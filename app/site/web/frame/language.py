"""Choose the language of the pages without a script."""

from typing import Annotated

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from app.core.translation import LANGUAGES
from app.server.network.languages import COOKIE, VISIT, without_language
from app.server.network.routes import Router
from app.site.web.frame.visitor import FromHere
from app.site.web.urls import path_inside

_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer
router = Router()


@router.post("/language", dependencies=[FromHere])
async def choose_language(language: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
    """Store the choice and return to the page; with a language that is not offered, forget it.

    The language in the address of the page would go before the one that was chosen.
    """
    response = RedirectResponse(without_language(path_inside(back)) or "/", 303)
    response.delete_cookie(VISIT)
    if language in LANGUAGES:
        response.set_cookie(COOKIE, language, max_age=_AGE, samesite="lax")
    else:
        response.delete_cookie(COOKIE)
    return response
