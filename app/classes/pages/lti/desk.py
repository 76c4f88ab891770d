"""What the pages of LTI share: the tool, which needs an extra, and pages that stand in frames."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request, Response

from app.core.errors import AppError, UnavailableError, sentence
from app.core.translation import noted, translate
from app.server.network.door import note_trouble
from app.server.network.response_policy import let_anyone_frame
from app.site import Site, site_in
from app.site.web.frame.renderer import frame, render

if TYPE_CHECKING:
    from app.classes.federation.lti.tool import Tool

MISSING = (
    "learning platforms need packages that are not installed here: install wallclock[people], then restart the server"
)
_FAILS = noted("This does not work right now")
_REFUSED = noted("This launch was refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleInFrame:
    """Why a launch was refused. With *again*, it can be begun again in a window of its own."""

    heading: str
    says: str
    again: tuple[tuple[str, str], ...] = ()


def tool_in(request: Request) -> "Tool":
    """The tool of the server.

    Raises:
        UnavailableError: the packages that it needs are not installed.
    """
    return tool_for(request.app.state, site_in(request))


def tool_for(state: object, site: Site) -> "Tool":
    """The tool of the server with that state, made the first time.

    Its packages take 20 MB and half a second, which a server without platforms does not pay.

    Raises:
        UnavailableError: they are not installed.
    """
    try:
        from app.classes.federation.lti.tool import Tool
    except ModuleNotFoundError as error:
        raise UnavailableError(MISSING, str(error)) from error
    found = getattr(state, "tool", None)
    if not isinstance(found, Tool):
        found = Tool(site.settings, site.engine)
        state.tool = found  # type: ignore[attr-defined]  # the state of an application
    return found


def refused_launch(request: Request, error: AppError, again: tuple[tuple[str, str], ...] = ()) -> Response:
    """The page that says why a launch was refused: in a frame of any platform."""
    if isinstance(error, UnavailableError):
        note_trouble(request, error, error.cause)
    let_anyone_frame(request)
    status = 503 if isinstance(error, UnavailableError) else 400
    heading = translate(_FAILS if status == 503 else _REFUSED)  # noqa: PLR2004
    page = TroubleInFrame(heading=heading, says=sentence(str(error)), again=again)
    return render("lti/refused.html", frame(request, heading), page, status)
