"""The home page as plain values: the way on, and the chapters."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from app.content.catalog import Catalog
from app.content.daily import daily_title
from app.db.history import streak
from app.explorers import EXPLORERS
from app.labs.spec import known_labs
from app.markdown import html
from app.web.explore.figures import EmbeddedView, taste
from app.web.frame.renderer import Hyperlink
from app.web.standing.next_steps import NextSteps, next_steps
from app.web.standing.route_choice import RouteProgress, chapter_on_route, route_progress
from app.web.standing.sections import SectionCards, section_cards
from app.web.standing.view import LearnerHistory
from app.web.urls import chapter_url


@dataclass(frozen=True, slots=True)
class CourseSize:
    """How much there is on the site."""

    exercises: int
    explorers: int
    labs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """The way on and the chapters; for a new visitor, the first chapter and a figure to try."""

    onward: NextSteps
    route: RouteProgress | None
    first: Hyperlink | None
    reading: int
    size: CourseSize
    sections: tuple[SectionCards, ...]
    chapters: int
    taste: EmbeddedView | None
    streak: int
    today: str  # the title of the question of the day
    heading: str  # of a course pack, with its opening; empty: Wallclock's own
    opening: Markup


def home_page(
    course: Catalog, past: LearnerHistory, worked: Collection[date], today: date
) -> HomePage:
    """The home page of a learner with that *past*, who *worked* on those days."""
    heading, opening = course.front or ("", "")
    topics = course.topics
    return HomePage(
        onward=next_steps(course, past, chapter_on_route(course, past), today),
        route=route_progress(course, past),
        first=Hyperlink(chapter_url(topics[0].id), topics[0].title) if topics else None,
        reading=topics[0].reading if topics else 0,
        size=CourseSize(len(course.exercises), len(EXPLORERS), len(known_labs())),
        sections=tuple(section_cards(course, past)),
        chapters=len(topics),
        taste=None if past.answers else taste(),
        streak=streak(worked, today),
        today=daily_title(today),
        heading=heading,
        opening=html(opening),
    )
