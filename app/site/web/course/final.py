"""/final: twenty drawn questions from the whole course, and what is strong and what to repeat."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.translation import noted, translate
from app.course.learning import FINAL_QUESTIONS, AssessmentQuestion, final_questions, tally_answers
from app.server.db.assessments import AssessedRow, assessed_by
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.course.questions import Sitting, add_question_routes, answers_in, asked_questions
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.urls import chapter_url, seed_of

router = Router(prefix="/final")
_SAYS = noted("Twenty drawn questions from the whole course, and what to repeat.")
_ABOUT = noted("One answer, without hints. A calculator is welcome.")
_DRAWS = 1_000_000
_EARLIER = 10  # finals that are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierFinal:
    """A final that the learner has begun, the latest answer to it, and its score."""

    href: str
    at: datetime
    right: int
    answered: int
    total: int


@router.get("")
def introduce_final(request: Request, site: Here, visiting: Visiting) -> Response:
    """What a final is, and those that were begun."""
    earlier = tuple(_earlier(site, visiting.learner))
    around = frame(request, translate("Final"), translate(_SAYS), "exercises")
    return render("course/finals.html", around, earlier, most=len(final_questions(site.catalog, 0)))


@router.get("/begin")
async def begin_final() -> Response:
    """A new final."""
    return RedirectResponse(f"/final/{secrets.randbelow(_DRAWS)}/1", 303)


@router.get("/{draw}")
def show_final_result(request: Request, site: Here, visiting: Visiting, draw: str) -> Response:
    """What is strong, and what to repeat."""
    sitting = _sitting(site, visiting.learner, draw)
    if not sitting.answers:
        return RedirectResponse("/final", 303)
    around = frame(request, translate("Your final"), translate(_SAYS), "exercises")
    asked = tuple(asked_questions(site, sitting))
    repeat = tuple(one for one in asked if one.outcome != "right")
    weak = {one.chapter for one in repeat}
    told = {one.chapter.href for one in asked}
    topics = (Hyperlink(chapter_url(t.id), t.title) for t in site.catalog.topics)
    return render(
        "course/final.html",
        around,
        asked,
        total=len(sitting.questions),
        onward=sitting.onward if sitting.following else "",
        strong=tuple(dict.fromkeys(one.chapter for one in asked if one.chapter not in weak)),
        repeat=repeat,
        untold=tuple(link for link in topics if link.href not in told),
        kinds=tally_answers(
            [
                (translate(one.exercise.kind_title), row.outcome == "right")
                for one in sitting.questions
                if (row := sitting.answers.get(one.number))
            ]
        ),
    )


def _sitting(site: Site, learner: str, draw: str) -> Sitting:
    """The final with the number *draw*, and what *learner* has answered.

    A question that was answered stays as it was, should the course have changed since.
    """
    answers = answers_in(site, learner, "final", seed_of(draw))
    questions = []
    for one in final_questions(site.catalog, seed_of(draw)):
        row = answers.get(one.number)
        exercise = site.catalog.by_id.get(row.exercise) if row else None
        questions.append(AssessmentQuestion(one.number, exercise, row.seed) if row and exercise else one)
    return Sitting(
        sort="final",
        title=translate("the final"),
        draw=seed_of(draw),
        questions=questions,
        answers=answers,
        total=str(len(questions)),
        about=translate(_ABOUT),
    )


def _earlier(site: Site, learner: str) -> Iterator[EarlierFinal]:
    """The finals that *learner* has begun, the latest first."""
    if not learner:
        return
    with open_session(site.engine) as session:
        rows = assessed_by(session, learner, "final")
    finals: dict[int, list[AssessedRow]] = {}
    for row in rows:
        finals.setdefault(row.draw, []).append(row)
    for draw, those in list(finals.items())[:_EARLIER]:
        yield EarlierFinal(
            href=f"/final/{draw}",
            at=those[0].at,
            right=sum(row.outcome == "right" for row in those),
            answered=len(those),
            total=max(FINAL_QUESTIONS, len(those)),
        )


add_question_routes(router, _sitting)
