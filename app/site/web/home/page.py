"""The home page: what the site is, the way on, and the chapters."""

from dataclasses import dataclass
from datetime import date

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from app.core.translation import language, noted, translate
from app.course.content.catalog import Catalog
from app.server.network.routes import Router
from app.site import Here
from app.site.markdown import html
from app.site.web.explore.figures import FigureView, opening_figure
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.standing import next_steps
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.view import LearnerHistory
from app.site.web.urls import chapter_url

_SAMPLE = "/measured/a100-16-p4de"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """The way on and the chapters; for a new visitor, the first chapter and a figure to try."""

    onward: next_steps.NextSteps
    route: next_steps.RouteProgress | None
    routes: tuple[Hyperlink, ...]
    first: Hyperlink | None
    reading: int
    sections: tuple[next_steps.SectionCards, ...]
    figure: FigureView | None
    sample: str  # the page of measurements of others, as one's own would be shown
    heading: str  # of a course pack, with its opening; empty: Wallclock's own
    opening: Markup


def home_page(course: Catalog, past: LearnerHistory, today: date) -> HomePage:
    """The home page of a learner with that *past*."""
    heading, opening = course.front or ("", "")
    topics = course.topics
    return HomePage(
        onward=next_steps.next_steps(course, past, next_steps.chapter_on_route(course, past), today),
        route=next_steps.route_progress(course, past),
        routes=next_steps.route_links(course, "/route"),
        first=Hyperlink(chapter_url(topics[0].id), topics[0].title) if topics else None,
        reading=topics[0].reading if topics else 0,
        sections=tuple(next_steps.section_cards(course, past)),
        figure=None if past.answers else opening_figure(language()),
        sample=_SAMPLE,
        heading=heading,
        opening=html(opening),
    )


router = Router()
_SAYS = noted("Exercises in the arithmetic of distributed training: predict the training step, then time it.")


@router.get("/")
async def home(request: Request, site: Here, visiting: Visiting) -> Response:
    """All chapters."""
    past = read_learner_history(site, visiting.learner, next_steps.chosen_route(request))
    page = home_page(site.catalog, past, site.clock().date())
    return render("home.html", frame(request, "Wallclock", translate(_SAYS), "exercises"), page)


@router.get("/route")
async def start_route(request: Request, route: str = "") -> Response:
    """Start *route*, which then leads *Continue*; without one, leave the one that was started."""
    response = RedirectResponse("/", 303)
    next_steps.keep_route(request, response, route if route in next_steps.ROUTES else "")
    return response
