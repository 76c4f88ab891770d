"""The page of one exercise: read it, answer it, ask for a hint."""

import secrets
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.aside import aside
from app.db.queries import SOLUTION
from app.db.tables import Reveal, now
from app.errors import AnswerError, UnavailableError
from app.grading.check import check
from app.kinds import Exercise
from app.kinds.answers import TooLongError
from app.network.door import note_trouble
from app.network.routes import LazyRoute
from app.people.past import LearnerAt, PastAt
from app.site import Here, Site, site_in
from app.web.exercise.around import Asked
from app.web.exercise.assigned import Assigned, assigned, rules_of
from app.web.exercise.card import exercise_card
from app.web.exercise.entered import enter_on_board
from app.web.exercise.posted import (
    LONG,
    ActionResult,
    Fields,
    Posted,
    draw_aside,
    fields_of,
    is_part,
    size_of,
)
from app.web.exercise.results import refused, unavailable, unreadable
from app.web.exercise.view import ExercisePage, begun_at, exercise_page
from app.web.exercise.views import view_of
from app.web.frame.origin import from_here
from app.web.frame.preview import preview_of
from app.web.frame.rendering import frame, render, render_part
from app.web.frame.resource import LearningResource
from app.web.frame.visitor import (
    Visiting,
    Visitor,
    learner_of,
    remember,
    spend,
    spend_storage,
    visitor,
)
from app.web.standing.chapter_choice import kept_seed
from app.web.urls import exercise_url, seed_of

router = APIRouter(prefix="/exercises", route_class=LazyRoute)
ANSWERS = "/exercises/{topic}/{slug}"
_LONGEST_SITTING = 4 * 3600  # seconds; a page left open overnight says nothing
PART = 1000  # characters of a form that count as one more answer
_NEW_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True)
class Acted:
    """The result of a button, and what the learner has done with it."""

    result: ActionResult
    past: PastAt


@router.get("/{topic}/{slug}")
async def show(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str, seed: str = ""
) -> Response:
    """The exercise as a seed draws it."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    if not seed and (kept := kept_seed(request, topic) if exercise.from_chapter else 0):
        return RedirectResponse(exercise_url(exercise.id, kept), 303)
    seed = seed or "0"
    await draw_aside(exercise, seed_of(seed))
    past = await _past(site, visiting, exercise, seed_of(seed))
    rules = assigned(site, visiting.person, past.works, seed_of(seed))
    if rules.before:
        return RedirectResponse(rules.before, 303)
    asked = Asked(exercise, seed_of(seed), visiting.learner, past, past)
    return _response(request, await _page(site, asked, ActionResult(), rules))


@router.get("/{topic}/{slug}/another")
async def another(site: Here, topic: str, slug: str) -> Response:
    """A new drawing."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = 1 + secrets.randbelow(_NEW_SEEDS)
    return Response(status_code=303, headers={"Location": exercise_url(exercise.id, seed)})


@router.post("/{topic}/{slug}")
async def answer(request: Request) -> Response:
    """The page after one of its buttons was pressed.

    (It asks for what it needs itself: what FastAPI adds to do so costs as much as grading.)
    """
    await from_here(request)
    site = site_in(request)
    visiting = await visitor(request, site)
    topic, slug = request.path_params["topic"], request.path_params["slug"]
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = seed_of(request.query_params.get("seed", "0"))
    learner = learner_of(visiting)
    given = await fields_of(request)
    posted = Posted(seed=seed, learner=learner, client=visiting.client, given=given)
    spend(request, site.allowances.answers, "answers", 1 + posted.size / PART)
    spend_storage(request, site, visiting, posted.size)
    before = await _past(site, visiting, exercise, posted.seed)
    await draw_aside(exercise, seed)
    rules = rules_of(before.works, posted.seed)
    if rules.before:
        return RedirectResponse(rules.before, 303)
    try:
        refusal = refused(rules.refusal(posted.action))
        acted = Acted(refusal, before) if refusal else await _act(site, exercise, posted, before)
    except (AnswerError, TooLongError) as error:
        acted = Acted(unreadable(error), before)
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        acted = Acted(unavailable(error), before)
    result, past = acted.result, acted.past
    rules = assigned(site, visiting.person, past.works, posted.seed)
    part = is_part(request)
    asked = Asked(exercise, posted.seed, learner, past, before, given, part=part)
    page = await _page(site, asked, result, rules)
    response = _response(request, page, result.status)
    if visiting.person is None:
        remember(request, response, learner, site.secret)
    return response


async def _page(site: Site, asked: Asked, result: ActionResult, rules: Assigned) -> ExercisePage:
    if view_of(asked.exercise).is_slow or size_of(asked.given) > LONG:
        return await aside(exercise_page, site, asked, result, rules)
    # Not refused if the database goes away now: an answer has been stored.
    return await site.outage.again(lambda: exercise_page(site, asked, result, rules))


async def _past(site: Site, visiting: Visitor, exercise: Exercise, seed: int) -> PastAt:
    """What the visitor has done; of one who has done nothing, nothing is asked."""
    if not visiting.learner:
        return PastAt()
    at = LearnerAt(visiting.learner, exercise.id, seed, visiting.person, site.clock())
    return await site.pasts.of(at)


async def _act(site: Site, exercise: Exercise, posted: Posted, before: PastAt) -> Acted:
    match posted.action:
        case "hint":
            number = min(before.seen.hints + 1, len(exercise.hints))
            return await _reveal(site, exercise, posted, before, number)
        case "solution":
            return await _reveal(site, exercise, posted, before, SOLUTION)
    result = await view_of(exercise).act(site, exercise, posted)
    return Acted(result, before) if result else await _check(site, exercise, posted, before)


async def _check(site: Site, exercise: Exercise, posted: Posted, before: PastAt) -> Acted:
    checked = await check(
        site,
        exercise,
        posted.seed,
        view_of(exercise).answer(site, exercise, posted),
        posted.learner,
        posted.client,
        hints=before.seen.hints,
        revealed=before.seen.solution,
        seconds=seconds_on(posted.given),
    )
    await enter_on_board(site, exercise, posted, checked.verdict, before)
    return Acted(ActionResult(verdict=checked.verdict), before.answered(checked.attempt))


async def _reveal(
    site: Site, exercise: Exercise, posted: Posted, before: PastAt, number: int
) -> Acted:
    reveal = Reveal(learner=posted.learner, exercise=exercise.id, seed=posted.seed, number=number)
    await site.writer.put(reveal)
    return Acted(ActionResult(), before.shown(number))


def seconds_on(given: Fields) -> float | None:
    """How long the page was open, where that is plausible."""
    begun = begun_at(given)
    seconds = now().timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None


def _response(request: Request, page: ExercisePage, status: int = 200) -> Response:
    if is_part(request):
        return render_part("exercise/fragment.html", page, status)
    title = f"{page.title} · {page.around.topic.text}"
    exercise = site_in(request).catalog.exercise(page.id)
    card = exercise_card(exercise, page.around.topic.text, page.seed)
    says = card.says or page.description
    topic = page.around.topic
    resource = LearningResource(
        sort="exercise",
        name=page.title,
        says=says,
        path=exercise_url(page.id),
        part_of=(topic.href, topic.text),
    )
    preview = preview_of(page.action, card)
    around = frame(request, title, says, "exercises", preview, resource=resource)
    return render("exercise/exercise.html", around, page, status)
