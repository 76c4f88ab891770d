"""/lti/login, /lti/launch and /lti/open: a platform opens an assignment, in its own window."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse

from app.classes.federation.lti import launch_message, platforms
from app.classes.federation.lti.launch_message import Launch
from app.classes.pages.class_router import ask_database, change_database
from app.classes.pages.lti import launch_entry
from app.classes.people.assignment_copies import MOST_WEEKS
from app.core.errors import AppError, RefusedError, refused_error
from app.core.translation import noted, translate
from app.server.network import response_policy
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting, is_from_here

router = Router(prefix="/lti")
_MOST_FIELDS = 50
_COOKIE = "lti_"
_NOTHING = ("", "-")  # of what the platform's page is asked for: it stores nothing
_BEGUN_ELSEWHERE = noted(
    "this browser did not begin this launch, or it stores no cookies; open it in a window of its own"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStorage:
    """What the platform's page is asked to remember, or for; see static/lti.js."""

    asks: str
    key: str
    origin: str
    next: str
    value: str = ""
    target: str = ""
    token: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPage:
    """The page in the frame: a button that opens a window, which sends *fields* to *address*.

    *begins*: the window begins the launch again, as this frame stores no cookies.
    """

    title: str
    address: str
    fields: tuple[tuple[str, str], ...]
    begins: bool = False


@router.get("/jwks")
def keys(request: Request) -> Response:
    """Our public keys, for platforms."""
    return JSONResponse(launch_entry.tool_in(request).key_set(), headers={"Cache-Control": "public, max-age=3600"})


@router.get("/login")
async def login(request: Request, site: Here) -> Response:
    """The begin of a launch."""
    return await _login(request, site, dict(request.query_params))


@router.post("/login")
async def login_by_form(request: Request, site: Here) -> Response:
    """The begin of a launch, sent as a form."""
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        given = {name: value for name, value in form.items() if isinstance(value, str)}
    return await _login(request, site, {**request.query_params, **given})


@router.post("/launch")
async def launch(
    request: Request,
    site: Here,
    visiting: Visiting,
    id_token: Annotated[str, Form()] = "",
    state: Annotated[str, Form()] = "",
    error: Annotated[str, Form()] = "",
    error_description: Annotated[str, Form()] = "",
    kept: Annotated[str, Form()] = "",
) -> Response:
    """The message of a launch, which the browser brings from the platform."""
    try:
        if error:
            raise RefusedError(f"the platform refused: {error[:100]} {error_description[:300]}".strip())
        sent = platforms.read_login_state(site.secret, state)
        browser = request.cookies.get(_COOKIE + sent.name, "")
        if not browser and sent.stored and not kept:
            platform = await ask_database(site, platforms.platform_with, sent.platform)
            page = PlatformStorage(
                asks="get",
                key=sent.name,
                origin=response_policy.origin_of(platform.auth_url),
                next=launch_message.LAUNCH,
                token=id_token,
                state=state,
            )
            return _storing_page(request, page)
        if not platforms.is_same_browser(sent, browser or (kept if sent.stored and is_from_here(request) else "")):
            if not browser and kept in _NOTHING and request.headers.get("sec-fetch-dest") in ("iframe", "frame"):
                return await _begin_again(request, site, sent)
            again = await _fields_again(request, site, sent)
            return launch_entry.refused_launch(request, refused_error(_BEGUN_ELSEWHERE), again)
        found = await launch_entry.tool_in(request).launched(sent, id_token)
        return await _answer(request, site, visiting, found)
    except AppError as problem:
        return launch_entry.refused_launch(request, problem)


@router.post("/open", dependencies=[FromHere])
async def open_window(
    request: Request,
    site: Here,
    visiting: Visiting,
    ticket: Annotated[str, Form()] = "",
    chosen: Annotated[str, Form()] = "",
    zone: Annotated[str, Form()] = "",
    weeks: Annotated[int, Form(ge=-MOST_WEEKS, le=MOST_WEEKS)] = 0,
) -> Response:
    """The window of a launch: signs in, and goes to the assignment."""
    found = launch_message.unseal_launch(site.secret, ticket)
    await change_database(
        site, launch_message.use_once, ticket, max(launch_message.TICKET_LIFE, launch_message.CHOICE_LIFE)
    )
    return await launch_entry.answer_launch(
        request, site, visiting, found, launch_entry.TeacherChoice(chosen, zone, weeks)
    )


async def _login(request: Request, site: Site, asked: dict[str, str]) -> Response:
    try:
        tool = launch_entry.tool_in(request)
        platform = await ask_database(site, platforms.platform_for, asked.get("iss", ""), asked.get("client_id", ""))
        opening = platforms.begin_launch(site.secret, platform, asked, tool.address + launch_message.LAUNCH)
        await tool.outgoing.check(platform.jwks_url)
    except AppError as problem:
        return launch_entry.refused_launch(request, problem)
    if opening.target:
        page = PlatformStorage(
            asks="put",
            key=opening.name,
            value=opening.browser,
            target=opening.target,
            origin=response_policy.origin_of(platform.auth_url),
            next=opening.address,
        )
        response = _storing_page(request, page)
    else:
        response = response_policy.redirect_beyond(request, opening.address, 302)
    response.headers.append("Set-Cookie", _cookie(opening))
    return response


def _cookie(opening: platforms.Opening) -> str:
    """The cookie that comes back in the frame of another site: where it is the only way."""
    age = round(platforms.OPENING_LIFE.total_seconds())
    return (
        f"{_COOKIE}{opening.name}={opening.browser}; Path=/lti; Max-Age={age}; HttpOnly; Secure; "
        "SameSite=None; Partitioned"
    )


def _storing_page(request: Request, page: PlatformStorage) -> Response:
    response_policy.let_anyone_frame(request)
    response_policy.keep_opener(request)  # the platform's page, if this is a window
    return render("lti/storing.html", frame(request, translate("Opening")), page)


async def _begin_again(request: Request, site: Site, sent: platforms.LaunchState) -> Response:
    """The page in a frame without cookies: a window of its own has them."""
    again = await _fields_again(request, site, sent)
    if not again:
        return launch_entry.refused_launch(request, refused_error(_BEGUN_ELSEWHERE))
    response_policy.let_anyone_frame(request)
    title = translate("Your assignment")
    page = OpenPage(title=title, address="/lti/login", fields=again, begins=True)
    return render("lti/open.html", frame(request, title), page)


async def _fields_again(request: Request, site: Site, sent: platforms.LaunchState) -> tuple[tuple[str, str], ...]:
    """What begins the launch again; nothing, if its hints were too long to be remembered."""
    if not sent.hint:
        return ()
    platform = await ask_database(site, platforms.platform_with, sent.platform)
    fields = {
        "iss": platform.issuer,
        "client_id": platform.client_id,
        "login_hint": sent.hint,
        "lti_message_hint": sent.message,
    }
    response_policy.let_post(request, [platform.auth_url])  # the form is sent on from here to there
    return tuple((name, value) for name, value in fields.items() if value)


async def _answer(request: Request, site: Site, visiting: Visiting, found: Launch) -> Response:
    if found.answer_to:
        return await launch_entry.show_exercise_choice(request, site, found)
    if request.headers.get("sec-fetch-dest") == "document":  # a window of its own
        return await launch_entry.answer_launch(request, site, visiting, found, launch_entry.TeacherChoice())
    platform = await ask_database(site, platforms.platform_with, found.platform)
    response_policy.let_frame(request, {*found.origins, platform.auth_url})
    page = OpenPage(
        title=found.link_title or translate("Your assignment"),
        address="/lti/open",
        fields=(("ticket", launch_message.seal_ticket(site.secret, found)),),
    )
    return render("lti/open.html", frame(request, page.title), page)
