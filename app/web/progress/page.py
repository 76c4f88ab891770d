"""/progress: what a learner has done, with export and deletion."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.db.personal import delete_everything, everything
from app.db.queries import Effort, attempts_by_day, efforts, latest_attempts, streak
from app.db.session import open_session
from app.errors import InputError
from app.kinds import Exercise
from app.learning import Mastery, Memory, due, mastery_by_skill, mastery_of
from app.site import Here, Site
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.visitor import COOKIE, FromHere, Visiting
from app.web.progress.onward import Onward, onward_for
from app.web.progress.standing import (
    Card,
    ExerciseRow,
    Standings,
    card_of,
    clock,
    mark_of,
    past_of,
    row_of,
    today,
)
from app.web.urls import exercise_url

router = APIRouter(prefix="/progress")
_WEEKS = 26
_MANY, _SOME = 10, 4  # answers per day for the darkest and the middle shade


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day of the calendar; *shade* is 0 to 3."""

    date: date
    count: int
    shade: int


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent attempt."""

    at: datetime
    link: Hyperlink
    correct: bool
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An exercise on the map: its status, answers and time; *due*: due for review."""

    row: ExerciseRow
    due: bool
    answers: int
    right: int
    time: str

    @property
    def says(self) -> str:
        """Its status in words."""
        return f"{self.row.says}, due for review" if self.due else self.row.says


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
    answers: int
    right: int
    time: str
    recent: tuple[Recent, ...]
    deleted: bool


@router.get("")
async def progress(request: Request, site: Here, visiting: Visiting, deleted: str = "") -> Response:
    """The progress page."""
    page = _page(site, visiting.learner, deleted=deleted == "1")
    return render("progress/progress.html", frame(request, "Progress", here="progress"), page)


@router.get("/export")
async def export(site: Here, visiting: Visiting) -> Response:
    """Everything that is stored about the learner, as JSON."""
    with open_session(site.engine) as session:
        kept = everything(session, visiting.learner) if visiting.learner else {}
    text = json.dumps(kept, ensure_ascii=False, indent=1)
    name = 'attachment; filename="wallclock.json"'
    return Response(text, media_type="application/json", headers={"Content-Disposition": name})


@router.post("/delete", dependencies=[FromHere])
async def delete(site: Here, visiting: Visiting, sure: Annotated[str, Form()] = "") -> Response:
    """Delete everything that is stored about the learner."""
    if sure != "yes":
        raise InputError("nothing was deleted: tick the box to confirm, then delete again")
    if visiting.learner:
        with open_session(site.engine) as session:
            delete_everything(session, visiting.learner)
    response = RedirectResponse("/progress?deleted=1", 303)
    response.delete_cookie(COOKIE)
    return response


def _page(site: Site, learner: str, *, deleted: bool) -> ProgressPage:
    past = past_of(site, learner)
    known, kept = past.known, past.memories
    catalog = site.catalog
    marks = [mark_of(known.get(exercise.id)) for exercise in catalog.exercises]
    day = today()
    first = day - timedelta(weeks=_WEEKS - 1, days=day.weekday())
    counts, recent = _history(site, learner, first)
    took = _efforts(site, learner)
    reviews = {one.exercise.id for one in due(catalog, kept, day)}
    days = [_day(first + timedelta(n), counts) for n in range((day - first).days + 1)]
    return ProgressPage(
        any=bool(known),
        onward=onward_for(site, past, past.chapter),
        solved=sum(mark in ("solved", "unaided") for mark in marks),
        unaided=marks.count("unaided"),
        tried=len(marks) - marks.count("new"),
        total=len(marks),
        streak=streak(counts.keys(), day),
        weeks=tuple(tuple(days[n : n + 7]) for n in range(0, len(days), 7)),
        days=tuple(d for d in reversed(days) if d.count),
        chapters=tuple(
            Chapter(
                card_of(topic, known),
                mastery_of(topic.exercises, kept),
                tuple(_place(e, known, took.get(e.id), e.id in reviews) for e in topic.exercises),
            )
            for topic in catalog.topics
        ),
        skills=tuple(_skills(site, kept, took)),
        due=len(reviews),
        answers=sum(effort.answers for effort in took.values()),
        right=sum(effort.right for effort in took.values()),
        time=clock([effort.seconds for effort in took.values()]),
        recent=recent,
        deleted=deleted,
    )


def _efforts(site: Site, learner: str) -> Mapping[str, Effort]:
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return efforts(session, learner)


def _place(exercise: Exercise, known: Standings, took: Effort | None, due: bool) -> Place:
    effort = took or Effort(0, 0, None)
    row = row_of(exercise, known)
    return Place(
        row=row, due=due, answers=effort.answers, right=effort.right, time=clock([effort.seconds])
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
    with open_session(site.engine) as session:
        counts = attempts_by_day(session, learner, first)
        attempts = latest_attempts(session, learner)
    titles = {exercise.id: exercise.title for exercise in site.catalog.exercises}
    recent = tuple(
        Recent(
            row.at,
            Hyperlink(exercise_url(row.exercise, row.seed), titles[row.exercise]),
            row.correct,
            " ".join(row.answer.split())[:60],
        )
        for row in attempts
        if row.exercise in titles
    )
    return counts, recent


def _day(day: date, counts: Mapping[date, int]) -> CalendarDay:
    count = counts.get(day, 0)
    shade = 0 if not count else 1 if count < _SOME else 2 if count < _MANY else 3
    return CalendarDay(day, count, shade)
