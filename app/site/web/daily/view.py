"""The page of a day's question: before the guess, and after it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from markupsafe import Markup

from app.core.charts.axes import Axis
from app.core.charts.spread import Spread, spread_drawing
from app.core.formulas import FORMULAS
from app.core.translation import translate
from app.core.units import BYTE, DOLLAR, RATIO, SECOND
from app.course.content.catalog import Catalog
from app.course.content.daily import LONGEST, DailyQuestion, daily_title, question_of
from app.course.content.glossary import mark
from app.course.explorers import EXPLORERS
from app.server.db.history import streak
from app.server.db.tables import DailyGuess
from app.site.markdown import html
from app.site.web.daily.days import ARCHIVE, daily_url
from app.site.web.daily.phrases import among, apart
from app.site.web.daily.strip import Band, band_of, strip
from app.site.web.explore.figures import TabledDrawing, tabled_drawing
from app.site.web.frame.renderer import Hyperlink
from app.site.web.reference.docstrings import documented
from app.site.web.urls import exercise_url, explorer_url, formula_url

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_FEW = 4  # equations; a formula with more is only linked


@dataclass(frozen=True, slots=True)
class FormulaView:
    """A formula that the answer is computed with."""

    link: Hyperlink
    equations: tuple[Markup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyAnswerPage:
    """What is shown after the guess; without a *band*, the guess was on another question."""

    typed: str
    own: str
    right: str
    band: Band | None
    apart: str
    why: Markup
    formulas: tuple[FormulaView, ...]
    more: tuple[Hyperlink, ...]
    spread: TabledDrawing | None
    share: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """The question of an earlier day, and how near the guess was, if there was one."""

    link: Hyperlink
    day: date
    band: Band | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Yesterday:
    """Yesterday's question with its answer."""

    link: Hyperlink
    asks: Markup
    answer: str
    own: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyPage:
    """The question of a day, for one learner."""

    question: DailyQuestion
    asks: Markup
    action: str
    unit: str
    is_counted: bool  # the unit is a noun, which has no other units beside it
    is_today: bool
    left: str
    streak: int
    typed: str
    problem: str
    answered: DailyAnswerPage | None
    yesterday: Yesterday | None
    earlier: tuple[Earlier, ...]
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class Refused:
    """A guess that was not stored, and why."""

    typed: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyRequest:
    """The question of *day*, which is today or in the archive, asked for at a *moment*.

    *guesses*: the learner's last ones, by day; *counts*: everyone's on that day, by their place.
    """

    day: date
    moment: datetime
    guesses: Mapping[date, DailyGuess]
    counts: Mapping[int, int]
    origin: str


def daily_page(course: Catalog, asked: DailyRequest, refused: Refused | None = None) -> DailyPage:
    """The page of a question of the day."""
    day, moment, guesses = asked.day, asked.moment, asked.guesses
    today = moment.date()
    row = streak(days_guessed(guesses.values()), today)
    question = question_of(day)
    guess = guesses.get(day)
    refused = refused or Refused()
    return DailyPage(
        question=question,
        asks=mark(html(question.asks)),
        action=daily_url(question.day),
        unit=question.asked.unit,
        is_counted=question.asked.scale.unit is RATIO,
        is_today=day == today,
        left=time_left(moment),
        streak=row,
        typed=refused.typed,
        problem=refused.problem,
        answered=_answered(course, asked, question, guess, row) if guess else None,
        yesterday=_yesterday(today, guesses) if day == today else None,
        earlier=tuple(_earlier(today, guesses)),
    )


def days_guessed(guesses: Collection[DailyGuess]) -> set[date]:
    """The days whose question was guessed on the day itself."""
    return {one.day for one in guesses if one.at.date() == one.day}


def time_left(moment: datetime) -> str:
    """The time from *moment* to the next question, at midnight UTC.

    >>> from datetime import UTC
    >>> time_left(datetime(2026, 3, 1, 18, 40, tzinfo=UTC))
    '5 h 20 min'
    """
    left = timedelta(days=1) - timedelta(hours=moment.hour, minutes=moment.minute)
    hours, minutes = divmod(int(left.total_seconds()) // 60, 60)
    return " ".join(([f"{hours} h"] if hours else []) + ([f"{minutes} min"] if minutes else []))


def _answered(
    course: Catalog, asked: DailyRequest, question: DailyQuestion, guess: DailyGuess, row: int
) -> DailyAnswerPage:
    is_same = guess.question == question.key
    band = band_of(guess.value, question.right) if is_same else None
    counted = row if guess.at.date() == guess.day == asked.moment.date() else 0
    return DailyAnswerPage(
        typed=guess.answer,
        own=_told(question, guess) if is_same else "",
        right=question.shown(question.right),
        band=band,
        apart=apart(guess.value / question.right) if is_same else "",
        why=mark(html(question.why)),
        formulas=tuple(_formulas(question)),
        more=tuple(_more(course, question)),
        spread=_spread(asked.counts, question, guess) if is_same else None,
        share=strip(question, band, counted, asked.origin) if band else "",
    )


def _told(question: DailyQuestion, guess: DailyGuess) -> str:
    """The value of *guess*, and what was typed, unless that says the same."""
    own, typed = question.shown(guess.value), guess.answer
    return own if own.replace(" ", "").startswith(typed.replace(" ", "")) else f"{own} ({typed})"


def _formulas(question: DailyQuestion) -> Iterator[FormulaView]:
    for name in question.formulas:
        short = name.partition(".")[2]
        link = Hyperlink(formula_url(name), short)
        equations = documented(FORMULAS[name]).equations
        yield FormulaView(link, equations if len(equations) <= _FEW else ())


def _more(course: Catalog, question: DailyQuestion) -> Iterator[Hyperlink]:
    """The exercise, where this server has it, and the explorer."""
    if exercise := course.by_id.get(question.exercise):
        yield Hyperlink(exercise_url(exercise.id), translate("Exercise: {title}", title=exercise.title))
    explorer = EXPLORERS[question.explorer]
    yield Hyperlink(explorer_url(explorer.name), translate("Explorer: {title}", title=translate(explorer.title)))


def _spread(counts: Mapping[int, int], question: DailyQuestion, guess: DailyGuess) -> TabledDrawing:
    axis, per = _axis(question)
    drawing = spread_drawing(
        Spread(
            title=translate("Everyone's guesses on this server"),
            axis=axis,
            counts=counts,
            right=question.right / per,
            own=guess.value / per,
            right_says=translate("{value}, the answer", value=_brief(question, question.right)),
            own_says=translate("{value}, you", value=_brief(question, guess.value)),
        )
    )
    says = among(counts, guess, question.right)
    return tabled_drawing(drawing, says)


def _brief(question: DailyQuestion, value: float) -> str:
    """*value* without a noun that the axis has already."""
    shown = question.shown(value)
    return shown.removesuffix(question.asked.unit).strip() if _axis(question)[0].label else shown


def _axis(question: DailyQuestion) -> tuple[Axis, float]:
    """The axis of guesses, and what one on it is in the base unit."""
    scale = question.asked.scale
    if scale.unit in (BYTE, SECOND, DOLLAR):
        return Axis("", scale.unit, log=True), 1.0
    number = question.right / scale.factor
    size, word = next((row for row in _LARGE if number >= row[0]), (1.0, ""))
    return Axis(f"{word} {scale.symbol}".strip(), RATIO, log=True), scale.factor * size


def _yesterday(today: date, guesses: Mapping[date, DailyGuess]) -> Yesterday:
    question = question_of(today - timedelta(days=1))
    guess = guesses.get(question.day)
    is_same = guess is not None and guess.question == question.key
    return Yesterday(
        link=Hyperlink(daily_url(question.day), question.title),
        asks=html(question.asks),
        answer=question.shown(question.right),
        own=question.shown(guess.value) if guess and is_same else "",
    )


def _earlier(today: date, guesses: Mapping[date, DailyGuess]) -> Sequence[Earlier]:
    days = [today - timedelta(days=ago) for ago in range(1, ARCHIVE + 1)]
    return [Earlier(Hyperlink(daily_url(day), daily_title(day)), day, _band(guesses.get(day))) for day in days]


def _band(guess: DailyGuess | None) -> Band | None:
    if guess is None or guess.question != (question := question_of(guess.day)).key:
        return None
    return band_of(guess.value, question.right)
