"""/explore/fit/better: an explored run, and the layouts that a search found for it."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import Request, Response

from app.core.errors import InputError
from app.core.searching import SearchResult
from app.core.translation import translate
from app.course.explorers import Values
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.layout_searches import LayoutSearches, search_layouts
from app.site.web.explore.layouts import FIT, found_layouts, held_controls, layout_figures, layout_search_form, space_of
from app.site.web.explore.state import control_values, url_state
from app.site.web.explore.view import explorer_page
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import spend
from app.site.web.urls import BETTER

router = Router(prefix=BETTER)
_COST = 60  # of an answer: a search may take a second


@router.get("")
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


@router.get("/{number}.{form}")
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
