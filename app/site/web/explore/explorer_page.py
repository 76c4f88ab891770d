"""/explore: the explorers. The URL holds the state; the output is computed here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastapi import Request, Response

from app.core.charts.axes import PAPERS, Paper
from app.core.errors import InputError
from app.core.searching import SearchResult
from app.core.translation import language, translate
from app.course.explorers import EXPLORERS, Explorer, Values
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.layout_searches import LayoutSearches, search_layouts
from app.site.web.explore.layouts import FIT, found_layouts, held_controls, layout_figures, layout_search_form, space_of
from app.site.web.explore.merged_pages import redirect_moved
from app.site.web.explore.state import control_values, explore_values, explorer_called, url_state
from app.site.web.explore.view import ExploreList, explorer_cards, explorer_page
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import spend
from app.site.web.urls import BETTER

TOLD = "told"  # in the address of "Just show me"
_COOKIE = "shown"
_AGE = 400 * 24 * 3600  # seconds
_BETWEEN = "."


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


router = Router(prefix="/explore")


@router.get("")
def explore_list(request: Request, site: Here) -> Response:
    """Every explorer, in the order of the chapters."""
    says = translate("Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints.")
    around = frame(request, translate("Explore"), says, "explore")
    return render(
        "explore/explorers.html",
        around,
        ExploreList(explorer_cards(language(), tuple(topic.id for topic in site.catalog.topics))),
    )


@router.get("/{name}")
def explore(request: Request, site: Here, name: str) -> Response:
    """One explorer, in the state given by the URL."""
    explorer = explorer_called(name)
    if explorer.part_of:
        return redirect_moved(explorer, request.query_params)
    found = explorer_page(site.catalog, explorer, query_as_wanted(request, explorer), _papers(request))
    page = found.page
    fragment = request.headers.get("x-fragment") == "1"
    around = frame(
        request,
        page.full_title,
        found.says or translate(explorer.summary),
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


_better_router = Router(prefix=BETTER)
_COST = 60  # of an answer: a search may take a second


@_better_router.get("")
async def better_layouts(request: Request, site: Here) -> Response:
    """The run in the state of the address, with the layouts that were found for it."""
    values, held = await _asked(request)
    found = await _found(request, site, values, held)
    state = {**request.query_params, "show": "1", "guess": ""}
    state.pop("predict", None)
    shown = await aside(explorer_page, site.catalog, FIT, state, BOTH)
    page = replace(shown.page, found=found_layouts(found, values, held), search=layout_search_form(FIT, values, held))
    says = translate("Every layout of a model on a cluster, searched: the fastest that fit, and why.")
    around = frame(request, translate("A better layout"), says, "explore")
    return render("explore/explorer.html", around, page)


@_better_router.get("/{number}.{form}")
async def download_layout_figure(request: Request, site: Here, number: int, form: str) -> Response:
    """The figure as a standalone SVG file, or its values as CSV."""
    values, held = await _asked(request)
    found = await _found(request, site, values, held)
    if isinstance(found, str):
        raise InputError(found)
    return figure_file(layout_figures(found), number, form, "layouts")


async def _asked(request: Request) -> tuple[Values, tuple[str, ...]]:
    """The run, and the controls that are left as they are."""
    values, _ = await aside(control_values, FIT, request.query_params)
    return values, held_controls(request.query_params.getlist("hold"))


async def _found(request: Request, site: Site, values: Values, held: Sequence[str]) -> SearchResult | str:
    searches: LayoutSearches = request.app.state.layout_searches
    return await searches.result(
        (*url_state(FIT, values).values(), *held),
        lambda: search_layouts(lambda: space_of(values, held)),
        lambda: spend(site.allowances.answers, "searches", _COST),
    )


router.routes += _better_router.routes
