"""Broken links, and images that do not exist."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from app.core.errors import NotFoundError, nearest
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.course.content.errata import errata, terms
from app.course.content.images import is_image, read_image
from app.course.content.translations import is_translation
from app.course.explorers import EXPLORERS, open_explorer
from app.labs.spec import lab_called
from app.site.markdown import addresses

_OPENAPI = "api/v1/openapi.json"
_ELSEWHERE = ("http", "https", "mailto")
_FIGURE = "put the image beside this file as .png, .jpg, .gif, .webp or .svg, and name it: ![...](a.png)"
_UNSAID = re.compile(r"!\[\s*\]\(")
_KNOWN = "link to an existing page, or to https://..."


@dataclass(frozen=True)
class Places:
    """The chapters and exercises in *folders*, as targets of links."""

    folders: Sequence[Path]

    @cached_property
    def exercises(self) -> frozenset[str]:
        """The ids of the exercises."""
        files = [file for folder in self.folders for file in folder.glob("*/*.yaml")]
        files = [file for file in files if not is_translation(file)]
        return frozenset(f"{file.parent.name}/{file.stem}" for file in files)

    @cached_property
    def chapters(self) -> frozenset[str]:
        """The names of the chapters."""
        return frozenset(name.partition("/")[0] for name in self.exercises)


def trouble_of_addresses(text: str, places: Places) -> Iterator[tuple[str, str]]:
    """The problem of each broken image and link in the Markdown *text*, and its cure."""
    if _UNSAID.search(text):
        cure = "say what it shows between the brackets, for those who cannot see it"
        yield "an image has no description", cure
    for kind, address in addresses(text):
        if kind == "image":
            if says := _trouble_of_image(address, places):
                yield says, _FIGURE
        elif says := _trouble_of_link(address, places):
            yield says, _KNOWN


def _trouble_of_image(address: str, places: Places) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return f"the image {address} is on another site, which the security policy blocks"
    if parts.path.startswith("/static/") and (ROOT / parts.path[1:]).is_file():
        return ""
    if not parts.path.startswith("/images/"):
        return f"the image {address} does not exist"
    for folder in places.folders:
        path = folder / parts.path.removeprefix("/images/")
        if path.is_file() and is_image(path.name):
            return _trouble_in(path)
    return f"the image {address} does not exist"


def _trouble_in(path: Path) -> str:
    """Why the image at *path* is not served; empty where it is."""
    try:
        read_image(path)
    except ValueError as error:
        return f"the image {path.name} {error}"
    return ""


def _trouble_of_link(address: str, places: Places) -> str:
    parts = urlsplit(address)
    if parts.scheme in _ELSEWHERE or (not parts.scheme and parts.netloc):
        return ""
    if parts.scheme or not parts.path.startswith("/"):
        return f"the link {address} is broken: a link must begin with https:// or /"
    path = parts.path.strip("/")
    room, _, name = path.partition("/")
    if room in _ROOMS and name:
        return _ROOMS[room](name, dict(parse_qsl(parts.query)), places)
    if path in _ANCHORS and parts.fragment:
        return _unknown(f"entry of /{path}", parts.fragment, _ANCHORS[path]())
    pages = _pages()
    if path in pages or (room == "static" and (ROOT / path).is_file()):
        return ""
    return f"the link {address} is broken{nearest(path, pages - {''})}"


@cache
def _pages() -> frozenset[str]:
    """The pages of the site that have an address of their own."""
    from app.main import installed_parts  # here: few files have a link that needs them
    from app.site.web import fixed_addresses

    further = [page for part in installed_parts() for page in part.pages]
    return frozenset(address.strip("/") for address in fixed_addresses(further)) | {_OPENAPI}


def _unknown(what: str, name: str, known: Mapping[str, object] | frozenset[str]) -> str:
    return "" if name in known else f"no {what} is called {name!r}{nearest(name, known)}"


def _explored(name: str, state: Mapping[str, str], _: Places) -> str:
    try:
        open_explorer(EXPLORERS, name, state)
    except ValueError as error:
        return str(error)
    return ""


def _lab(name: str, _: Mapping[str, str], __: Places) -> str:
    try:
        lab_called(name.partition("/")[0])
    except NotFoundError as error:
        return str(error)
    return ""


_ROOMS: Mapping[str, Callable[[str, Mapping[str, str], Places], str]] = {
    "formulas": lambda name, _, __: _unknown("formula", name, FORMULAS),
    "chapters": lambda name, _, places: _unknown("chapter", name, places.chapters),
    "exercises": lambda name, _, places: _unknown("exercise", name, places.exercises),
    "explore": _explored,
    "labs": _lab,
    "errata": lambda name, _, __: _unknown("erratum", name, _ANCHORS["errata"]()),
}
_ANCHORS: Mapping[str, Callable[[], frozenset[str]]] = {
    "glossary": lambda: frozenset(terms()),
    "errata": lambda: frozenset(one.id for one in errata()),
}
