"""/guess: the question of the day, and those of the last days."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from app.core.charts.spread import PLACES, guess_place
from app.core.errors import AnswerError, UnavailableError, sentence
from app.core.translation import noted, translate
from app.course.content.daily import question_of
from app.server.aside import aside
from app.server.db.guesses import latest_guesses, spread_of
from app.server.db.session import open_session
from app.server.db.tables import DailyGuess
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.daily.card import daily_card
from app.site.web.daily.days import daily_url, day_called, open_day
from app.site.web.daily.view import DailyPage, DailyRequest, Refused, daily_page
from app.site.web.frame.preview import preview_of
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner

router = Router(prefix="/guess")
_SAYS = noted(
    "One question a day on the arithmetic of distributed training, the same for "
    "everyone: guess, then see the answer, its formula and everyone's guesses."
)
_STREAK_BACK = 400  # days that are searched
_PART = 1000  # characters of a form that count as one more answer
_TYPED = 200  # characters of a refused guess that are shown again


@router.get("")
async def show_today(request: Request, site: Here, visiting: Visiting) -> Response:
    """The question of today."""
    return await _shown_daily(request, site, visiting.learner, site.clock().date())


@router.get("/{day}")
async def earlier(request: Request, site: Here, visiting: Visiting, day: str) -> Response:
    """The question of *day*; one that can no longer be guessed leads to that of today."""
    asked = day_called(day, site.clock().date())
    if asked is None:
        return RedirectResponse("/guess", 303)
    return await _shown_daily(request, site, visiting.learner, asked)


@router.post("/{day}", dependencies=[FromHere])
async def guess(
    request: Request, site: Here, visiting: Visiting, day: str, guess: Annotated[str, Form()] = ""
) -> Response:
    """Store the guess, unless there is one on that day."""
    asked = open_day(day, site.clock().date())
    learner = visitor_learner(visiting)
    spend(site.allowances.answers, "answers", 1 + len(guess) / _PART)
    spend_storage(site, len(guess))
    question = question_of(asked)
    try:
        value = question.read(guess)
        row = DailyGuess(
            learner=learner,
            day=asked,
            question=question.key,
            answer=guess.strip(),
            value=value,
            place=guess_place(value, question.right),
            at=site.clock(),
        )
        await site.writer.put(row)
    except (AnswerError, UnavailableError) as error:
        refused = Refused(guess[:_TYPED], sentence(str(error)))
        status = 422
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
            status = 503
        return await _shown_daily(request, site, visiting.learner, asked, refused, status)
    response = RedirectResponse(daily_url(asked), 303)
    remember(request, response, learner, site.secret)
    return response


async def _shown_daily(
    request: Request, site: Site, learner: str, day: date, refused: Refused | None = None, status: int = 200
) -> Response:
    preview = preview_of(daily_url(day), daily_card(question_of(day)))
    around = frame(request, translate("Guess the step"), translate(_SAYS), "guess", preview)
    page: DailyPage = await aside(_daily_page, site, learner, day, around.origin, refused)
    return render("daily/guess.html", around, page, status)


def _daily_page(site: Site, learner: str, day: date, origin: str, refused: Refused | None) -> DailyPage:
    guesses = _guesses_of(site, learner)
    asked = DailyRequest(
        day=day,
        moment=site.clock(),
        guesses=guesses,
        counts=_counts(site, day) if day in guesses else {},
        origin=origin,
    )
    return daily_page(site.catalog, asked, refused)


def _guesses_of(site: Site, learner: str) -> Mapping[date, DailyGuess]:
    """The last guesses of *learner*, by day."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return {one.day: one for one in latest_guesses(session, learner, _STREAK_BACK)}


def _counts(site: Site, day: date) -> Mapping[int, int]:
    """The number of everyone's guesses on the question of *day*, by their place."""
    with open_session(site.engine) as session:
        return spread_of(session, day, question_of(day).key, PLACES)
