"""The page of one exercise: read it, answer it, ask for a hint."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app.db.queries import SOLUTION, Shown, shown
from app.db.session import open_session
from app.db.tables import Reveal, now
from app.errors import AnswerError, NotFoundError, UnavailableError
from app.grading.check import check
from app.kinds import SEEDS, Answer, Exercise
from app.kinds.answers import TooLongError, refuse_longer
from app.kinds.code.function import Function
from app.kinds.lab import LabExercise
from app.network.door import note_trouble
from app.sandbox.fair_queue import Turn
from app.site import Here, Site
from app.web.exercise.forms import Given
from app.web.exercise.lab import answer_of, lock_in
from app.web.exercise.view import (
    ExercisePage,
    Outcome,
    begun_at,
    exercise_page,
    tried,
    unavailable,
    unreadable,
)
from app.web.frame.aside import aside
from app.web.frame.rendering import frame, render
from app.web.frame.visitor import FromHere, Visiting, learner_of, remember, spend

router = APIRouter(prefix="/exercises")
_FRAGMENT = "x-fragment"  # a script asks for the verdict alone
_LONGEST_SITTING = 4 * 3600  # seconds; a page left open over night says nothing
_PART = 1000  # characters of a form that count as one more answer
_NEW_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True)
class _Posted:
    """One posted form."""

    exercise: Exercise
    seed: int
    learner: str
    turn: Turn
    given: Given

    @property
    def size(self) -> int:
        """Characters of all fields."""
        return sum(len(text) for texts in self.given.values() for text in texts)

    @property
    def action(self) -> str:
        return next(iter(self.given.get("action", ())), "check")


@router.get("/{topic}/{slug}")
async def show(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str, seed: str = "0"
) -> Response:
    """The exercise as a seed draws it."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    page = await _page(site, exercise, _seed(seed), visiting.learner, {}, Outcome())
    return _response(request, page)


@router.get("/{topic}/{slug}/another")
async def another(site: Here, topic: str, slug: str) -> Response:
    """A new drawing."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = 1 + secrets.randbelow(_NEW_SEEDS)
    return Response(status_code=303, headers={"Location": f"/exercises/{exercise.id}?seed={seed}"})


@router.post("/{topic}/{slug}", dependencies=[FromHere])
async def answer(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str, seed: str = "0"
) -> Response:
    """What one of the buttons does."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    learner = learner_of(visiting)
    posted = _Posted(exercise, _seed(seed), learner, visiting.turn, await _fields(request))
    spend(request, site.allowances.answers, "answers", 1 + posted.size / _PART)
    try:
        outcome = await _act(site, posted)
    except (AnswerError, TooLongError) as error:
        outcome = unreadable(error)
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        outcome = unavailable(error)
    page = await _page(site, exercise, posted.seed, learner, posted.given, outcome)
    response = _response(request, page, outcome.status)
    remember(request, response, learner, site.secret)
    return response


async def _page(
    site: Site, exercise: Exercise, seed: int, learner: str, given: Given, outcome: Outcome
) -> ExercisePage:
    if isinstance(exercise, LabExercise):  # it reads the runs of others
        return await aside(exercise_page, site, exercise, seed, learner, given, outcome)
    return exercise_page(site, exercise, seed, learner, given, outcome)


async def _act(site: Site, posted: _Posted) -> Outcome:
    with open_session(site.engine) as session:
        seen = shown(session, posted.learner, posted.exercise.id, posted.seed)
    match posted.action:
        case "hint":
            return await _reveal(site, posted, min(seen.hints + 1, len(posted.exercise.hints)))
        case "solution":
            return await _reveal(site, posted, SOLUTION)
        case "predict" if isinstance(posted.exercise, LabExercise):
            await lock_in(site, posted.exercise, posted.seed, posted.learner, posted.given)
            return Outcome()
        case "run" if isinstance(posted.exercise, Function):
            source = next(iter(posted.given.get("answer", ())), "")
            refuse_longer(source, site.settings.answer_limit)
            runner = site.runner.taking(posted.turn)
            return tried(await posted.exercise.try_out(posted.seed, source, runner, posted.learner))
    return await _check(site, posted, seen)


async def _check(site: Site, posted: _Posted, seen: Shown) -> Outcome:
    given = _given(site, posted)
    verdict = await check(
        site,
        posted.exercise,
        posted.seed,
        given,
        posted.learner,
        posted.turn,
        hints=seen.hints,
        revealed=seen.solution,
        seconds=_seconds(posted.given),
    )
    return Outcome(verdict=verdict)


def _given(site: Site, posted: _Posted) -> Answer:
    if isinstance(posted.exercise, LabExercise):
        return answer_of(site, posted.exercise, posted.seed, posted.learner, posted.given)
    return posted.exercise.answer_in(posted.given)


async def _reveal(site: Site, posted: _Posted, number: int) -> Outcome:
    reveal = Reveal(
        learner=posted.learner, exercise=posted.exercise.id, seed=posted.seed, number=number
    )
    await site.writer.put(reveal)
    return Outcome()


def _seconds(given: Given) -> float | None:
    """How long the page was open, where that can be."""
    begun = begun_at(given)
    seconds = now().timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None


def _response(request: Request, page: ExercisePage, status: int = 200) -> Response:
    fragment = request.headers.get(_FRAGMENT) == "1"
    title = f"{page.title} · {page.topic.text}"
    around = frame(request, title, page.description, "exercises")
    return render("verdict.html" if fragment else "exercise.html", around, page, status)


async def _fields(request: Request) -> Mapping[str, Sequence[str]]:
    """The posted fields; a field may be there several times."""
    form = await request.form(max_files=0, max_fields=200)
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            # Browsers send every line break as two characters.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(SEEDS))):
        raise NotFoundError(f"a seed is a whole number from 0 to {SEEDS - 1}, not {text[:40]!r}")
    if int(text) >= SEEDS:
        raise NotFoundError(f"there is no seed {text}: the largest is {SEEDS - 1}")
    return int(text)
