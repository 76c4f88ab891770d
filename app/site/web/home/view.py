"""The home page as plain values: the way on, and the chapters."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from app.course.content.catalog import Catalog
from app.server.db.history import streak
from app.site.markdown import html
from app.site.web.explore.figures import EmbeddedView, taste
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.next_steps import NextSteps, next_steps
from app.site.web.standing.route_choice import RouteProgress, chapter_on_route, route_progress
from app.site.web.standing.sections import SectionCards, section_cards
from app.site.web.standing.view import LearnerHistory
from app.site.web.urls import chapter_url

_SAMPLE = "/measured/a100-16-p4de"
_SAMPLE_TRACE = "/measured/traces/a100-8-rank3-five-steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """The way on and the chapters; for a new visitor, the first chapter and a figure to try."""

    onward: NextSteps
    route: RouteProgress | None
    first: Hyperlink | None
    reading: int
    sections: tuple[SectionCards, ...]
    taste: EmbeddedView | None
    streak: int
    sample: str  # the page of measurements of others, as one's own would be shown,
    sample_trace: str  # and that of a trace
    heading: str  # of a course pack, with its opening; empty: Wallclock's own
    opening: Markup


def home_page(course: Catalog, past: LearnerHistory, worked: Collection[date], today: date) -> HomePage:
    """The home page of a learner with that *past*, who *worked* on those days."""
    heading, opening = course.front or ("", "")
    topics = course.topics
    return HomePage(
        onward=next_steps(course, past, chapter_on_route(course, past), today),
        route=route_progress(course, past),
        first=Hyperlink(chapter_url(topics[0].id), topics[0].title) if topics else None,
        reading=topics[0].reading if topics else 0,
        sections=tuple(section_cards(course, past)),
        taste=None if past.answers else taste(),
        streak=streak(worked, today),
        sample=_SAMPLE,
        sample_trace=_SAMPLE_TRACE,
        heading=heading,
        opening=html(opening),
    )
