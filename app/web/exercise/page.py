"""The page of one exercise: read it, answer it, ask for a hint."""

import secrets
from collections.abc import Mapping, Sequence

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.db.queries import SOLUTION, Revealed, revealed
from app.db.session import open_session
from app.db.tables import Reveal, now
from app.errors import AnswerError, UnavailableError
from app.grading.check import check
from app.kinds import Exercise
from app.kinds.answers import TooLongError
from app.network.door import note_trouble
from app.site import Here, Site, site_in
from app.web.exercise.assigned import Assigned, assigned, works_of
from app.web.exercise.posted import ActionResult, Fields, Posted, seed_of
from app.web.exercise.results import refused, unavailable, unreadable
from app.web.exercise.view import Asked, ExercisePage, begun_at, exercise_page
from app.web.exercise.views import view_of
from app.web.frame.aside import aside
from app.web.frame.rendering import frame, render
from app.web.frame.resource import LearningResource
from app.web.frame.visitor import FromHere, Visiting, learner_of, remember, spend
from app.web.share.cards import exercise_card, preview_of
from app.web.urls import exercise_url

router = APIRouter(prefix="/exercises")
_FRAGMENT = "x-fragment"  # a script asks for the verdict alone
_LONGEST_SITTING = 4 * 3600  # seconds; a page left open overnight says nothing
_PART = 1000  # characters of a form that count as one more answer
_NEW_SEEDS = 1_000_000  # short enough to read out


@router.get("/{topic}/{slug}")
async def show(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str, seed: str = "0"
) -> Response:
    """The exercise as a seed draws it."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    works = works_of(site, visiting.person, exercise.id)
    rules = assigned(site, visiting.person, works, seed_of(seed))
    if rules.before:
        return RedirectResponse(rules.before, 303)
    asked = Asked(exercise, seed_of(seed), visiting.learner)
    return _response(request, await _page(site, asked, ActionResult(), rules))


@router.get("/{topic}/{slug}/another")
async def another(site: Here, topic: str, slug: str) -> Response:
    """A new drawing."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = 1 + secrets.randbelow(_NEW_SEEDS)
    return Response(status_code=303, headers={"Location": exercise_url(exercise.id, seed)})


@router.post("/{topic}/{slug}", dependencies=[FromHere])
async def answer(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str, seed: str = "0"
) -> Response:
    """The page after one of its buttons was pressed."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    learner = learner_of(visiting)
    given = await _fields(request)
    posted = Posted(seed=seed_of(seed), learner=learner, client=visiting.client, given=given)
    spend(request, site.allowances.answers, "answers", 1 + posted.size / _PART)
    works = works_of(site, visiting.person, exercise.id)
    rules = assigned(site, visiting.person, works, posted.seed)
    if rules.before:
        return RedirectResponse(rules.before, 303)
    try:
        result = refused(rules.refusal(posted.action)) or await _act(site, exercise, posted)
    except (AnswerError, TooLongError) as error:
        result = unreadable(error)
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        result = unavailable(error)
    if result.verdict:
        works = [work.answered(posted.seed) for work in works]
        rules = assigned(site, visiting.person, works, posted.seed)
    asked = Asked(exercise, posted.seed, learner, given, part=_is_part(request))
    page = await _page(site, asked, result, rules)
    response = _response(request, page, result.status)
    remember(request, response, learner, site.secret)
    return response


async def _page(site: Site, asked: Asked, result: ActionResult, rules: Assigned) -> ExercisePage:
    if view_of(asked.exercise).is_slow:
        return await aside(exercise_page, site, asked, result, rules)
    return exercise_page(site, asked, result, rules)


async def _act(site: Site, exercise: Exercise, posted: Posted) -> ActionResult:
    with open_session(site.engine) as session:
        seen = revealed(session, posted.learner, exercise.id, posted.seed)
    match posted.action:
        case "hint":
            return await _reveal(site, exercise, posted, min(seen.hints + 1, len(exercise.hints)))
        case "solution":
            return await _reveal(site, exercise, posted, SOLUTION)
    result = await view_of(exercise).act(site, exercise, posted)
    return result or await _check(site, exercise, posted, seen)


async def _check(site: Site, exercise: Exercise, posted: Posted, seen: Revealed) -> ActionResult:
    verdict = await check(
        site,
        exercise,
        posted.seed,
        view_of(exercise).answer(site, exercise, posted),
        posted.learner,
        posted.client,
        hints=seen.hints,
        revealed=seen.solution,
        seconds=_seconds(posted.given),
    )
    return ActionResult(verdict=verdict)


async def _reveal(site: Site, exercise: Exercise, posted: Posted, number: int) -> ActionResult:
    reveal = Reveal(learner=posted.learner, exercise=exercise.id, seed=posted.seed, number=number)
    await site.writer.put(reveal)
    return ActionResult()


def _seconds(given: Fields) -> float | None:
    """How long the page was open, where that is plausible."""
    begun = begun_at(given)
    seconds = now().timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None


def _is_part(request: Request) -> bool:
    return request.headers.get(_FRAGMENT) == "1"


def _response(request: Request, page: ExercisePage, status: int = 200) -> Response:
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
    return render(
        "exercise/fragment.html" if _is_part(request) else "exercise/exercise.html",
        around,
        page,
        status,
    )


async def _fields(request: Request) -> Mapping[str, Sequence[str]]:
    """The posted fields; a field may occur several times."""
    form = await request.form(max_files=0, max_fields=200)
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            # Browsers send every line break as two characters.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields
