"""A question of the placement or of a final: an exercise, answered once and without help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.aside import aside
from app.db.assessments import Assessed, AssessedRow, Assessment, Outcome, assessed_in
from app.db.session import open_session
from app.errors import AnswerError, NotFoundError, UnavailableError, capitalized
from app.grading.check import check
from app.kinds.answers import TooLongError
from app.learning.placing import Question
from app.network.door import note_trouble
from app.people.past import LearnerAt, PastAt
from app.site import Site
from app.translation import noted, translate
from app.web.exercise.around import Asked
from app.web.exercise.assigned import Assigned, Strip, rules_of
from app.web.exercise.page import PART, seconds_on
from app.web.exercise.posted import (
    LONG,
    ActionResult,
    Posted,
    draw_aside,
    fields_of,
    is_part,
    size_of,
)
from app.web.exercise.results import refused, unavailable, unreadable
from app.web.exercise.view import ExercisePage, exercise_page
from app.web.exercise.views import view_of
from app.web.frame.rendering import Hyperlink, frame, render, render_part
from app.web.frame.visitor import Visitor, learner_of, remember, spend, spend_storage
from app.web.standing.onward import Onward, Suggested
from app.web.urls import seed_of

_COUNTED = noted("Your first answer counted.")
# Where nothing can be tried again.
_HEADINGS = {"refused": noted("Not counted"), "incorrect": noted("Not right")}
_AT_THE_END = noted("The solutions come at the end.")
_ASSIGNED = noted(
    "This exercise is in an assignment of yours whose verdicts are still hidden: skip it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One placement or final: its questions as far as they are known, and the answers to them.

    *total* in words, such as “20”; *about*: what the strip above a question says.
    """

    sort: Assessment
    title: str
    draw: int
    questions: Sequence[Question]
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
    def following(self) -> Question | None:
        """The first question without an answer."""
        return next((one for one in self.questions if one.number not in self.answers), None)

    def address(self, number: int) -> str:
        """The page of a question."""
        return f"{self.href}/{number}"

    def question(self, number: int) -> Question:
        """The question with that number.

        Raises:
            NotFoundError: there is no such question, or not yet.
        """
        for one in self.questions:
            if one.number == number:
                return one
        raise NotFoundError(
            translate("there is no question {number} here, or not yet", number=number)
        )


def draw_of(text: str) -> int:
    """The number of a draw in an address.

    Raises:
        NotFoundError: it is not a number of a draw.
    """
    return seed_of(text)


def answers_in(site: Site, learner: str, sort: Assessment, draw: int) -> Mapping[int, AssessedRow]:
    """What *learner* has answered, by the number of the question; a stranger has none."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return {row.number: row for row in assessed_in(session, learner, sort, draw)}


async def shown(
    request: Request, site: Site, visiting: Visitor, sitting: Sitting, number: int
) -> Response:
    """The page of a question; one that is answered leads on."""
    question = sitting.question(number)
    if number in sitting.answers:
        return RedirectResponse(sitting.onward, 303)
    await draw_aside(question.exercise, question.seed)
    past = await _past(site, visiting, question)
    asked = Asked(question.exercise, question.seed, visiting.learner, past, past)
    return await _response(request, site, sitting, question, asked, ActionResult())


async def acted(
    request: Request, site: Site, visiting: Visitor, sitting: Sitting, number: int
) -> Response:
    """The page after a button of a question was pressed."""
    question, learner = sitting.question(number), learner_of(visiting)
    given = await fields_of(request)
    posted = Posted(seed=question.seed, learner=learner, client=visiting.client, given=given)
    spend(request, site.allowances.answers, "answers", 1 + posted.size / PART)
    spend_storage(request, site, visiting, posted.size)
    if posted.action == "skip":
        await _store(site, sitting, question, learner, "skipped")
        response: Response = RedirectResponse(sitting.onward, 303)
    else:
        await draw_aside(question.exercise, question.seed)
        before = await _past(site, visiting, question)
        result, past = await _tried(request, site, sitting, question, posted, before)
        part = is_part(request)
        asked = Asked(question.exercise, posted.seed, learner, past, before, given, part=part)
        response = await _response(request, site, sitting, question, asked, result)
    remember(request, response, learner, site.secret)
    return response


async def _tried(
    request: Request,
    site: Site,
    sitting: Sitting,
    question: Question,
    posted: Posted,
    before: PastAt,
) -> tuple[ActionResult, PastAt]:
    """What became of an answer, and what the learner has done then."""
    try:
        return await _result(site, sitting, question, posted, before)
    except (AnswerError, TooLongError) as error:
        return unreadable(error), before
    except UnavailableError as error:
        note_trouble(request, error, error.cause)
        return unavailable(error), before


async def _result(
    site: Site, sitting: Sitting, question: Question, posted: Posted, before: PastAt
) -> tuple[ActionResult, PastAt]:
    exercise = question.exercise
    if refusal := refused(_why_not(sitting, question, posted, before)):
        return refusal, before
    view = view_of(exercise)
    if found := await view.act(site, exercise, posted):
        return found, before
    checked = await check(
        site,
        exercise,
        posted.seed,
        view.answer(site, exercise, posted),
        posted.learner,
        posted.client,
        hints=before.seen.hints,
        revealed=before.seen.solution,
        seconds=seconds_on(posted.given),
    )
    unaided = not before.seen.hints and not before.seen.solution
    is_right = checked.verdict.correct and unaided
    await _store(site, sitting, question, posted.learner, "right" if is_right else "wrong")
    return ActionResult(verdict=checked.verdict), before.answered(checked.attempt)


def _why_not(sitting: Sitting, question: Question, posted: Posted, before: PastAt) -> str:
    """Why an answer is refused; empty if it is not."""
    if question.number in sitting.answers:
        return translate(_COUNTED)
    assigned = rules_of(before.works, question.seed)
    if assigned.exam or assigned.verdict or assigned.before:
        return translate(_ASSIGNED)
    rules = Assigned(hints=_no_hints(sitting), solution=translate(_AT_THE_END))
    return rules.refusal(posted.action)


def _no_hints(sitting: Sitting) -> str:
    return translate("There are no hints in {sitting}.", sitting=sitting.title)


async def _store(
    site: Site, sitting: Sitting, question: Question, learner: str, outcome: Outcome
) -> None:
    await site.writer.put(
        Assessed(
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


async def _past(site: Site, visiting: Visitor, question: Question) -> PastAt:
    if not visiting.learner:
        return PastAt()
    at = LearnerAt(
        visiting.learner, question.exercise.id, question.seed, visiting.person, site.clock()
    )
    return await site.pasts.of(at)


async def _response(
    request: Request,
    site: Site,
    sitting: Sitting,
    question: Question,
    asked: Asked,
    result: ActionResult,
) -> Response:
    is_over = result.verdict is not None or question.number in sitting.answers
    rules = Assigned(
        strips=(_strip(sitting, question, is_over=is_over),),
        hints=_no_hints(sitting),
        solution=translate(_AT_THE_END),
        exam=True,
    )
    page = await _page(site, asked, result, rules)
    heading = translate(_HEADINGS[page.state]) if page.state in _HEADINGS else page.heading
    # The drawing is of this page alone: the original has another address.
    own = replace(page, action=sitting.address(question.number), seed=0, heading=heading)
    if result.verdict:
        onward = Suggested(sitting.onward, translate("the next question"), translate(_AT_THE_END))
        own = replace(own, onward=Onward(begun=True, following=onward, review=None, due=0))
    if asked.part:
        return render_part("exercise/fragment.html", own, result.status)
    around = frame(request, f"{page.title} · {sitting.title}", sitting.about, "exercises")
    return render("exercise/exercise.html", around, own, result.status)


async def _page(site: Site, asked: Asked, result: ActionResult, rules: Assigned) -> ExercisePage:
    if view_of(asked.exercise).is_slow or size_of(asked.given) > LONG:
        return await aside(exercise_page, site, asked, result, rules)
    return exercise_page(site, asked, result, rules)


def _strip(sitting: Sitting, question: Question, *, is_over: bool) -> Strip:
    return Strip(
        kind=translate("Questions of"),
        title=capitalized(sitting.title),
        href=sitting.href,
        place=translate(
            "question {number} of {total}", number=question.number, total=sitting.total
        ),
        says=() if is_over else (sitting.about,),
        warns="",
        ends=None,
        following=Hyperlink(sitting.onward, translate("go on")) if is_over else None,
        skip="" if is_over else sitting.address(question.number),
    )
