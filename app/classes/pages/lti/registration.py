"""/lti: how a learning platform is connected; /lti/register: one registers by itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse

from app.classes.federation.lti.canvas import canvas_configuration
from app.classes.federation.lti.platforms import (
    allow_deployment,
    register_platform,
    registration_with,
    use_registration,
)
from app.classes.pages.lti.desk import refused_launch, tool_in
from app.core.errors import AppError, InputError, NotFoundError, RefusedError, UnavailableError
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.response_policy import keep_opener, let_frame, origin_of
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere

if TYPE_CHECKING:
    from app.classes.federation.lti.registration import Registered

router = Router(prefix="/lti")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformsPage:
    """The addresses that a platform asks for; *missing*: why none can be connected yet."""

    address: str
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage:
    """A platform that would register; *done*: it has."""

    name: str
    host: str
    code: str
    configuration: str
    token: str
    done: bool = False


@router.get("/canvas.json")
async def canvas_json(request: Request) -> Response:
    """What an administrator of Canvas pastes when adding the tool."""
    try:
        return JSONResponse(canvas_configuration(tool_in(request).address))
    except UnavailableError as error:
        raise NotFoundError(str(error)) from error


@router.get("")
async def show_registration(request: Request, site: Here) -> Response:
    """How an operator connects a platform."""
    try:
        address, missing = tool_in(request).address, ""
    except UnavailableError as error:
        address, missing = (site.settings.url or "https://wallclock.example.org", str(error))
    page = PlatformsPage(address=address, missing=missing)
    return render("lti/connect.html", frame(request, translate("Connect a learning platform")), page)


@router.get("/register")
async def ask(
    request: Request, site: Here, code: str = "", openid_configuration: str = "", registration_token: str = ""
) -> Response:
    """The page on which an administrator of a platform registers it."""
    try:
        name = await aside(_named, site, code)
        page = _registration_page(name, code, openid_configuration, registration_token)
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, [openid_configuration])
    keep_opener(request)
    return render("lti/register.html", frame(request, translate("Register")), page)


@router.post("/register", dependencies=[FromHere])
async def register_platform_page(
    request: Request,
    site: Here,
    code: Annotated[str, Form()] = "",
    openid_configuration: Annotated[str, Form()] = "",
    registration_token: Annotated[str, Form()] = "",
) -> Response:
    """Register the platform; it stays inactive until an operator activates it."""
    keep_opener(request)  # it is told when this is done, perhaps at a second try
    try:
        tool = tool_in(request)
        from app.classes.federation.lti.registration import register_at_platform

        name = await aside(_named, site, code)
        found = await register_at_platform(tool.outgoing, name, openid_configuration, registration_token, tool.address)
        await aside(_store, site, code, found)
    except InputError as problem:
        return refused_launch(request, RefusedError(str(problem)))
    except AppError as problem:
        return refused_launch(request, problem)
    let_frame(request, [openid_configuration])
    page = RegisterPage(name=name, host=found.platform.issuer, code="", configuration="", token="", done=True)
    return render("lti/register.html", frame(request, translate("Registered")), page)


def _registration_page(name: str, code: str, configuration: str, token: str) -> RegisterPage:
    host = origin_of(configuration)
    if not host:
        raise RefusedError(
            translate("this link is for a learning platform: enter it there as the registration address of a new tool")
        )
    return RegisterPage(name=name, host=host, code=code, configuration=configuration, token=token)


def _named(site: Site, code: str) -> str:
    with open_session(site.engine) as session:
        return registration_with(session, code)


def _store(site: Site, code: str, found: "Registered") -> None:
    with open_writing_session(site.engine) as session:
        if not use_registration(session, code):
            raise RefusedError(translate("this registration link was used a moment ago"))
        platform = register_platform(session, found.platform)
        if found.deployment:
            allow_deployment(session, platform, found.deployment)
        session.commit()
