"""The page of one exercise: read it, answer it, ask for a hint."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app.db.queries import SOLUTION, Revealed, revealed
from app.db.session import open_session
from app.db.tables import Reveal, now
from app.errors import AnswerError, NotFoundError, UnavailableError
from app.grading.check import check
from app.kinds import SEEDS, Answer, Exercise
from app.kinds.code.function import Function
from app.kinds.lab import Experiment
from app.kinds.length import TooLongError, refuse_longer
from app.network.door import note_trouble
from app.sandbox.fair_queue import Client
from app.site import Here, Site
from app.web.exercise.forms import Given
from app.web.exercise.lab import answer_of, lock_in
from app.web.exercise.view import Outcome, Sheet, begun_at, sheet_of, tried, unavailable, unreadable
from app.web.frame.aside import aside
from app.web.frame.rendering import frame, render
from app.web.frame.visitor import FromHere, Visiting, learner_of, remember, spend

router = APIRouter(prefix="/exercises")
_FRAGMENT = "x-fragment"  # a script asks for the verdict alone
_LONGEST_SITTING = 4 * 3600  # seconds; a page left open over night says nothing
_PART = 1000  # characters of a form that count as one more answer
_NEW_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True)
class _Asked:
    """One posted form."""

    exercise: Exercise
    seed: int
    learner: str
    client: Client
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
    sheet = await _sheet(site, exercise, _seed(seed), visiting.learner, {}, Outcome())
    return _page(request, sheet)


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
    asked = _Asked(exercise, _seed(seed), learner, visiting.client, await _fields(request))
    spend(request, site.allowances.answers, "answers", 1 + asked.size / _PART)
    try:
        outcome = await _act(site, asked)
    except (AnswerError, TooLongError) as error:
        outcome = unreadable(error)
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        outcome = unavailable(error)
    sheet = await _sheet(site, exercise, asked.seed, learner, asked.given, outcome)
    response = _page(request, sheet, outcome.status)
    remember(request, response, learner, site.secret)
    return response


async def _sheet(
    site: Site, exercise: Exercise, seed: int, learner: str, given: Given, outcome: Outcome
) -> Sheet:
    if isinstance(exercise, Experiment):  # it reads the runs of others
        return await aside(sheet_of, site, exercise, seed, learner, given, outcome)
    return sheet_of(site, exercise, seed, learner, given, outcome)


async def _act(site: Site, asked: _Asked) -> Outcome:
    with open_session(site.engine) as session:
        seen = revealed(session, asked.learner, asked.exercise.id, asked.seed)
    match asked.action:
        case "hint":
            return await _reveal(site, asked, min(seen.hints + 1, len(asked.exercise.hints)))
        case "solution":
            return await _reveal(site, asked, SOLUTION)
        case "predict" if isinstance(asked.exercise, Experiment):
            await lock_in(site, asked.exercise, asked.seed, asked.learner, asked.given)
            return Outcome()
        case "run" if isinstance(asked.exercise, Function):
            source = next(iter(asked.given.get("answer", ())), "")
            refuse_longer(source, site.settings.answer_limit)
            runner = site.runner.on_behalf_of(asked.client)
            return tried(await asked.exercise.try_out(asked.seed, source, runner, asked.learner))
    return await _check(site, asked, seen)


async def _check(site: Site, asked: _Asked, seen: Revealed) -> Outcome:
    given = _given(site, asked)
    verdict = await check(
        site,
        asked.exercise,
        asked.seed,
        given,
        asked.learner,
        asked.client,
        hints=seen.hints,
        revealed=seen.solution,
        seconds=_seconds(asked.given),
    )
    return Outcome(verdict=verdict)


def _given(site: Site, asked: _Asked) -> Answer:
    if isinstance(asked.exercise, Experiment):
        return answer_of(site, asked.exercise, asked.seed, asked.learner, asked.given)
    return asked.exercise.answer_in(asked.given)


async def _reveal(site: Site, asked: _Asked, number: int) -> Outcome:
    reveal = Reveal(
        learner=asked.learner, exercise=asked.exercise.id, seed=asked.seed, number=number
    )
    await site.writer.put(reveal)
    return Outcome()


def _seconds(given: Given) -> float | None:
    """How long the page was open, where that can be."""
    begun = begun_at(given)
    seconds = now().timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None


def _page(request: Request, sheet: Sheet, status: int = 200) -> Response:
    fragment = request.headers.get(_FRAGMENT) == "1"
    title = f"{sheet.title} · {sheet.topic.text}"
    around = frame(request, title, sheet.description, "exercises")
    return render("verdict.html" if fragment else "exercise.html", around, sheet, status)


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
