"""/map: which chapter builds on which, the routes through them, and the chapters one knows."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db.assessments import MOST_CHAPTERS
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.course.map_view import map_page, topics_on
from app.site.web.frame.renderer import Frame, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import ROUTES, chosen_route, keep_route
from app.site.web.standing.records import open_records

router = Router(prefix="/map")
_SAYS = noted("Which chapter builds on which, and routes for those who train, serve, or run the cluster.")
_MARK = 200  # bytes of a chapter that is marked


@router.get("")
def course_map(request: Request, site: Here, visiting: Visiting, route: str = "", saved: str = "") -> Response:
    """The map of all chapters, or of those on a route."""
    topics = topics_on(site.catalog, route)
    past = read_learner_history(site, visiting.learner, chosen_route(request))
    page = map_page(site.catalog, topics, route, past, is_saved=saved == "1")
    return render("course/map.html", _frame(request), page)


def _frame(request: Request) -> Frame:
    return frame(request, translate("The map"), translate(_SAYS), "exercises")


@router.get("/start")
async def start_route(request: Request, route: str = "") -> Response:
    """Start *route*, which then leads *Continue*; without one, leave the one that was started."""
    response = RedirectResponse("/" if route in ROUTES else "/map", 303)
    keep_route(request, response, route if route in ROUTES else "")
    return response


@router.post("/known", dependencies=[FromHere])
async def know(request: Request, site: Here, visiting: Visiting) -> Response:
    """Store which chapters the learner knows: those that were ticked, and no others."""
    spend(site.allowances.answers, "answers", 1.0)
    form = await request.form(max_files=0, max_fields=MOST_CHAPTERS)
    ticked = {str(value) for name, value in form.multi_items() if name == "chapter"}
    chosen = [one.id for one in site.catalog.topics if one.id in ticked]
    response = RedirectResponse("/map?saved=1#known", 303)
    if not chosen and not visiting.learner:
        return response  # nothing was ticked, and nothing is stored
    spend_storage(site, len(chosen) * _MARK)
    learner = visitor_learner(visiting)
    await aside(_mark, site, learner, chosen)
    remember(request, response, learner, site.secret)
    return response


def _mark(site: Site, learner: str, chapters: list[str]) -> None:
    with open_records(site, learner) as records:
        records.mark_known(chapters)
