"""The progress of a learner, as its page shows it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from markupsafe import Markup

from app.core.errors import AnswerError
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.answers import stored_answer
from app.course.learning import Mastery, Memory, mastery_by_skill, mastery_of
from app.course.sandbox.runner import Runner
from app.server.db.history import Effort, PastAnswer, streak
from app.server.db.tables import Attempt
from app.site.markdown import inline_html
from app.site.web.exercise.views import view_of
from app.site.web.exercise.views.base import typed
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.next_steps import NextSteps, chapter_on_route, next_steps
from app.site.web.standing.view import ChapterCard, ExerciseRow, LearnerHistory, card_of, clock, mark_of, row_of
from app.site.web.urls import exercise_url

Fate = Literal["open", "corrected", "gone"]
_SAYS: Mapping[Fate, str] = {
    "open": noted("no right answer since"),
    "corrected": noted("right since, on the same day"),
    "gone": noted("gone: right on a later day"),
}
LOOKED_AT = 200  # wrong answers, the latest
_LISTED = 12  # ideas
_Told = tuple[Attempt, str]  # a wrong answer, and its diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongIdea:
    """A foreseen mistake that the learner made: its diagnosis, how often, and its fate."""

    link: Hyperlink
    diagnosis: Markup
    times: int
    last: datetime
    fate: Fate

    @property
    def says(self) -> str:
        """Whether it is gone, in words."""
        return translate(_SAYS[self.fate])


def wrong_ideas(
    course: Catalog, runner: Runner, wrong: Sequence[Attempt], answers: Sequence[PastAnswer]
) -> tuple[WrongIdea, ...]:
    """The ideas in the *wrong* ones of a learner's *answers*; those that are gone come last."""
    found = asyncio.run(_collected(course, runner, wrong))
    ideas = [_idea(exercise, those, answers) for exercise, those in found]
    ideas.sort(key=lambda idea: (idea.fate == "gone", -idea.last.timestamp()))
    return tuple(ideas[:_LISTED])


async def _collected(course: Catalog, runner: Runner, wrong: Sequence[Attempt]) -> list[tuple[Exercise, list[_Told]]]:
    """Each foreseen mistake among the *wrong* answers, the latest first."""
    found: dict[tuple[str, int], list[_Told]] = {}
    for attempt in wrong:
        exercise = course.by_id.get(attempt.exercise)
        if exercise is None or exercise.runs_code or not _is_unchanged(exercise, attempt):
            continue
        async for number, says in _mistakes_in(runner, exercise, attempt):
            found.setdefault((exercise.id, number), []).append((attempt, says))
    return [(course.exercise(name), those) for (name, _), those in found.items()]


def _is_unchanged(exercise: Exercise, attempt: Attempt) -> bool:
    """Whether *exercise* still draws what *attempt* answered."""
    drawn = json.dumps(dict(exercise.draw(attempt.seed).shown), ensure_ascii=False)
    return drawn == attempt.drawn


async def _mistakes_in(runner: Runner, exercise: Exercise, attempt: Attempt) -> AsyncIterator[tuple[int, str]]:
    """The numbers of the listed mistakes that the answer was told, each with its sentence."""
    try:
        answer = stored_answer(attempt.answer, exercise.right_answer(attempt.seed))
        verdict = await exercise.grade(attempt.seed, answer, runner)
    except AnswerError:  # the exercise has other options now
        return
    told = "\n".join(verdict.feedback)
    for number, (_, says) in enumerate(exercise.mistakes(attempt.seed)):
        if says in told:
            yield number, says


def _idea(exercise: Exercise, those: Sequence[_Told], answers: Sequence[PastAnswer]) -> WrongIdea:
    last, says = those[0]
    right = [one.at for one in answers if one.exercise == exercise.id and one.own]
    since = [at for at in right if at > last.at]
    later = any(_ideas_day(at) > _ideas_day(last.at) for at in since)
    return WrongIdea(
        link=Hyperlink(exercise_url(exercise.id, last.seed), exercise.title),
        diagnosis=inline_html(says),
        times=len(those),
        last=last.at,
        fate="gone" if later else "corrected" if since else "open",
    )


def _ideas_day(at: datetime) -> date:
    return at.astimezone(UTC).date()


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
