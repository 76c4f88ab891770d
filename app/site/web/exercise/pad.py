"""/scratch: a scratch pad that calculates with units; what is typed is not stored."""

from typing import Annotated

from fastapi import Form, Request, Response

from app.core.expressions import PAD_LIMIT, worked_pad
from app.core.translation import translate
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.renderer import frame, render, wants_fragment
from app.site.web.frame.visitor import FromHere, spend

router = Router(prefix="/scratch")
_COST = 0.2  # of an answer: it is worked out again while one types


@router.get("")
async def show_pad(request: Request) -> Response:
    """An empty pad."""
    return _shown_pad(request, "")


@router.post("", dependencies=[FromHere])
async def show_worked_pad(request: Request, site: Here, text: Annotated[str, Form()] = "") -> Response:
    """The pad with its results; only those for a script."""
    spend(site.allowances.answers, "calculations", _COST)
    return _shown_pad(request, text[:PAD_LIMIT].replace("\r\n", "\n"))


def _shown_pad(request: Request, text: str) -> Response:
    fragment = wants_fragment(request)
    around = frame(request, translate("Scratch pad"), translate("Arithmetic with units, line by line."), "exercises")
    template = "exercise/worked.html" if fragment else "exercise/scratch.html"
    return render(template, around, worked_pad(text), text=text, limit=PAD_LIMIT)
