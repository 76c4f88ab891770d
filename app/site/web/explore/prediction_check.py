"""A prediction, judged like the answer to an exercise that asks for the same number."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from app.core.errors import AnswerError, sentence
from app.core.expressions import ExpressionError
from app.core.translation import translate, translate_known
from app.core.units import Reading
from app.course.content.catalog import Catalog
from app.course.content.errata import mark
from app.course.explorers.base import Explorer, KeyFigure, Values
from app.course.kinds.answer_key import AnswerKey, AskedQuantity
from app.course.kinds.numeric import Numeric, refuse_unclear
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import exercise_url

_NEAR = "2 %"
_SAME = 1e-3  # relative: an exercise asks for the number that is shown
_FAR = 2.0  # times; from here on the feedback gives a factor, below a percentage
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionVerdict:
    """The verdict on a prediction; *near*: whether it is right, None if it is not a number.

    *why* is the mistake behind a wrong one, where it is known; *practice* is the exercise that asks
    for the same number.
    """

    near: bool | None
    says: str
    why: Markup = Markup("")
    practice: Hyperlink | None = None


def judge_prediction(
    catalog: Catalog, explorer: Explorer, values: Values, fact: KeyFigure, text: str
) -> PredictionVerdict:
    """The verdict on *text* as a prediction of *fact*; a bare number is in the unit of the fact."""
    if fact.exact is None:
        raise ValueError(f"{fact.label} is not a number")
    key, typed = _key(fact, fact.exact), text[:_LONGEST].strip()
    try:
        reading = read_prediction(key.asked, text[:_LONGEST])
    except AnswerError as error:
        return PredictionVerdict(near=None, says=sentence(str(error)))
    typed += f" ({key.asked.shown(reading.value)})" if reading.worked_out else ""
    told = {"typed": typed, "label": translate_known(fact.label), "value": fact.value}
    if key.holds(reading):
        says = translate("You predicted {typed}. Right: {label} is {value}.", **told)
        return PredictionVerdict(near=True, says=says)
    mistakes = [*_of_the_exercise(catalog, explorer, values, fact.exact)]
    mistakes += explorer.foreseen.others(values)
    why = key.asked.foreseen(reading.value, mistakes) or key.diagnosis(reading)
    says = translate("You predicted {typed}; {label} is {value}.", **told)
    exercise = _exercise(catalog, explorer)
    return PredictionVerdict(
        near=False,
        says=f"{says}{_apart(reading.value, fact.exact)}" if not why else says,
        why=mark(inline_html(why)),
        practice=Hyperlink(exercise_url(exercise.id), exercise.title) if exercise else None,
    )


def _key(fact: KeyFigure, right: float) -> AnswerKey:
    """The range that counts as right."""
    unit = fact.value.rpartition(" ")[2]
    asked = AskedQuantity(answer=fact.label, unit="" if unit[:1].isdigit() else unit, tolerance=_NEAR)
    slack = asked.slack(right)
    return AnswerKey(
        asked=asked,
        right=right,
        slack=slack,
        low=right - slack,
        high=right + slack,
        names={},
        fill=lambda says, _: says,
    )


def read_prediction(asked: AskedQuantity, text: str) -> Reading:
    """The number in *text*; of a share, 0.27 is 27 %, and so is 27.

    Raises:
        AnswerError: it is not a quantity.
    """
    refuse_unclear(text)
    if asked.unit == "%" and "%" not in text:
        reading = AskedQuantity(answer=asked.answer).read(text)
        if reading.value <= 1:
            return reading
    return asked.read(text)


def _exercise(catalog: Catalog, explorer: Explorer) -> Numeric | None:
    """The exercise that asks for the number, where the course has it."""
    found = catalog.by_id.get(explorer.foreseen.exercise)
    return found if isinstance(found, Numeric) else None


def _of_the_exercise(catalog: Catalog, explorer: Explorer, values: Values, right: float) -> Iterator[tuple[float, str]]:
    """The wrong answers that the exercise knows, if it asks for the number in this state, too."""
    exercise = _exercise(catalog, explorer)
    if exercise is None:
        return
    try:
        key = exercise.keys_at(explorer.foreseen.given(values))[explorer.foreseen.answer]
        if math.isclose(key.right, right, rel_tol=_SAME):
            yield from key.mistakes
    except (ExpressionError, ValueError):
        return  # the exercise has no answer there: its formulas are defined for fewer numbers


def _apart(value: float, exact: float) -> str:
    """How far *value* is from *exact*, where that can be said."""
    if exact == 0 or value / exact <= 0:
        return ""
    ratio = value / exact
    far, percent = max(ratio, 1 / ratio), 100 * abs(ratio - 1)
    if far >= _FAR and ratio > 1:
        return translate(" Your prediction is too high by a factor of {factor:.3g}.", factor=far)
    if far >= _FAR:
        return translate(" Your prediction is too low by a factor of {factor:.3g}.", factor=far)
    if ratio > 1:
        return translate(" Your prediction is {percent:.2g} % too high.", percent=percent)
    return translate(" Your prediction is {percent:.2g} % too low.", percent=percent)
