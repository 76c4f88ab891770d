"""/explore: the explorers. The URL holds the state; the output is computed here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from app.core.charts.axes import PAPERS, Paper
from app.core.errors import InputError
from app.core.translation import language, translate
from app.course.explorers import EXPLORERS
from app.course.explorers.base import Explorer
from app.course.kinds.base import ValueCache
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.layouts import (
    FIT,
    LayoutSearches,
    choose_layout,
    drop_layout,
    layout_searches,
    layout_tables,
    open_plan,
    plan_query,
    search_layouts,
    space_of,
)
from app.site.web.explore.state import control_values, explore_values, explorer_called, page_url
from app.site.web.explore.view import ExplorePage, explorer_cards, explorer_page
from app.site.web.frame.renderer import frame, render, wants_fragment
from app.site.web.frame.visitor import spend
from app.site.web.urls import explorer_url

TOLD = "told"  # in the address of "Just show me"
_COOKIE = "shown"
_COST = 20  # of an answer: most searches take a tenth of a second
_AGE = 400 * 24 * 3600  # seconds
_BETWEEN = "."
_MOVED = 308
_OPENED = 64  # pages as they are opened that are cached: most visitors look at these


def query_as_wanted(request: Request, explorer: Explorer) -> Mapping[str, str]:
    """The query of *request*, which shows *explorer* if the visitor has once asked to."""
    given = dict(request.query_params)
    return {"show": "1", **given} if explorer.name in _names(request) else given


def remember_shown(request: Request, response: Response, explorer: Explorer) -> None:
    """Keep that *explorer* is shown from now on, or that a prediction is asked for again."""
    names = _names(request)
    asked = names | {explorer.name} if TOLD in request.query_params else names
    if "predict" in request.query_params:
        asked = asked - {explorer.name}
    if asked != names:
        response.set_cookie(_COOKIE, _BETWEEN.join(sorted(asked)), max_age=_AGE, samesite="lax")


def _names(request: Request) -> frozenset[str]:
    named = request.cookies.get(_COOKIE, "").split(_BETWEEN)
    return frozenset(name for name in named if name in EXPLORERS)


_layouts_router = Router(prefix="/layouts")
router = Router(prefix="/explore")


@router.get("")
def explore_list(request: Request, site: Here) -> Response:
    """Every explorer, in the order of the chapters."""
    says = translate("Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints.")
    around = frame(request, translate("Explore"), says, "explore")
    cards = explorer_cards(language(), tuple(one for topic in site.catalog.topics for one in topic.folders))
    return render("explore/explorers.html", around, cards)


@router.get("/fit")
async def show_run(request: Request, site: Here) -> Response:
    """Whether the run of an address fits."""
    return await render_run(request, site, request.query_params)


def _layout_searches(request: Request) -> LayoutSearches:
    """What runs the searches of this server."""
    state = request.app.state
    if not hasattr(state, "layout_searches"):
        state.layout_searches = layout_searches()
    searches: LayoutSearches = state.layout_searches
    return searches


async def render_run(request: Request, site: Site, given: Mapping[str, str], doubts: tuple[str, ...] = ()) -> Response:
    """Whether a run fits: what *given* leaves open is searched, or follows from the model.

    *doubts* are of a file that was read, in sentences.
    """
    plan = await aside(open_plan, given)
    searches = _layout_searches(request)
    key = (*plan.state.values(), *sorted(plan.told))
    try:
        found = await searches.result(
            key,
            lambda: search_layouts(lambda: space_of(plan)),
            lambda: spend(site.allowances.answers, "searches", _COST),
        )
    except HTTPException as busy:  # the page comes without a search
        found = busy.detail
    plan = await aside(choose_layout, plan, found)
    query = plan_query(plan, given)
    shown = await aside(explorer_page, site.catalog, FIT, query, _papers(request), tuple(layout_tables(plan)))
    page = replace(shown, plan=plan, corrections=(*doubts, *plan.notes, *shown.corrections))
    is_fragment = wants_fragment(request)
    around = frame(request, page.title, translate(FIT.summary), "explore", page.address)
    return render("explore/run_and_more.html" if is_fragment else "explore/fit.html", around, page)


@_layouts_router.get("")
@_layouts_router.get("/{number}.{form}")
async def show_moved_search(request: Request) -> RedirectResponse:
    """The search for a better layout; degrees that were chosen are held."""
    given = {name: text for name, text in request.query_params.items() if text}
    return RedirectResponse(explorer_url(FIT.name, given), _MOVED)


@router.get("/fit/better")
@router.get("/fit/better/{number}.{form}")
async def show_moved_better(request: Request) -> RedirectResponse:
    """The page of the run: it shows the best layout itself, with what was held."""
    given = {name: text for name, text in request.query_params.items() if name not in ("hold", "was", "show")}
    return RedirectResponse(explorer_url(FIT.name, drop_layout(given, request.query_params.getlist("hold"))), _MOVED)


class _OpenedPages(ValueCache[tuple[object, ...], ExplorePage]):
    """Explorers as they are opened."""

    most = _OPENED


_opened_pages = _OpenedPages()


@router.get("/{name}")
def explore(request: Request, site: Here, name: str) -> Response:
    """One explorer, in the state given by the URL."""
    explorer = explorer_called(name)
    if explorer.part_of:
        return RedirectResponse(page_url(explorer, request.query_params), _MOVED)
    query = query_as_wanted(request, explorer)
    course, papers = site.catalog, _papers(request)

    def explored() -> ExplorePage:
        return explorer_page(course, explorer, query, papers)

    key = (course.digest, language(), explorer.name, *query.items(), *papers)
    page = _opened_pages.of(key, explored) if course.digest and set(query) <= {"show"} else explored()
    fragment = wants_fragment(request)
    around = frame(
        request,
        page.full_title,
        page.description or translate(explorer.summary),
        "explore",
        f"{page.address}&predict=1" if page.hidden else page.address,
    )
    response = render("explore/asked_and_explored.html" if fragment else "explore/explorer.html", around, page)
    remember_shown(request, response, explorer)
    return response


@router.get("/{name}/{number}.{form}")
def download_explorer_figure(request: Request, name: str, number: int, form: str) -> Response:
    """One figure as a standalone SVG file, or its values as CSV."""
    explorer = explorer_called(name)
    values, _ = control_values(explorer, request.query_params)
    shown, problem = explore_values(explorer, values)
    if problem:
        raise InputError(problem)
    return figure_file(shown.figures, number, form, explorer.name)


def _papers(request: Request) -> Sequence[Paper]:
    """What a script asks for: the paper that it shows. A page without scripts has them all."""
    asked = PAPERS.get(request.headers.get("x-paper", ""))
    return (asked,) if asked else BOTH


router.routes += _layouts_router.routes
