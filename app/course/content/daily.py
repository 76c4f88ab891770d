"""Guess the step: one question per day, the same on every server with this version of the course.

The questions have numbers of their own, so that none gives away the answer to an exercise.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from hashlib import sha256
from itertools import product
from pathlib import Path

from pydantic import Field, ValidationError

from app.core.errors import AnswerError
from app.core.expressions import Quantity, fill, holds
from app.core.translation import SOURCE, speaking, translate
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.refusals import refusal_of
from app.course.kinds.drawn_values import Draw, DrawnChoices, DrawnValue, UnitName, draw, shuffled
from app.course.kinds.quantity import AskedQuantity
from app.course.kinds.strict import Markdown, Strict
from app.course.kinds.unclear_numbers import refuse_unclear

FIRST = date(2026, 1, 1)  # its question has the number 1
LONGEST = 200  # characters of a guess
_FILE = Path(__file__).parent / "data" / "steps.yaml"
_STRIDE = 17  # from one day to the next, so that neighbors in the file are days apart
_FORMULA = re.compile(r"\b[a-z_]+\.[a-z0-9_]+(?=\()")
_COUNTS = ("", "1/s")  # units of values that are written as 3 million, where they are large
_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_FAR = 1e16  # beyond it, a power of ten reads better
_FIGURES = 4
_KEPT = 128  # questions that are remembered
Case = Mapping[str, DrawnValue]


class _QuestionInFile(Strict):
    """A question, as written in its file."""

    title: str = Field(max_length=60)
    asks: Markdown
    given: dict[str, DrawnChoices]
    let: dict[str, str] = {}
    where: str = ""
    answer: str
    unit: UnitName
    why: Markdown
    exercise: str
    explorer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyQuestion:
    """The question of a day; texts are Markdown, *right* is in the base unit.

    The *key* tells it from what another version of the course may ask on that day.
    """

    day: date
    key: str
    title: str
    asks: str
    why: str
    asked: AskedQuantity
    right: float
    formulas: tuple[str, ...]
    exercise: str
    explorer: str

    @property
    def number(self) -> int:
        """Its number: that of the day."""
        return (self.day - FIRST).days + 1

    def read(self, text: str) -> float:
        """The guess in *text*, in the base unit.

        Raises:
            AnswerError: it is not a positive quantity of this question's dimension.
        """
        if not text.strip():
            raise AnswerError(translate("the guess is empty: enter a number"))
        if len(text) > LONGEST:
            raise AnswerError(translate("a guess has at most {longest} characters", longest=LONGEST))
        refuse_unclear(text)
        value = self.asked.read(text).value
        if value <= 0:
            raise AnswerError(translate("a guess must be larger than 0"))
        return value

    def shown(self, value: float) -> str:
        """*value* as a person says it."""
        return _shown_daily(self.asked, value)


def question_of(day: date) -> DailyQuestion:
    """The question of *day*; two days get the same one only after years.

    Every question of the file comes once, with new numbers, before any comes again.
    """
    return _question(day)


def daily_title(day: date) -> str:
    """The title of the question of *day*, without working it out."""
    return written_questions()[_turn(day)[0]].title


def _turn(day: date) -> tuple[str, int]:
    """The question of *day*, by name, and how often it was asked before."""
    names = list(written_questions())
    turn, place = divmod(day.toordinal(), len(names))
    return names[place * _STRIDE % len(names)], turn


@lru_cache(maxsize=_KEPT)
def _question(day: date) -> DailyQuestion:
    with speaking(SOURCE):  # its texts are English on every page
        return _english_question(day)


def _english_question(day: date) -> DailyQuestion:
    name, turn = _turn(day)
    written, choices = written_questions()[name], cases(name)
    drawn = _drawn(written, choices[turn % len(choices)])
    asked = AskedQuantity(answer=written.answer, unit=written.unit)
    right = asked.value(written.answer, drawn.names)
    answer = Quantity(right, asked.scale.unit.dimension)
    asks = fill(written.asks, drawn.names, drawn.shown).strip()
    why = fill(written.why, {**drawn.names, "answer": answer}, {**drawn.shown, "answer": _shown_daily(asked, right)})
    return DailyQuestion(
        day=day,
        key=f"{name} {sha256(f'{asks} {right:.9g}'.encode()).hexdigest()[:12]}",
        title=written.title,
        asks=asks,
        why=why.strip(),
        asked=asked,
        right=right,
        formulas=tuple(dict.fromkeys(_FORMULA.findall(f"{written.answer} {' '.join(written.let.values())}"))),
        exercise=written.exercise,
        explorer=written.explorer,
    )


@cache
def written_questions() -> dict[str, _QuestionInFile]:
    """The questions of the file, by name.

    Raises:
        ContentError: the file is not valid.
    """
    document = read_document(_FILE)
    return {name: _written(document, name) for name in document.values}


def _written(document: YamlDocument, name: str) -> _QuestionInFile:
    try:
        return _QuestionInFile.model_validate(document.values[name])
    except ValidationError as error:
        raise refusal_of(document, error, _QuestionInFile, (name,)) from error


@cache
def cases(name: str) -> list[Case]:
    """Every choice of numbers for the question called *name*, in an order of its own."""
    written = written_questions()[name]
    values = product(*written.given.values())
    found = [dict(zip(written.given, one, strict=True)) for one in values]
    if written.where:
        found = [one for one in found if holds(written.where, _drawn(written, one).names)]
    return shuffled(int.from_bytes(sha256(name.encode()).digest()[:4]), found)


def _drawn(written: _QuestionInFile, case: Case) -> Draw:
    return draw(0, {}, [case], written.let, "")


def _shown_daily(asked: AskedQuantity, value: float) -> str:
    """*value* to a few figures, large counts in words."""
    unit, symbol = asked.scale.unit.symbol, asked.scale.symbol
    number = float(f"{value / asked.scale.factor:.{_FIGURES}g}")
    if unit not in _COUNTS or asked.scale.factor != 1 or number > _FAR:
        return asked.shown(float(f"{value:.{_FIGURES}g}"))
    size, word = next((row for row in _LARGE if number >= row[0]), (1.0, ""))
    text = f"{number / size:,.10g} {word}".strip()
    return f"{text} {symbol}".strip()
