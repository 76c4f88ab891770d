"""The progress of a learner, as its page shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from markupsafe import Markup

from app.core.translation import translate
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.learning import Mastery, Memory, mastery_by_skill, mastery_of
from app.server.db.history import Effort, streak
from app.server.db.tables import Attempt
from app.site.web.exercise.views import view_of
from app.site.web.exercise.views.base import typed
from app.site.web.frame.renderer import Hyperlink
from app.site.web.progress.ideas import WrongIdea
from app.site.web.standing.next_steps import NextSteps, next_steps
from app.site.web.standing.route_choice import chapter_on_route
from app.site.web.standing.view import ChapterCard, ExerciseRow, LearnerHistory, card_of, clock, mark_of, row_of
from app.site.web.urls import exercise_url

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
class MapPlace:
    """An exercise on the map: its status, answers, time, and the date of its next review."""

    row: ExerciseRow
    review: date | None
    is_due: bool
    answers: int
    right: int
    time: str

    @property
    def says(self) -> str:
        """Its status in words."""
        if self.is_due:
            return translate("{says}, due for review", says=self.row.says)
        return self.row.says


@dataclass(frozen=True, slots=True)
class ProgressChapter:
    """A chapter with its exercises, and the share that the learner would solve now."""

    card: ChapterCard
    mastery: Mastery
    places: tuple[MapPlace, ...]


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
    onward: NextSteps
    solved: int
    unaided: int
    tried: int
    total: int
    bonus: int
    streak: int
    weeks: tuple[tuple[CalendarDay, ...], ...]
    days: tuple[CalendarDay, ...]
    chapters: tuple[ProgressChapter, ...]
    skills: tuple[Skill, ...]
    due: int
    reviews: tuple[MapPlace, ...]
    ideas: tuple[WrongIdea, ...]
    answers: int
    right: int
    time: str
    recent: tuple[Recent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRecord:
    """What is stored of a learner: answers by day, the effort on each exercise, the latest."""

    past: LearnerHistory = field(default_factory=LearnerHistory)
    guesses: int = 0
    days: Mapping[date, int] = field(default_factory=dict)
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    latest: Sequence[Attempt] = ()
    ideas: tuple[WrongIdea, ...] = ()


def first_day(today: date) -> date:
    """The first day of the calendar."""
    return today - timedelta(weeks=_WEEKS - 1, days=today.weekday())


def progress_page(course: Catalog, record: ProgressRecord, today: date) -> ProgressPage:
    """The progress of the learner of *record*."""
    past, took = record.past, record.efforts
    path = [one for topic in course.topics for one in topic.path]
    marks = [mark_of(past.known.get(one.id)) for one in path]
    first = first_day(today)
    days = [_day(first + timedelta(n), record.days) for n in range((today - first).days + 1)]
    chapters = tuple(_chapters(course, past, took, today))
    return ProgressPage(
        any=bool(past.known),
        guesses=record.guesses,
        onward=next_steps(course, past, chapter_on_route(course, past), today),
        solved=sum(mark in ("solved", "unaided") for mark in marks),
        unaided=marks.count("unaided"),
        tried=len(marks) - marks.count("new"),
        total=len(marks),
        bonus=sum(chapter.card.extras.solved for chapter in chapters),
        streak=streak(record.days.keys(), today),
        weeks=tuple(tuple(days[n : n + 7]) for n in range(0, len(days), 7)),
        days=tuple(d for d in reversed(days) if d.count),
        chapters=chapters,
        skills=tuple(_skills(course, past.memories, took)),
        due=sum(place.is_due for chapter in chapters for place in chapter.places),
        reviews=_next_reviews(chapters),
        ideas=record.ideas,
        answers=sum(effort.answers for effort in took.values()),
        right=sum(effort.right for effort in took.values()),
        time=clock([effort.seconds for effort in took.values()]),
        recent=tuple(_recent(course, row) for row in record.latest),
    )


def _chapters(
    course: Catalog, past: LearnerHistory, took: Mapping[str, Effort], today: date
) -> Iterator[ProgressChapter]:
    for topic in course.topics:
        places = tuple(_place(one, past, took.get(one.id), today) for one in topic.exercises)
        card, mastery = card_of(topic, past), mastery_of(topic.path, past.memories)
        yield ProgressChapter(card, mastery, places)


def _next_reviews(chapters: Sequence[ProgressChapter]) -> tuple[MapPlace, ...]:
    """The exercises whose reviews come next, the first one first."""
    dated = [
        (place.review, number, place)
        for number, place in enumerate(p for chapter in chapters for p in chapter.places)
        if place.review
    ]
    return tuple(place for _, _, place in sorted(dated)[:_NEXT])


def _place(exercise: Exercise, past: LearnerHistory, took: Effort | None, today: date) -> MapPlace:
    effort = took or Effort(0, 0, None)
    memory = past.memories.get(exercise.id)
    return MapPlace(
        row=row_of(exercise, past.known),
        review=memory.due if memory else None,
        is_due=memory is not None and memory.due <= today,
        answers=effort.answers,
        right=effort.right,
        time=clock([effort.seconds]),
    )


def _skills(course: Catalog, kept: Mapping[str, Memory], took: Mapping[str, Effort]) -> Iterator[Skill]:
    """Every skill that was tried, by what is on a path or was tried, the least mastered first."""
    exercises = [
        one for topic in course.topics for one in (*topic.path, *(extra for extra in topic.extras if extra.id in took))
    ]
    known = mastery_by_skill(exercises, kept)
    tried = {skill for e in exercises if e.id in took for skill in e.skills}
    for skill in sorted(tried - set(known)):
        those = [e for e in exercises if skill in e.skills]
        yield _skill(skill, mastery_of(those, kept), those, took)
    for skill, mastery in known.items():
        yield _skill(skill, mastery, [e for e in exercises if skill in e.skills], took)


def _skill(name: str, mastery: Mastery, those: Iterable[Exercise], took: Mapping[str, Effort]) -> Skill:
    efforts_of = [took[e.id] for e in those if e.id in took]
    return Skill(name, mastery, sum(e.answers for e in efforts_of), sum(e.right for e in efforts_of))


def _recent(course: Catalog, row: Attempt) -> Recent:
    exercise = course.by_id.get(row.exercise)
    if exercise is None:
        return Recent(row.at, Hyperlink("", row.exercise), row.correct, (typed(row.answer),))
    link = Hyperlink(exercise_url(row.exercise, row.seed), exercise.title)
    told = tuple(view_of(exercise).told(exercise, row.seed, row.answer))
    return Recent(row.at, link, row.correct, told)


def _day(day: date, counts: Mapping[date, int]) -> CalendarDay:
    count = counts.get(day, 0)
    shade = 0 if not count else 1 if count < _SOME else 2 if count < _MANY else 3
    return CalendarDay(day, count, shade)
