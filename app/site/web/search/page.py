"""/search: one search over exercises, formulas, errata, terms and everything else."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response

from app.core.quotation import visible
from app.core.translation import language, translate
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, ListFilter, frame, render, wants_fragment
from app.site.web.search.entries import index_of
from app.site.web.search.index import KINDS, Index, Kind, SearchEntry

_TRY = ("ring all-reduce", "bubble fraction", "ZeRO stage 3", "checkpoint interval", "375 %")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The hits of a query; *count* is the number of all of them."""

    query: str
    hits: tuple[SearchEntry, ...]
    count: int
    filters: tuple[ListFilter, ...]
    instead: str
    partly: bool
    all_hits: str
    examples: tuple[Hyperlink, ...]


def search_page(index: Index, query: str, kind: str, most: int) -> SearchPage:
    """At most *most* hits for *query*, of one *kind* if that is given."""
    found = index.find(query)
    counts = Counter(entry.kind for entry in found.entries)
    chosen = [entry for entry in found.entries if not kind or entry.kind == kind]
    filters = [_filter(query, "", translate("All"), len(found.entries), kind)]
    filters += [_filter(query, one, translate(KINDS[one].plural), counts[one], kind) for one in KINDS if counts[one]]
    return SearchPage(
        query=query,
        hits=tuple(chosen[:most]),
        count=len(chosen),
        filters=tuple(filters) if found.entries else (),
        instead=found.instead,
        partly=found.partly,
        all_hits=_address(query),
        examples=tuple(Hyperlink(_address(text), text) for text in _TRY),
    )


def _filter(query: str, kind: Kind | str, title: str, count: int, chosen: str) -> ListFilter:
    return ListFilter(Hyperlink(_address(query, kind), title), count, kind == chosen)


def _address(query: str, kind: str = "") -> str:
    return f"/search?{urlencode({'q': query} | ({'kind': kind} if kind else {}))}"


router = Router()
_LONGEST = 100  # characters of a query
_LISTED = 40  # hits on the page
_SUGGESTED = 8  # hits while one types


@router.get("/search")
async def show_search(request: Request, site: Here, q: str = "", kind: str = "") -> Response:
    """What is found for a query; only its list for a script."""
    query = visible(" ".join(q.split())[:_LONGEST])
    fragment = wants_fragment(request)
    page = search_page(await build_current_index(request.app), query, kind, _SUGGESTED if fragment else _LISTED)
    title = translate("{query}: search", query=query) if query else translate("Search")
    around = frame(request, title, translate("A search over the whole site."), "search")
    return render("search/hits.html" if fragment else "search/search.html", around, page)


async def build_current_index(app: FastAPI) -> Index:
    """The index in the language of the request, built once."""
    site: Site = app.state.site
    building: dict[str, asyncio.Task[Index]] | None = getattr(app.state, "indexes", None)
    if building is None:
        return await aside(index_of, site.course, site.settings)
    if language() not in building:
        building[language()] = asyncio.create_task(aside(index_of, site.course, site.settings))
    # Shielded: a visitor who goes away must not stop it for all.
    return await asyncio.shield(building[language()])
