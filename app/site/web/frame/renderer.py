"""Render a typed page as HTML."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from markupsafe import Markup

from app.core.errors import UnavailableError
from app.core.templating import template_environment
from app.core.translation import LANGUAGES, language, list_untranslated, of_scripts, tag, translate
from app.server.config import Settings
from app.server.network.prefix import prefix_addresses
from app.site import Site
from app.site.markdown import html, inline_html
from app.site.web.frame.assets import asset_url
from app.site.web.frame.visitor import COOKIE, SESSION, THEME, Theme
from app.site.web.frame.visitor import signed_in as known

_FIELD = re.compile(r"%%|%\(\w+\)s|\{\w*[^{}]*\}")
_WORD = re.compile(r"[A-Za-z]{3}")
_REMEMBERED = 5_000  # sentences
_PLAIN = re.compile(r"[\w ,.;:-]+")
# What becomes of a character of a sentence in HTML: it is escaped, or it was Markdown.
_AS_HTML = {
    "'": "(?:'|&#39;)", '"': '(?:"|&#34;|&quot;)', "&": "&(?:amp;)?", "<": "(?:<|&lt;)",
    ">": "(?:>|&gt;)", "`": "(?:`|</?code[^<>]*>)", "*": r"(?:\*|</?(?:em|strong)>)?", " ": r"\s+",
}  # fmt: skip
_VALUE = r'(?:[^<>"]|</?(?:a|abbr|b|code|em|span|strong)\b[^<>]*>){0,400}?'
_VALUE_AT_AN_END = r'[^\s<>"]*'
# Stands for a sentence that was found and is held aside; a page that has one is left alone.
_SIGN = "\ue000"
_HELD = re.compile(rf"{_SIGN}(\d+){_SIGN}")
_READ = re.compile(rf'\s(?:alt|aria-label|data-says|placeholder|title)="[^"]*{_SIGN}')
_PARTS = re.compile(
    rf"(?P<hidden><(?P<block>script|style|textarea)\b.*?</(?P=block)>|<!--.*?-->)|{_HELD.pattern}"
    "|<[^>]*>",
    re.DOTALL,
)
_START = re.compile(r"<([a-z][\w-]*)")
_BARE = {"desc", "option", "title"}  # elements that hold text alone
_OF_DRAWINGS = {"text", "tspan"}


def english_marked(html: str, missing: Iterable[str]) -> str:
    """*html*, in which the *missing* sentences, which are not translated, say `lang="en"`."""
    here = [one for one in missing if _anchor(one) and _anchor(one) in html]
    if not here or _SIGN in html:
        return html
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"{_SIGN}{len(held) - 1}{_SIGN}"

    for one in sorted(here, key=lambda said: (-len(_FIELD.sub("", said)), said)):
        html = _pattern(one).sub(hold, html)
    return _resolved(html, held)


def _resolved(html: str, held: Sequence[str]) -> str:
    """*html* with what is *held* aside in its places again, marked where it is read."""
    out: list[str] = []
    end, start, element = 0, 0, ""  # of the latest element: its place in *out*, and its name
    for found in _PARTS.finditer(html):
        out.append(html[end : found.start()])
        end = found.end()
        text = _whole(found[0], held)
        if found[0].startswith(_SIGN):
            if element in _BARE:
                out[start] = _in_english(out[start])
            else:
                text = _wrapped(text, "tspan" if element in _OF_DRAWINGS else "span")
        elif name := not found["hidden"] and _START.match(text):
            start, element = len(out), name[1]
            text = _in_english(text) if _READ.search(found[0]) else text
        out.append(text)
    return "".join((*out, html[end:]))


def _whole(text: str, held: Sequence[str]) -> str:
    """*text* with the sentences that it stands for, and those in them."""
    while _SIGN in text:
        text = _HELD.sub(lambda found: held[int(found[1])], text)
    return text


def _wrapped(text: str, element: str) -> str:
    return f'<{element} lang="en">{text}</{element}>'


def _in_english(tag: str) -> str:
    """The start *tag* of an element whose texts are English."""
    return tag if " lang=" in tag else _START.sub(r'\g<0> lang="en"', tag, count=1)


@lru_cache(_REMEMBERED)
def _pattern(sentence: str) -> re.Pattern[str]:
    """What matches *sentence* in HTML, whatever its values are."""
    literal = [_literal(run) for run in _FIELD.sub("\0", sentence).strip().split("\0")]
    body = _VALUE.join([_either_case(literal[0]), *literal[1:]])
    if not literal[0]:
        body = _VALUE_AT_AN_END + body.removeprefix(_VALUE)
    if not literal[-1]:
        body = body.removesuffix(_VALUE) + _VALUE_AT_AN_END
    return re.compile(rf"(?<![A-Za-z\d]){body}(?![A-Za-z\d]|[\w-]*=\")")


def _literal(text: str) -> str:
    return "".join(_AS_HTML.get(char, re.escape(char)) for char in text)


def _either_case(literal: str) -> str:
    """*literal*, whose first letter may be a capital where it begins a sentence."""
    first = literal[:1]
    return f"[{first.lower()}{first.upper()}]{literal[1:]}" if first.isalpha() else literal


@lru_cache(_REMEMBERED)
def _anchor(sentence: str) -> str:
    """Words that are in a page which says *sentence*; none if it has hardly any."""
    if not _WORD.search(_FIELD.sub("", sentence)):
        return ""
    runs = _PLAIN.finditer(_FIELD.sub("\0", sentence))
    return max((run[0][1:] for run in runs), key=len)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResource:
    """Something to learn from, with the paths and names of what it is part of and made of.

    Source:
        schema.org, LearningResource; *sort* is its learningResourceType.
    """

    sort: str
    name: str
    says: str
    path: str
    part_of: tuple[str, str] = ("/", "Wallclock")
    parts: tuple[tuple[str, str], ...] = ()


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


@dataclass(frozen=True, slots=True)
class Language:
    """A language to choose: its *code*, its *tag* in HTML, and its *name* for itself."""

    code: str
    tag: str
    name: str


_LANGUAGES = tuple(Language(code, tag(code), name) for code, name in LANGUAGES.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The frame around every page; *here* is the part of the site that the menu highlights.

    *sentences* are those of the scripts, as JSON; empty in English. *arrives*: the visitor is new
    and comes from elsewhere, as by a shared link. *person*: how the menu calls the one who is
    signed in; empty if nobody is. *origin*: the public URL of the site, with its path *prefix*.
    *address*: the *path* of the page and its query. *shared*: the address of what is shown, with its state.
    *has_classes*: whether one can sign in.
    """

    title: str
    description: str
    language: str
    languages: tuple[Language, ...]
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
    resource: LearningResource | None


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
    request: Request,
    title: str,
    description: str = "",
    here: str = "",
    shared: str = "",
    *,
    resource: LearningResource | None = None,
    signed_in: bool = True,
) -> Frame:
    """The frame of the page that answers *request*; with *signed_in* off, one for a stranger."""
    chosen = request.cookies.get(THEME)
    theme: Theme = "dark" if chosen == "dark" else "light" if chosen == "light" else ""
    nonce = str(request.scope.get("state", {}).get("nonce", ""))
    settings, site = _settings(request), request.app.state.site
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
        arrives=_arrives(request),
        person=_person(request) if signed_in else "",
        has_classes=not isinstance(site, Site) or site.members.exist,
        resource=resource,
    )


def _settings(request: Request) -> Settings | None:
    """The settings: addresses follow from them, never from the Host header of the request."""
    site = request.app.state.site
    return site.settings if isinstance(site, Site) else None


def _person(request: Request) -> str:
    """How the menu calls the person who is signed in; a page about an outage does without."""
    site = request.app.state.site
    try:
        found = known(request, site) if isinstance(site, Site) else None
    except UnavailableError:
        return ""
    name = (found.name or translate("You")) if found else ""
    return name if len(name) <= _MENU_NAME else f"{name[: _MENU_NAME - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _arrives(request: Request) -> bool:
    """Whether a visitor without a cookie comes from elsewhere to a page that is not the first."""
    inside = request.headers.get("sec-fetch-site") == "same-origin"
    new = COOKIE not in request.cookies and SESSION not in request.cookies
    return new and not inside and request.url.path != "/"


def markup(name: str, page: object) -> Markup:
    """The template *name*, which shows nothing of the frame, rendered with *page*."""
    return Markup(_rendered(name, page=page))


def render_part(name: str, page: object, status: int = 200) -> HTMLResponse:
    """The template *name*, which shows nothing of the frame: what a script asks for."""
    return HTMLResponse(markup(name, page), status, _HEADERS[language()])


def render(name: str, frame: Frame, page: object, status: int = 200, **parts: object) -> HTMLResponse:
    """The template *name*, rendered with *page* and other *parts*; its addresses are under the prefix of the site."""
    text = prefix_addresses(frame.prefix, _rendered(name, frame=frame, page=page, **parts))
    return HTMLResponse(text, status, _HEADERS[language()])


def _rendered(name: str, **given: object) -> str:
    """The template *name*, in which sentences without a translation are marked as English."""
    text = templates().get_template(name).render(given)
    return english_marked(text, missing) if (missing := list_untranslated()) else text
