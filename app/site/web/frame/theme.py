"""Switch between light and dark without a script."""

from typing import Annotated

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from app.server.network.routes import Router
from app.site.web.frame.visitor import THEME, FromHere
from app.site.web.urls import path_inside

_AGE = 400 * 24 * 3600
router = Router()


@router.post("/theme", dependencies=[FromHere])
async def choose_theme(theme: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
    """Store the choice and return to the page."""
    response = RedirectResponse(path_inside(back) or "/", 303)
    if theme in ("light", "dark"):
        response.set_cookie(THEME, theme, max_age=_AGE, samesite="lax")
    else:
        response.delete_cookie(THEME)
    return response
