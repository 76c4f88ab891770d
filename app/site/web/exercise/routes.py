"""The page of one exercise: read it, answer it, ask for a hint, go on from it."""

import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.errors import AnswerError, UnavailableError
from app.course.kinds import Exercise
from app.course.kinds.base import TooLongError
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.labs.results.report import Report
from app.server.aside import aside, current_payer
from app.server.aside.fair_queue import Client
from app.server.db.history import SOLUTION, ExerciseHistory, LearnerDrawing
from app.server.db.tables import Attempt, Prediction, Reveal, now
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site, site_in
from app.site.grading.check import check
from app.site.markdown import plain_words
from app.site.web.exercise import page_context
from app.site.web.exercise.lab_tests import tests_to_take
from app.site.web.exercise.view import ExercisePage, exercise_page, is_finished
from app.site.web.exercise.views import view_of
from app.site.web.frame import visitor
from app.site.web.frame.renderer import frame, render, render_part, wants_fragment
from app.site.web.labs.results import RunResult, list_finished_runs
from app.site.web.standing.chapter_choice import kept_seed
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import ROUTE_COOKIE, known_route, next_steps, review_place
from app.site.web.standing.records import open_records
from app.site.web.urls import exercise_url, seed_of


@dataclass(frozen=True, slots=True)
class ServerTools:
    """Those of a server; programs run on behalf of *client*."""

    site: Site
    learner: str
    client: Client

    @property
    def answer_limit(self) -> int:
        """Characters of an answer."""
        return self.site.settings.answer_limit

    @property
    def health(self) -> SandboxHealth:
        """Whether programs can run."""
        return self.site.runner.health

    @property
    def runner(self) -> Runner:
        """Runs programs."""
        return self.site.runner.on_behalf_of(self.client)

    @property
    def lab_trouble(self) -> str:
        """Why labs do not run; empty if they do."""
        return self.site.labs.trouble

    @property
    def gpus(self) -> int:
        """The GPUs that labs can use."""
        return self.site.labs.devices().usable

    def runs(self, lab: str) -> Sequence[RunResult]:
        """The runs of a lab that are finished."""
        return list_finished_runs(self.site, lab)

    def tests(self) -> Mapping[str, tuple[Report, str, str]]:
        """Tests that may be taken for a measurement: by name, as runs, what they are, and whose."""
        return tests_to_take(self.site, self.learner)

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction of the learner for a drawing, as JSON."""
        if not self.learner:
            return None
        with open_records(self.site, self.learner) as records:
            return records.prediction(exercise, seed)

    async def replace_prediction(self, exercise: str, seed: int, gone: str, answer: str) -> None:
        """Store the prediction *answer*; an earlier one stays, unless it is the one that is *gone*.

        Raises:
            UnavailableError: it cannot be stored.
        """
        if gone:
            await aside(self._forget, exercise, seed, gone)
        row = Prediction(learner=self.learner, exercise=exercise, seed=seed, answer=answer)
        await self.site.writer.put(row)

    def _forget(self, exercise: str, seed: int, answer: str) -> None:
        with open_records(self.site, self.learner) as records:
            records.forget_prediction(exercise, seed, answer)


router = Router(prefix="/exercises")
PART = 1000  # characters of a form that count as one more answer
_NEW_SEEDS = 1_000_000  # short enough to read out


@router.get("/{topic}/{slug}")
async def show_exercise_page(
    request: Request, site: Here, visiting: visitor.Visiting, topic: str, slug: str, seed: str = ""
) -> Response:
    """The exercise as a seed draws it."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    if not seed and (kept := kept_seed(request, topic) if exercise.from_chapter else 0):
        return RedirectResponse(exercise_url(exercise.id, kept), 303)
    number = seed_of(seed or "0")
    await draw_aside(exercise, number)
    history = await read_exercise_history(site, visiting, exercise, number)
    rules = _rules(request, site, visiting, history, number)
    if rules.redirect_to:
        return RedirectResponse(rules.redirect_to, 303)
    if (instead := site.catalog.outline.retired.get(exercise.id)) and not (seed or rules.banners):
        return RedirectResponse(exercise_url(instead), 307)  # only for now: it may be in an assignment later
    asked = page_context.ExerciseRequest(
        exercise=exercise,
        seed=number,
        learner=visiting.learner,
        moment=now(),
        history=history,
        history_before=history,
        reviewing=request.query_params.get("review") == "1",
        route=request.cookies.get(ROUTE_COOKIE, ""),
    )
    return _response(request, await build_page(site, asked, page_context.ActionResult(), rules))


@router.get("/{topic}/{slug}/another")
async def draw_another(site: Here, topic: str, slug: str) -> Response:
    """A new drawing."""
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = 1 + secrets.randbelow(_NEW_SEEDS)
    return Response(status_code=303, headers={"Location": exercise_url(exercise.id, seed)})


@router.post("/{topic}/{slug}")
async def answer_exercise(request: Request) -> Response:
    """The page after one of its buttons was pressed.

    (It asks for what it needs itself: what FastAPI adds to do so costs as much as grading.)
    """
    await visitor.from_here(request)
    site = site_in(request)
    visiting = await visitor.visitor(request, site)
    topic, slug = request.path_params["topic"], request.path_params["slug"]
    exercise = site.catalog.exercise(f"{topic}/{slug}")
    seed = seed_of(request.query_params.get("seed", "0"))
    learner = visitor.visitor_learner(visiting)
    given = await read_fields(request)
    posted = page_context.PostedForm(seed=seed, learner=learner, client=visiting.client, given=given)
    visitor.spend(site.allowances.answers, "answers", 1 + posted.size / PART)
    visitor.spend_storage(site, posted.size)
    before = await read_exercise_history(site, visiting, exercise, seed)
    await draw_aside(exercise, seed)
    rules = page_context.assignments_in(request).rules_of(before, seed) if visiting.person else page_context.FREE
    if rules.redirect_to:
        return RedirectResponse(rules.redirect_to, 303)
    result, history = await try_action(request, _act(site, exercise, posted, before, rules), before)
    asked = page_context.ExerciseRequest(
        exercise=exercise,
        seed=seed,
        learner=learner,
        moment=now(),
        history=history,
        history_before=before,
        given=given,
        fragment=wants_fragment(request),
        reviewing=request.query_params.get("review") == "1",
        route=request.cookies.get(ROUTE_COOKIE, ""),
    )
    page = await build_page(site, asked, result, _rules(request, site, visiting, history, seed))
    response = _response(request, page, result.status)
    if visiting.person is None:
        visitor.remember(request, response, learner, site.secret)
    return response


async def build_page(
    site: Site,
    asked: page_context.ExerciseRequest,
    result: page_context.ActionResult,
    rules: page_context.AssignmentRules,
) -> ExercisePage:
    """The page that was *asked* for, with what the server adds: the context of its form, ways on.

    One that takes long is built beside the event loop.
    """
    view = view_of(asked.exercise)
    if view.is_slow or page_context.form_size(asked.given) > page_context.LONG:
        return await aside(_exercise_page, site, asked, result, rules)
    # Not refused if the database goes away now: an answer has been stored.
    return await site.outage.again(lambda: _exercise_page(site, asked, result, rules))


def _exercise_page(
    site: Site,
    asked: page_context.ExerciseRequest,
    result: page_context.ActionResult,
    rules: page_context.AssignmentRules,
) -> ExercisePage:
    exercise, seed = asked.exercise, asked.seed
    tools = ServerTools(site, asked.learner, current_payer().lane)
    graded = is_finished(asked.history, exercise, seed)
    context = view_of(exercise).context(exercise, seed, tools, graded=graded)
    page = exercise_page(site.catalog, asked, result, rules, context)
    if rules.banners or not (page.is_over or asked.reviewing):  # the banner has the next exercise
        return page
    topic, day = site.catalog.topic_of(exercise), site.clock().date()
    past = read_learner_history(site, asked.learner, known_route(asked.route)).within(topic.id)
    if asked.reviewing:
        page = replace(page, review=review_place(site.catalog, past, exercise.id, day))
    if not page.is_over:
        return page
    reviewing = asked.reviewing
    steps = next_steps(site.catalog, past, topic.id, day, current=exercise.id, seed=seed, reviewing=reviewing)
    return replace(page, onward=steps)


def _rules(
    request: Request, site: Site, visiting: visitor.Visitor, history: ExerciseHistory, seed: int
) -> page_context.AssignmentRules:
    if visiting.person is None:
        return page_context.FREE
    return page_context.assignments_in(request).rules_with_banners(site.catalog, visiting.person, history, seed)


async def read_exercise_history(
    site: Site, visiting: visitor.Visitor, exercise: Exercise, seed: int
) -> ExerciseHistory:
    """What the visitor has done; of one who has done nothing, nothing is asked."""
    if not visiting.learner:
        return ExerciseHistory()
    at = LearnerDrawing(visiting.learner, exercise.id, seed)
    if visiting.person is None:
        return await site.histories.of(at)
    return await site.members.history(at, visiting.person, site.clock())


async def try_action(
    request: Request, acting: Awaitable[tuple[page_context.ActionResult, ExerciseHistory]], before: ExerciseHistory
) -> tuple[page_context.ActionResult, ExerciseHistory]:
    """What *acting* returns; *before* and what is wrong, if the answer cannot be read or something is out of order."""
    try:
        return await acting
    except (AnswerError, TooLongError) as error:
        return page_context.unreadable(error), before
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        return page_context.unavailable(error), before


async def _act(
    site: Site,
    exercise: Exercise,
    posted: page_context.PostedForm,
    before: ExerciseHistory,
    rules: page_context.AssignmentRules,
) -> tuple[page_context.ActionResult, ExerciseHistory]:
    """The result of a button, and what the learner has done with it."""
    if rules is not page_context.FREE and (why := rules.refusal(posted.action)):
        return page_context.ActionResult(state="refused", says=why, status=403), before
    seen = before.seen
    if posted.action == "hint":
        number = min(seen.hints + 1, len(exercise.hints))
        return await _reveal(site, exercise, posted, before, number)
    if posted.action == "solution":
        return await _reveal(site, exercise, posted, before, SOLUTION)
    if result := await press(site, exercise, posted):
        return result, before
    result, attempt = await grade(site, exercise, posted, before)
    return result, before.after_answer(attempt)


async def grade(
    site: Site, exercise: Exercise, posted: page_context.PostedForm, history: ExerciseHistory
) -> tuple[page_context.ActionResult, Attempt]:
    """The verdict on a posted answer, and the attempt that was stored. Raises as `check` does."""
    verdict, attempt = await check(
        site,
        exercise,
        posted.seed,
        view_of(exercise).answer(exercise, posted, ServerTools(site, posted.learner, posted.client)),
        posted.learner,
        posted.client,
        hints=history.seen.hints,
        revealed=history.seen.solution,
        seconds=page_context.seconds_on(posted.given, now()),
    )
    return page_context.ActionResult(verdict=verdict), attempt


async def press(site: Site, exercise: Exercise, posted: page_context.PostedForm) -> page_context.ActionResult | None:
    """The result of a button that only the kind of *exercise* has; None for any other button."""
    return await view_of(exercise).act(exercise, posted, ServerTools(site, posted.learner, posted.client))


async def _reveal(
    site: Site, exercise: Exercise, posted: page_context.PostedForm, before: ExerciseHistory, number: int
) -> tuple[page_context.ActionResult, ExerciseHistory]:
    reveal = Reveal(learner=posted.learner, exercise=exercise.id, seed=posted.seed, number=number)
    await site.writer.put(reveal)
    return page_context.ActionResult(), before.after_reveal(number)


async def draw_aside(exercise: Exercise, seed: int) -> None:
    """Work out what *seed* draws beside the event loop, unless it is known."""
    if not exercise.is_drawn(seed):
        await aside(exercise.prepare, seed)


async def read_fields(request: Request) -> page_context.Fields:
    """The posted fields; a field may occur several times."""
    form = await request.form(max_files=0, max_fields=200)
    return page_context.fields_of(form.multi_items())


def _response(request: Request, page: ExercisePage, status: int = 200) -> Response:
    if wants_fragment(request):
        return render_part("exercise/fragment.html", page, status)
    title = f"{page.title} · {page.around.topic.text}"
    exercise = site_in(request).catalog.exercise(page.id)
    says = plain_words(exercise.variant(page.seed).prompt) or page.description
    around = frame(request, title, says, "exercises", exercise_url(page.id, page.seed))
    return render("exercise/exercise.html", around, page, status)
