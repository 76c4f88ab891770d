"""A placement or final: its questions, each an exercise that is answered once and without help."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.errors import NotFoundError, capitalize
from app.core.translation import noted, translate
from app.course.learning import AssessmentQuestion
from app.server.db.assessments import AssessedAnswer, AssessedRow, Assessment, Outcome, assessed_in
from app.server.db.history import ExerciseHistory
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.exercise import page_context, routes
from app.site.web.frame.renderer import Hyperlink, frame, render, render_part, wants_fragment
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.standing.next_steps import NextSteps, SuggestedExercise
from app.site.web.urls import chapter_url, exercise_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One placement or final: its questions as far as they are known, and the answers to them.

    *total* in words, such as “20”; *about*: what the banner above a question says.
    """

    sort: Assessment
    title: str
    draw: int
    questions: Sequence[AssessmentQuestion]
    answers: Mapping[int, AssessedRow]
    total: str
    about: str

    @property
    def href(self) -> str:
        """The page of its result."""
        return f"/{self.sort}/{self.draw}"

    @property
    def onward(self) -> str:
        """The address that leads to the first question without an answer, or to the result."""
        return f"{self.href}/next"

    @property
    def following(self) -> AssessmentQuestion | None:
        """The first question without an answer."""
        return next((one for one in self.questions if one.number not in self.answers), None)

    def address(self, number: int) -> str:
        """The page of a question."""
        return f"{self.href}/{number}"

    def question(self, number: int) -> AssessmentQuestion:
        """The question with that number.

        Raises:
            NotFoundError: the question does not exist, or its turn has not come.
        """
        for one in self.questions:
            if one.number == number:
                return one
        raise NotFoundError(translate("question {number} does not exist, or its turn has not come", number=number))


def answers_in(site: Site, learner: str, sort: Assessment, draw: int) -> Mapping[int, AssessedRow]:
    """What *learner* has answered, by the number of the question, in this order; a stranger has none."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return {row.number: row for row in assessed_in(session, learner, sort, draw)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that was answered: its chapter, and its drawing, which has the solution."""

    number: int
    title: str
    href: str
    chapter: Hyperlink
    outcome: str


def asked_questions(site: Site, sitting: Sitting) -> Iterator[AskedQuestion]:
    """The questions of *sitting* that were answered, in their order."""
    for one in sitting.questions:
        if row := sitting.answers.get(one.number):
            topic = site.catalog.topic_of(one.exercise)
            yield AskedQuestion(
                number=one.number,
                title=one.exercise.title,
                href=exercise_url(one.exercise.id, one.seed),
                chapter=Hyperlink(chapter_url(topic.id), topic.title),
                outcome=row.outcome,
            )


_COUNTED = noted("Your first answer counted.")
# Where nothing can be tried again.
_HEADINGS = {"refused": noted("Not counted"), "incorrect": noted("Not right")}
_AT_THE_END = noted("The solutions come at the end.")
_ASSIGNED = noted("This exercise is in an assignment of yours whose verdicts are still hidden: skip it.")


def add_question_routes(router: Router, read_sitting: Callable[[Site, str, str], Sitting]) -> None:
    """Add the pages of questions, of what *read_sitting* reads for a learner and a draw."""

    @router.get("/{draw}/next")
    async def go_to_next_question(site: Here, visiting: Visiting, draw: str) -> Response:
        """The first question without an answer, or the result."""
        sitting = read_sitting(site, visiting.learner, draw)
        after = sitting.following
        return RedirectResponse(sitting.address(after.number) if after else sitting.href, 303)

    @router.get("/{draw}/{number}")
    async def show_question(request: Request, site: Here, visiting: Visiting, draw: str, number: int) -> Response:
        """A question; one that is answered leads on."""
        sitting = read_sitting(site, visiting.learner, draw)
        question = sitting.question(number)
        if number in sitting.answers:
            return RedirectResponse(sitting.onward, 303)
        exercise, seed = question.exercise, question.seed
        await routes.draw_aside(exercise, seed)
        history = await routes.read_exercise_history(site, visiting, exercise, seed)
        asked = page_context.ExerciseRequest(
            exercise=exercise,
            seed=seed,
            learner=visiting.learner,
            moment=site.clock(),
            history=history,
            history_before=history,
        )
        return await _response(request, site, sitting, question, asked, page_context.ActionResult())

    @router.post("/{draw}/{number}", dependencies=[FromHere])
    async def answer_question(request: Request, site: Here, visiting: Visiting, draw: str, number: int) -> Response:
        """A question after one of its buttons was pressed."""
        sitting = read_sitting(site, visiting.learner, draw)
        question, learner = sitting.question(number), visitor_learner(visiting)
        given = await routes.read_fields(request)
        posted = page_context.PostedForm(seed=question.seed, learner=learner, client=visiting.client, given=given)
        spend(site.allowances.answers, "answers", 1 + posted.size / routes.PART)
        spend_storage(site, posted.size)
        if posted.action == "skip":
            await _store(site, sitting, question, learner, "skipped")
            response: Response = RedirectResponse(sitting.onward, 303)
        else:
            await routes.draw_aside(question.exercise, question.seed)
            before = await routes.read_exercise_history(site, visiting, question.exercise, question.seed)
            acting = _result(request, site, sitting, question, posted, before)
            result, history = await routes.try_action(request, acting, before)
            asked = page_context.ExerciseRequest(
                exercise=question.exercise,
                seed=posted.seed,
                learner=learner,
                moment=site.clock(),
                history=history,
                history_before=before,
                given=given,
                fragment=wants_fragment(request),
            )
            response = await _response(request, site, sitting, question, asked, result)
        remember(request, response, learner, site.secret)
        return response


async def _result(
    request: Request,
    site: Site,
    sitting: Sitting,
    question: AssessmentQuestion,
    posted: page_context.PostedForm,
    before: ExerciseHistory,
) -> tuple[page_context.ActionResult, ExerciseHistory]:
    exercise = question.exercise
    if why := _why_not(request, sitting, question, posted, before):
        return page_context.ActionResult(state="refused", says=why, status=403), before
    if found := await routes.press(site, exercise, posted):
        return found, before
    result, attempt = await routes.grade(site, exercise, posted, before)
    unaided = not before.seen.hints and not before.seen.solution
    is_right = result.verdict is not None and result.verdict.correct and unaided
    await _store(site, sitting, question, posted.learner, "right" if is_right else "wrong")
    return result, before.after_answer(attempt)


def _why_not(
    request: Request,
    sitting: Sitting,
    question: AssessmentQuestion,
    posted: page_context.PostedForm,
    before: ExerciseHistory,
) -> str:
    """Why an answer is refused; empty if it is not."""
    if question.number in sitting.answers:
        return translate(_COUNTED)
    assigned = page_context.assignments_in(request).rules_of(before, question.seed)
    if assigned.exam or assigned.verdict or assigned.redirect_to:
        return translate(_ASSIGNED)
    rules = page_context.AssignmentRules(hints=_no_hints(sitting), solution=translate(_AT_THE_END))
    return rules.refusal(posted.action)


def _no_hints(sitting: Sitting) -> str:
    return translate("Hints are turned off in {sitting}.", sitting=sitting.title)


async def _store(site: Site, sitting: Sitting, question: AssessmentQuestion, learner: str, outcome: Outcome) -> None:
    await site.writer.put(
        AssessedAnswer(
            learner=learner,
            assessment=sitting.sort,
            draw=sitting.draw,
            number=question.number,
            exercise=question.exercise.id,
            seed=question.seed,
            outcome=outcome,
            at=site.clock(),
        )
    )


async def _response(
    request: Request,
    site: Site,
    sitting: Sitting,
    question: AssessmentQuestion,
    asked: page_context.ExerciseRequest,
    result: page_context.ActionResult,
) -> Response:
    is_over = result.verdict is not None or question.number in sitting.answers
    banner = page_context.AssignmentBanner(
        kind=translate("Questions of"),
        title=capitalize(sitting.title),
        href=sitting.href,
        place=translate("question {number} of {total}", number=question.number, total=sitting.total),
        says=() if is_over else (sitting.about,),
        warns="",
        ends=None,
        following=Hyperlink(sitting.onward, translate("go on")) if is_over else None,
        skip="" if is_over else sitting.address(question.number),
    )
    rules = page_context.AssignmentRules(
        banners=(banner,), hints=_no_hints(sitting), solution=translate(_AT_THE_END), exam=True
    )
    page = await routes.build_page(site, asked, result, rules)
    heading = translate(_HEADINGS[page.state]) if page.state in _HEADINGS else page.heading
    # The drawing is of this page alone: the original has another address.
    own = replace(page, action=sitting.address(question.number), seed=0, heading=heading)
    if result.verdict:
        onward = SuggestedExercise(sitting.onward, translate("the next question"), translate(_AT_THE_END))
        own = replace(own, onward=NextSteps(begun=True, following=onward, review=None, is_review_first=False))
    if asked.fragment:
        return render_part("exercise/fragment.html", own, result.status)
    around = frame(request, f"{page.title} · {sitting.title}", sitting.about, "exercises")
    return render("exercise/exercise.html", around, own, result.status)
