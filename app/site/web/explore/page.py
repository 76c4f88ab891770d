"""/explore: the explorers. The URL holds the state; the output is computed here."""

from collections.abc import Sequence

from fastapi import Request, Response

from app.core.charts.paper import PAPERS, Paper
from app.core.errors import InputError
from app.core.translation import language, translate
from app.server.network.routes import Router
from app.site import Here
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.merged_pages import moved
from app.site.web.explore.shown_before import query_as_wanted, remember_shown
from app.site.web.explore.state import control_values, explored, explorer_called
from app.site.web.explore.view import ExploreList, explorer_cards, explorer_page
from app.site.web.frame.renderer import frame, render

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
        return moved(explorer, request.query_params)
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
    shown, problem = explored(explorer, values)
    if problem:
        raise InputError(problem)
    return figure_file(shown.figures, number, form, explorer.name)


def _papers(request: Request) -> Sequence[Paper]:
    """What a script asks for: the paper that it shows. A page without scripts has them all."""
    asked = PAPERS.get(request.headers.get("x-paper", ""))
    return (asked,) if asked else BOTH
