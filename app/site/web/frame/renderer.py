"""Render a typed page as HTML."""

from dataclasses import dataclass
from functools import cache

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from markupsafe import Markup

from app.core.errors import UnavailableError
from app.core.templating import template_environment
from app.core.translation import LANGUAGES, language, of_scripts, tag, translate
from app.server.network.prefix import prefix_addresses
from app.site import Site
from app.site.markdown import html, inline_html
from app.site.web.frame.assets import asset_url
from app.site.web.frame.visitor import COOKIE, SESSION, THEME, Theme
from app.site.web.frame.visitor import signed_in as known

_MENU_NAME = 20  # characters of a name that the menu has room for


_HEADERS = {
    code: {"Cache-Control": "private, no-cache", "Content-Language": tag(code), "Vary": "Accept-Language, Cookie"}
    for code in LANGUAGES
}


@dataclass(frozen=True, slots=True)
class Hyperlink:
    """A link and its text, whose language is *lang* where it is not that of the page."""

    href: str
    text: str
    lang: str = ""


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Something by which a list can be narrowed, and to how many rows; *is_on*: it is."""

    link: Hyperlink
    count: int
    is_on: bool


_LANGUAGES = tuple((code, tag(code), name) for code, name in LANGUAGES.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The frame around every page; *here* is the part of the site that the menu highlights.

    *sentences* are those of the scripts, as JSON; empty in English. *arrives*: the visitor is new and comes from
    elsewhere, as by a shared link. *person*: how the menu calls the one who is signed in; empty if nobody is. *origin*:
    the public URL of the site, with its path *prefix*. *address*: the *path* of the page and its query. *shared*: the
    address of what is shown, with its state. *has_classes*: whether one can sign in.
    """

    title: str
    description: str
    language: str
    languages: tuple[tuple[str, str, str], ...]  # codes, tags in HTML, and names for themselves
    sentences: str
    theme: Theme
    here: str
    nonce: str
    origin: str
    prefix: str
    path: str
    address: str
    shared: str
    arrives: bool
    person: str
    has_classes: bool


def templates() -> Environment:
    """The template environment of the current language."""
    return _templates(language())


@cache
def _templates(code: str) -> Environment:
    made = template_environment(code)
    made.globals["asset"] = asset_url
    made.filters["markdown"] = html
    made.filters["inline"] = inline_html
    return made


def frame(
    request: Request, title: str, description: str = "", here: str = "", shared: str = "", *, signed_in: bool = True
) -> Frame:
    """The frame of the page that answers *request*; with *signed_in* off, one for a stranger."""
    chosen = request.cookies.get(THEME)
    theme: Theme = "dark" if chosen == "dark" else "light" if chosen == "light" else ""
    nonce = str(request.scope.get("state", {}).get("nonce", ""))
    site = request.app.state.site
    # Addresses follow from the settings, never from the Host header of the request.
    settings = site.settings if isinstance(site, Site) else None
    inside = request.headers.get("sec-fetch-site") == "same-origin"
    is_new = COOKIE not in request.cookies and SESSION not in request.cookies
    return Frame(
        title=title,
        description=description or title,
        language=tag(language()),
        languages=_LANGUAGES,
        sentences=of_scripts(language()),
        theme=theme,
        here=here,
        nonce=nonce,
        origin=settings.url if settings else "",
        prefix=settings.prefix if settings else "",
        path=request.url.path,
        address=f"{request.url.path}?{request.url.query}".removesuffix("?"),
        shared=shared or request.url.path,
        arrives=is_new and not inside and request.url.path != "/",
        person=_person(request) if signed_in else "",
        has_classes=not isinstance(site, Site) or site.members.exist,
    )


def _person(request: Request) -> str:
    """How the menu calls the person who is signed in; a page about an outage does without."""
    site = request.app.state.site
    try:
        found = known(request, site) if isinstance(site, Site) else None
    except UnavailableError:
        return ""
    name = (found.name or translate("You")) if found else ""
    return name if len(name) <= _MENU_NAME else f"{name[: _MENU_NAME - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def wants_fragment(request: Request) -> bool:
    """Whether a script asks for the part of a page that changes."""
    return request.headers.get("x-fragment") == "1"


def markup(name: str, page: object, **parts: object) -> Markup:
    """The template *name*, which shows nothing of the frame, rendered with *page* and other *parts*."""
    return Markup(templates().get_template(name).render(page=page, **parts))


def render_part(name: str, page: object, status: int = 200) -> HTMLResponse:
    """The template *name*, which shows nothing of the frame: what a script asks for."""
    return HTMLResponse(markup(name, page), status, _HEADERS[language()])


def render(name: str, frame: Frame, page: object, status: int = 200, **parts: object) -> HTMLResponse:
    """The template *name*, rendered with *page* and other *parts*; its addresses are under the prefix of the site."""
    text = prefix_addresses(frame.prefix, templates().get_template(name).render(frame=frame, page=page, **parts))
    return HTMLResponse(text, status, _HEADERS[language()])
