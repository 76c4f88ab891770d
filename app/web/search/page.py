"""/search: one search over exercises, formulas, errata, terms and everything else."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response

from app.aside import aside
from app.network.routes import Router
from app.quoting import visible
from app.site import Here, site_in
from app.translation import translate, translate_known
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.search.entries import index_of
from app.web.search.index import KINDS, SINGULAR, Entry, Index, Kind

router = Router()
_LONGEST = 100  # characters of a query
_LISTED = 40  # hits on the page
_SUGGESTED = 8  # hits while one types
_TRY = ("ring all-reduce", "bubble fraction", "ZeRO stage 3", "checkpoint interval", "375 %")


@dataclass(frozen=True, slots=True)
class KindFilter:
    """A kind by which the hits can be narrowed; *is_on*: they are."""

    link: Hyperlink
    count: int
    is_on: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found, and what kind of thing it is, in words."""

    title: str
    href: str
    says: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The hits of a query; *count* is the number of all of them."""

    query: str
    hits: tuple[Hit, ...]
    count: int
    filters: tuple[KindFilter, ...]
    instead: str
    partly: bool
    all_hits: str
    examples: tuple[Hyperlink, ...]


@asynccontextmanager
async def indexing(app: FastAPI) -> AsyncIterator[None]:
    """While the app runs, its index is built in the background, once."""
    app.state.index = asyncio.create_task(aside(index_of, app.state.site.catalog))
    yield
    await app.state.index


@router.get("/search")
async def search(request: Request, site: Here, q: str = "", kind: str = "") -> Response:
    """What is found for a query; only its list for a script."""
    query = visible(" ".join(q.split())[:_LONGEST])
    fragment = request.headers.get("x-fragment") == "1"
    page = _page(await _index(request), query, kind, _SUGGESTED if fragment else _LISTED)
    title = translate("{query}: search", query=query) if query else translate("Search")
    around = frame(request, title, translate("A search over the whole site."), "search")
    return render("search/hits.html" if fragment else "search/search.html", around, page)


async def _index(request: Request) -> Index:
    building: asyncio.Task[Index] | None = getattr(request.app.state, "index", None)
    # Shielded: a visitor who goes away must not stop it for all.
    return await (
        asyncio.shield(building) if building else aside(index_of, site_in(request).catalog)
    )


def _page(index: Index, query: str, kind: str, most: int) -> SearchPage:
    found = index.find(query)
    counts = Counter(entry.kind for entry in found.entries)
    chosen = [entry for entry in found.entries if not kind or entry.kind == kind]
    filters = [_filter(query, "", translate("All"), len(found.entries), kind)]
    filters += [
        _filter(query, one, translate(KINDS[one]), counts[one], kind)
        for one in KINDS
        if counts[one]
    ]
    return SearchPage(
        query=query,
        hits=tuple(map(_hit, chosen[:most])),
        count=len(chosen),
        filters=tuple(filters) if found.entries else (),
        instead=found.instead,
        partly=found.partly,
        all_hits=_address(query),
        examples=tuple(Hyperlink(_address(text), text) for text in _TRY),
    )


def _hit(entry: Entry) -> Hit:
    """*entry* in the current language, where it is a page of the site and not content."""
    one = SINGULAR[entry.kind]
    if entry.kind != "Page":
        return Hit(entry.title, entry.href, entry.says, translate(one))
    return Hit(
        translate_known(entry.title), entry.href, translate_known(entry.says), translate(one)
    )


def _filter(query: str, kind: Kind | str, title: str, count: int, chosen: str) -> KindFilter:
    return KindFilter(Hyperlink(_address(query, kind), title), count, kind == chosen)


def _address(query: str, kind: str = "") -> str:
    return f"/search?{urlencode({'q': query} | ({'kind': kind} if kind else {}))}"
