"""The progress of a learner, as its page shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from markupsafe import Markup

from app.content.catalog import Catalog
from app.db.guesses import count_of_guesses
from app.db.history import Effort, streak
from app.db.queries import attempts_by_day, efforts, latest_attempts
from app.db.session import open_session
from app.db.tables import Attempt
from app.kinds import Exercise
from app.learning import Mastery, Memory, mastery_by_skill, mastery_of
from app.site import Site
from app.translation import translate
from app.web.exercise.views import view_of
from app.web.exercise.views.base import typed
from app.web.frame.rendering import Hyperlink
from app.web.progress.ideas import WrongIdea, wrong_ideas
from app.web.standing.history import past_of
from app.web.standing.onward import Onward, onward_for
from app.web.standing.veil import open_history
from app.web.standing.view import Card, ExerciseRow, Past, card_of, clock, mark_of, row_of, today
from app.web.urls import exercise_url

_WEEKS = 26
_MANY, _SOME = 10, 4  # answers per day for the darkest and the middle shade
_NEXT = 8  # reviews that are listed with their dates


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day of the calendar; *shade* is 0 to 3."""

    date: date
    count: int
    shade: int


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent attempt; *link* has no address if the exercise is no longer in the course."""

    at: datetime
    link: Hyperlink
    correct: bool
    answer: tuple[Markup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An exercise on the map: its status, answers, time, and the date of its next review."""

    row: ExerciseRow
    review: date | None
    answers: int
    right: int
    time: str

    @property
    def is_due(self) -> bool:
        """Whether its review is due."""
        return self.review is not None and self.review <= today()

    @property
    def says(self) -> str:
        """Its status in words."""
        if self.is_due:
            return translate("{says}, due for review", says=self.row.says)
        return self.row.says


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter with its exercises, and the share that the learner would solve now."""

    card: Card
    mastery: Mastery
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Skill:
    """The mastery of a skill, and the number of right answers."""

    name: str
    mastery: Mastery
    answers: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPage:
    """The progress of a learner."""

    any: bool
    guesses: int
    onward: Onward
    solved: int
    unaided: int
    tried: int
    total: int
    streak: int
    weeks: tuple[tuple[CalendarDay, ...], ...]
    days: tuple[CalendarDay, ...]
    chapters: tuple[Chapter, ...]
    skills: tuple[Skill, ...]
    due: int
    reviews: tuple[Place, ...]
    ideas: tuple[WrongIdea, ...]
    answers: int
    right: int
    time: str
    recent: tuple[Recent, ...]


def progress_page(site: Site, learner: str) -> ProgressPage:
    """The progress of *learner*."""
    past = past_of(site, learner)
    known, kept = past.known, past.memories
    marks = [mark_of(known.get(exercise.id)) for exercise in site.catalog.exercises]
    day = today()
    first = day - timedelta(weeks=_WEEKS - 1, days=day.weekday())
    counts, recent = _history(site, learner, first)
    took = _efforts(site, learner)
    days = [_day(first + timedelta(n), counts) for n in range((day - first).days + 1)]
    chapters = tuple(_chapters(site.catalog, past, took))
    return ProgressPage(
        any=bool(known),
        guesses=_guesses(site, learner),
        onward=onward_for(site, past, past.chapter),
        solved=sum(mark in ("solved", "unaided") for mark in marks),
        unaided=marks.count("unaided"),
        tried=len(marks) - marks.count("new"),
        total=len(marks),
        streak=streak(counts.keys(), day),
        weeks=tuple(tuple(days[n : n + 7]) for n in range(0, len(days), 7)),
        days=tuple(d for d in reversed(days) if d.count),
        chapters=chapters,
        skills=tuple(_skills(site, kept, took)),
        due=sum(place.is_due for chapter in chapters for place in chapter.places),
        reviews=_next_reviews(chapters),
        ideas=wrong_ideas(site, learner, past.answers),
        answers=sum(effort.answers for effort in took.values()),
        right=sum(effort.right for effort in took.values()),
        time=clock([effort.seconds for effort in took.values()]),
        recent=recent,
    )


def _chapters(catalog: Catalog, past: Past, took: Mapping[str, Effort]) -> Iterator[Chapter]:
    for topic in catalog.topics:
        places = tuple(_place(one, past, took.get(one.id)) for one in topic.exercises)
        card, mastery = card_of(topic, past), mastery_of(topic.exercises, past.memories)
        yield Chapter(card, mastery, places)


def _next_reviews(chapters: Sequence[Chapter]) -> tuple[Place, ...]:
    """The exercises whose reviews come next, the first one first."""
    dated = [
        (place.review, number, place)
        for number, place in enumerate(p for chapter in chapters for p in chapter.places)
        if place.review
    ]
    return tuple(place for _, _, place in sorted(dated)[:_NEXT])


def _guesses(site: Site, learner: str) -> int:
    """The number of days whose question *learner* has guessed."""
    if not learner:
        return 0
    with open_session(site.engine) as session:
        return count_of_guesses(session, learner)


def _efforts(site: Site, learner: str) -> Mapping[str, Effort]:
    if not learner:
        return {}
    with open_history(site, learner) as session:
        return efforts(session, learner)


def _place(exercise: Exercise, past: Past, took: Effort | None) -> Place:
    effort = took or Effort(0, 0, None)
    memory = past.memories.get(exercise.id)
    return Place(
        row=row_of(exercise, past.known),
        review=memory.due if memory else None,
        answers=effort.answers,
        right=effort.right,
        time=clock([effort.seconds]),
    )


def _skills(site: Site, kept: Mapping[str, Memory], took: Mapping[str, Effort]) -> Iterator[Skill]:
    """Every skill that was tried, the least mastered first."""
    exercises = site.catalog.exercises
    known = mastery_by_skill(exercises, kept)
    tried = {skill for e in exercises if e.id in took for skill in e.skills}
    for skill in sorted(tried - set(known)):
        those = [e for e in exercises if skill in e.skills]
        yield _skill(skill, mastery_of(those, kept), those, took)
    for skill, mastery in known.items():
        yield _skill(skill, mastery, [e for e in exercises if skill in e.skills], took)


def _skill(
    name: str, mastery: Mastery, those: Iterable[Exercise], took: Mapping[str, Effort]
) -> Skill:
    efforts_of = [took[e.id] for e in those if e.id in took]
    return Skill(
        name, mastery, sum(e.answers for e in efforts_of), sum(e.right for e in efforts_of)
    )


def _history(
    site: Site, learner: str, first: date
) -> tuple[Mapping[date, int], tuple[Recent, ...]]:
    if not learner:
        return {}, ()
    with open_history(site, learner) as session:
        counts = attempts_by_day(session, learner, first)
        attempts = latest_attempts(session, learner)
    return counts, tuple(_recent(site, row) for row in attempts)


def _recent(site: Site, row: Attempt) -> Recent:
    exercise = site.catalog.by_id.get(row.exercise)
    if exercise is None:
        return Recent(row.at, Hyperlink("", row.exercise), row.correct, (typed(row.answer),))
    link = Hyperlink(exercise_url(row.exercise, row.seed), exercise.title)
    told = tuple(view_of(exercise).told(exercise, row.seed, row.answer))
    return Recent(row.at, link, row.correct, told)


def _day(day: date, counts: Mapping[date, int]) -> CalendarDay:
    count = counts.get(day, 0)
    shade = 0 if not count else 1 if count < _SOME else 2 if count < _MANY else 3
    return CalendarDay(day, count, shade)
