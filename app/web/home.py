"""The home page, and one page per chapter."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from app.content.glossary import mark
from app.db.queries import attempts_by_day, streak
from app.db.session import open_session
from app.explorers import EXPLORERS
from app.learning import due
from app.markdown import html
from app.site import Here, Site
from app.web.explore.figures import EmbeddedView, embedded_view, taste
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.visitor import Visiting
from app.web.progress.standing import (
    Card,
    ExerciseRow,
    Suggested,
    card_of,
    memories_of,
    next_for,
    row_of,
    standings_of,
    suggested,
    today,
)
from app.web.urls import chapter_url, explorer_url

router = APIRouter()
_SHOWN = 5  # reviews that are listed, besides the first
_STREAK_BACK = 400  # days that are searched


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """The chapters, the next exercise, and the exercises that are due for review."""

    cards: tuple[Card, ...]
    following: Suggested | None
    due: tuple[Suggested, ...]
    due_count: int
    begun: bool
    taste: EmbeddedView | None
    streak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterPage:
    """One chapter."""

    title: str
    opening: Markup
    closing: Markup
    core: tuple[ExerciseRow, ...]
    extras: tuple[ExerciseRow, ...]
    solved: int
    extra_solved: int
    explorers: tuple[Hyperlink, ...]
    figures: tuple[EmbeddedView, ...]
    earlier: Hyperlink | None
    later: Hyperlink | None


@router.get("/")
async def home(request: Request, site: Here, visiting: Visiting) -> Response:
    """All chapters."""
    known = standings_of(site, visiting.learner)
    kept = memories_of(site, visiting.learner)
    reviews = due(site.catalog, kept, today())
    page = HomePage(
        cards=tuple(card_of(topic, known) for topic in site.catalog.topics),
        following=next_for(site, known, kept),
        due=tuple(suggested(one) for one in reviews[1 : 1 + _SHOWN]),
        due_count=len(reviews),
        begun=bool(known),
        taste=None if known else taste(),
        streak=streak_of(site, visiting.learner),
    )
    description = (
        "Exercises in the arithmetic of distributed training: predict the training step, "
        "then time it."
    )
    return render("home.html", frame(request, "Wallclock", description, "exercises"), page)


@router.get("/chapters/{name}")
async def chapter(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One chapter."""
    topic = site.catalog.topic(name)
    known = standings_of(site, visiting.learner)
    rows = [(exercise.core, row_of(exercise, known)) for exercise in topic.exercises]
    core = tuple(row for is_core, row in rows if is_core)
    extras = tuple(row for is_core, row in rows if not is_core)
    topics = site.catalog.topics
    place = topics.index(topic)
    beside = [Hyperlink(chapter_url(t.id), t.title) for t in topics]
    page = ChapterPage(
        title=topic.title,
        opening=mark(html(topic.opening)),
        closing=mark(html(topic.closing)),
        core=core,
        extras=extras,
        solved=_solved(core),
        extra_solved=_solved(extras),
        explorers=tuple(
            Hyperlink(explorer_url(one.name), one.title)
            for one in EXPLORERS.values()
            if one.chapter == topic.id
        ),
        figures=tuple(
            embedded_view(figure, {name: str(text) for name, text in figure.state.items()})
            for figure in topic.figures
        ),
        earlier=beside[place - 1] if place else None,
        later=beside[place + 1] if place + 1 < len(topics) else None,
    )
    return render("chapter.html", frame(request, topic.title, topic.summary, "exercises"), page)


def _solved(rows: Sequence[ExerciseRow]) -> int:
    return sum(row.mark in ("solved", "unaided") for row in rows)


def streak_of(site: Site, learner: str) -> int:
    """Number of consecutive days on which *learner* has worked."""
    if not learner:
        return 0
    day = today()
    with open_session(site.engine) as session:
        days = attempts_by_day(session, learner, day.fromordinal(day.toordinal() - _STREAK_BACK))
    return streak(days.keys(), day)
