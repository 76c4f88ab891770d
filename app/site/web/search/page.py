"""/search: one search over exercises, formulas, errata, terms and everything else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response

from app.core.quotation import visible
from app.core.translation import SOURCE, language, translate
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, site_in
from app.site.web.frame.renderer import frame, render
from app.site.web.search.entries import index_of
from app.site.web.search.index import Index
from app.site.web.search.view import search_page

router = Router()
_LONGEST = 100  # characters of a query
_LISTED = 40  # hits on the page
_SUGGESTED = 8  # hits while one types


@asynccontextmanager
async def indexing(app: FastAPI) -> AsyncIterator[None]:
    """While the app runs, the index of English is built in the background, once.

    The one of another language is built at the first search in it.
    """
    app.state.indexes = {SOURCE: asyncio.create_task(aside(index_of, app.state.site.course))}
    yield
    await asyncio.gather(*app.state.indexes.values())


@router.get("/search")
async def show_search(request: Request, site: Here, q: str = "", kind: str = "") -> Response:
    """What is found for a query; only its list for a script."""
    query = visible(" ".join(q.split())[:_LONGEST])
    fragment = request.headers.get("x-fragment") == "1"
    page = search_page(await _index(request), query, kind, _SUGGESTED if fragment else _LISTED)
    title = translate("{query}: search", query=query) if query else translate("Search")
    around = frame(request, title, translate("A search over the whole site."), "search")
    return render("search/hits.html" if fragment else "search/search.html", around, page)


async def _index(request: Request) -> Index:
    """The index in the language of the request."""
    course = site_in(request).course
    building: dict[str, asyncio.Task[Index]] | None = getattr(request.app.state, "indexes", None)
    if building is None:
        return await aside(index_of, course)
    if language() not in building:
        building[language()] = asyncio.create_task(aside(index_of, course))
    # Shielded: a visitor who goes away must not stop it for all.
    return await asyncio.shield(building[language()])
