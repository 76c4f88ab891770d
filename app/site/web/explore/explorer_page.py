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
from app.course.kinds.base import ValueCache
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore import layouts
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.state import control_values, explore_values, explorer_called, page_url
from app.site.web.explore.view import ExplorePage, explorer_cards, explorer_page
from app.site.web.frame.renderer import frame, render, wants_fragment
from app.site.web.frame.visitor import spend

_TOLD = "told"  # in the address of "Just show me"
_COOKIE, _AGE = "shown", 400 * 24 * 3600  # seconds; the names of explorers, with points between them
_COST = 20  # of an answer: most searches take a tenth of a second
_MOVED = 308
_OPENED = 64  # pages as they are opened that are cached: most visitors look at these


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


def _layout_searches(request: Request) -> layouts.LayoutSearches:
    """What runs the searches of this server."""
    state = request.app.state
    if not hasattr(state, "layout_searches"):
        state.layout_searches = layouts.layout_searches()
    searches: layouts.LayoutSearches = state.layout_searches
    return searches


async def render_run(request: Request, site: Site, given: Mapping[str, str], doubts: tuple[str, ...] = ()) -> Response:
    """Whether a run fits: what *given* leaves open is searched, or follows from the model.

    *doubts* are of a file that was read, in sentences.
    """
    plan = await aside(layouts.open_plan, given)
    searches = _layout_searches(request)
    key = (*plan.state.values(), *sorted(plan.told))
    try:
        found = await searches.result(
            key,
            lambda: layouts.search_layouts(lambda: layouts.space_of(plan)),
            lambda: spend(site.allowances.answers, "searches", _COST),
        )
    except HTTPException as busy:  # the page comes without a search
        found = busy.detail
    plan = await aside(layouts.choose_layout, plan, found)
    query = layouts.plan_query(plan, given)
    shown = await aside(
        explorer_page, site.catalog, layouts.FIT, query, _papers(request), tuple(layouts.layout_tables(plan))
    )
    page = replace(shown, plan=plan, corrections=(*doubts, *plan.notes, *shown.corrections))
    is_fragment = wants_fragment(request)
    around = frame(request, page.title, translate(layouts.FIT.summary), "explore", page.address)
    return render("explore/run_and_more.html" if is_fragment else "explore/fit.html", around, page)


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
    course, papers = site.catalog, _papers(request)
    names = set(request.cookies.get(_COOKIE, "").split(".")) & EXPLORERS.keys()
    query = {"show": "1", **request.query_params} if name in names else dict(request.query_params)

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
    shown = names - {name} if "predict" in query else names | {name} if _TOLD in query else names
    if shown != names:
        response.set_cookie(_COOKIE, ".".join(sorted(shown)), max_age=_AGE, samesite="lax")
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
