"""/explore: the explorers. The URL holds the state; the output is computed here."""

from collections.abc import Mapping, Sequence

from fastapi import Request, Response

from app.core.charts.style import PAPERS, Paper
from app.core.errors import InputError
from app.core.translation import language, translate
from app.course.explorers import EXPLORERS, Explorer
from app.server.network.routes import Router
from app.site import Here
from app.site.web.explore.figures import BOTH, figure_file
from app.site.web.explore.merged_pages import moved
from app.site.web.explore.state import control_values, explored, explorer_called
from app.site.web.explore.view import ExploreList, explorer_cards, explorer_page
from app.site.web.frame.renderer import frame, render

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
