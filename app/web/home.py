"""The home page: what the site is, the way on, and the chapters."""

from dataclasses import dataclass

from fastapi import Request, Response
from markupsafe import Markup

from app.content.daily import title_of
from app.db.history import streak
from app.db.queries import attempts_by_day
from app.db.session import open_session
from app.explorers import EXPLORERS
from app.labs.spec import known_labs
from app.markdown import html
from app.network.routes import Router
from app.site import Here, Site
from app.translation import noted, translate
from app.web.explore.figures import EmbeddedView, taste
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.visitor import Visiting
from app.web.standing.history import past_of
from app.web.standing.onward import Onward, onward_for
from app.web.standing.view import Card, card_of, today
from app.web.urls import chapter_url

router = Router()
_STREAK_BACK = 400  # days that are searched
_SAYS = noted(
    "Exercises in the arithmetic of distributed training: predict the training step, then time it."
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is on the site."""

    exercises: int
    explorers: int
    labs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """The way on and the chapters; for a new visitor, the first chapter and a figure to try."""

    onward: Onward
    first: Hyperlink | None
    reading: int
    size: Size
    cards: tuple[Card, ...]
    taste: EmbeddedView | None
    streak: int
    today: str  # the title of the question of the day
    heading: str  # of a course pack, with its opening; empty: Wallclock's own
    opening: Markup


@router.get("/")
async def home(request: Request, site: Here, visiting: Visiting) -> Response:
    """All chapters."""
    past = past_of(site, visiting.learner)
    heading, opening = site.catalog.front or ("", "")
    topics = site.catalog.topics
    page = HomePage(
        onward=onward_for(site, past, past.chapter),
        first=Hyperlink(chapter_url(topics[0].id), topics[0].title) if topics else None,
        reading=topics[0].reading if topics else 0,
        size=Size(len(site.catalog.exercises), len(EXPLORERS), len(known_labs())),
        cards=tuple(card_of(topic, past) for topic in topics),
        taste=None if past.answers else taste(),
        streak=streak_of(site, visiting.learner),
        today=title_of(site.clock().date()),
        heading=heading,
        opening=html(opening),
    )
    return render("home.html", frame(request, "Wallclock", translate(_SAYS), "exercises"), page)


def streak_of(site: Site, learner: str) -> int:
    """Number of consecutive days on which *learner* has worked."""
    if not learner:
        return 0
    day = today()
    with open_session(site.engine) as session:
        days = attempts_by_day(session, learner, day.fromordinal(day.toordinal() - _STREAK_BACK))
    return streak(days.keys(), day)
