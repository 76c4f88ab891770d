"""The key of a quantity, its mistakes, and what is said of numbers that are nearly right."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import ceil, floor, isclose
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field, field_validator

from app.core import expressions
from app.core.errors import AnswerError
from app.core.expressions.parser import FunctionCall, Name
from app.core.formulas import FORMULAS
from app.core.translation import language, localize, translate
from app.core.units import RATIO, Reading, Scale, round_inward, scale_of, show_in
from app.core.units import parse as parse_quantity
from app.course.kinds import common_mistakes
from app.course.kinds.base import Markdown, PartVerdict, Strict, ValueCache, key_told
from app.course.kinds.drawn_values import UnitName

_READ_AS = 6  # significant digits of what was typed


class ScoredMistake(Strict):
    """A wrong answer that is told a sentence, and may be worth a part of the points."""

    says: Markdown = Field(description="what was done, and what to do instead")
    score: float = Field(default=0.0, ge=0, lt=1, description="the share of the points that it is worth, such as 0.5")
    when: str = Field(default="", description="a condition, such as ranks > 8: it is a mistake only then")


def _with_its_sentence(written: object) -> object:
    """A mistake as its author wrote it, which may be its sentence alone."""
    known = isinstance(written, Mapping | ScoredMistake)
    return written if known else {"says": written}


MISTAKES = "expression: sentence, or expression: {says: sentence, score: 0.5, when: ranks > 8}"
Mistake = Annotated[ScoredMistake, BeforeValidator(_with_its_sentence, json_schema_input_type=Markdown | ScoredMistake)]


def worth_sentence(score: float) -> str:
    """The sentence on a wrong answer that is worth a share of the points; empty if it is not."""
    if not score:
        return ""
    return translate("This is worth {percent:.3g} % of the points.", percent=100 * score)


def part_sentences(parts: Mapping[str, PartVerdict], titles: Mapping[str, str], count: int = 0) -> list[str]:
    """What is said of some of *count* answers, and what a wrong one is worth of all points."""
    told = {name: worth_sentence(part.score / (count or len(parts))) for name, part in parts.items()}
    return [
        translate("{name}: {problem}", name=f"*{titles[name]}*", problem=f"{part.says} {told[name]}".strip())
        for name, part in parts.items()
        if part.says
    ]


_EXACT = 1e-9
T = TypeVar("T")
_ROUNDS = re.compile(r"\b(?:ceil|floor|round)\(")
Sort = Literal["", "count", "factor", "share", "probability", "number"]
QUANTITY = "what a plain number is, where its expression leaves that open: count, factor, share, probability, number"
_TIMES = ("x", "×", "times")
_ROUNDED = 0.01  # of a mistake: more is not lost by rounding it
_NEAR_A_MISTAKE = 0.1  # of its value: an answer farther off is another mistake


class QuantityForm(Strict):
    """A quantity and how it is given: its unit and kind, how exact, and what it adds up."""

    answer: str = Field(default="", description="a formula's name, or an expression of the drawn values")
    unit: UnitName = Field(default="", description="of a number without a unit: ms, GB, %, or empty")
    quantity: Sort = Field(default="", description=QUANTITY)
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: anything between the two is right")
    parts: dict[str, str] = Field(default_factory=dict, description="what the answer adds up: name: expression")
    part_names: dict[str, str] = Field(
        default_factory=dict, description="in a translation: what a part is called there"
    )

    @field_validator("tolerance")
    @classmethod
    def _is_a_tolerance(cls, tolerance: str) -> str:
        if tolerance != "exact" and not 0 < _share(tolerance) < 1 / 2:
            raise ValueError(f"a tolerance of {tolerance} is not between 0 and 50 %")
        return tolerance


class AskedQuantity(QuantityForm):
    """One quantity that is asked for."""

    prompt: str = Field(default="", description="what this answer is, where there are several")
    answer: str = Field(description="a formula's name, or an expression of the drawn values")
    mistakes: dict[str, Mistake] = Field(default_factory=dict, description=MISTAKES)

    def part_name(self, part: str) -> str:
        """What *part* is called in the language of the texts."""
        return self.part_names.get(part, part)

    @cached_property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    @cached_property
    def sort(self) -> str:
        """The kind of quantity: declared, or certain from the unit or the expression; else empty.

        What has a unit is an amount. Feedback that depends on the kind is not given where it is empty.
        """
        if self.scale.unit is not RATIO:
            return "amount"
        if self.quantity:
            return self.quantity
        if self.scale.factor < 1:
            return "share"
        if self.scale.symbol:
            return "factor" if self.scale.symbol in _TIMES else "count"
        rounds = self.tolerance == "exact" and self.is_rounded
        return "count" if rounds or _is_whole_formula(self.answer) else ""

    @property
    def is_rounded(self) -> bool:
        """Whether the answer rounds something."""
        return _ROUNDS.search(self.answer) is not None

    @cached_property
    def is_count(self) -> bool:
        """Whether the answer is a whole number of things."""
        return self.tolerance == "exact" and self.sort == "count"

    def slack(self, right: float) -> float:
        """How far from *right* an answer may be."""
        if self.tolerance == "exact":
            return abs(right) * _EXACT
        share = _share(self.tolerance)
        # The rounding of a double must not decide at the very edge.
        return (share if "point" in self.tolerance else abs(right) * share) * (1 + _EXACT)

    def value(self, expression: str, names: expressions.Names) -> float:
        """The value of *expression*, in the base unit of this answer.

        Raises:
            ExpressionError: it has no value, or one of another dimension.
        """
        found = expressions.evaluate(expression, names)
        if found.dimension != self.scale.unit.dimension and found.value:
            expected = self.unit or "a plain number"
            raise expressions.ExpressionError(f"{expression!r} is {found}, and the answer is in {expected}")
        return found.value

    def typed(self, value: float) -> str:
        """*value* to twelve figures, as a learner would type it."""
        return f"{value / self.scale.factor:.12g} {self.unit}".strip()

    def shown(self, value: float) -> str:
        """*value* as a person writes it, in the unit of this answer."""
        return show_in(value, self.scale)

    def foreseen(self, value: float, mistakes: Iterable[tuple[float, str]]) -> str:
        """What to say of *value* if it is one of *mistakes*, else nothing."""
        found = common_mistakes.nearest_mistake(value, [self.band_of(wrong, says) for wrong, says in mistakes], 0.0)
        return found.means if found else ""

    def band_of(self, wrong: float, means: T) -> common_mistakes.MistakeBand[T]:
        """The answers that are taken for the mistake whose value is *wrong*, and what it *means*."""
        return common_mistakes.MistakeBand(
            value=wrong,
            # A tolerance in points is wide beside a small value, and says nothing beside 0.
            near=min(self.slack(wrong), abs(wrong) * _NEAR_A_MISTAKE),
            rounded=abs(wrong) * _ROUNDED,
            means=means,
        )

    def read(self, text: str) -> Reading:
        """The quantity that a learner's *text* stands for; arithmetic in it is worked out.

        Raises:
            AnswerError: it is not a quantity.
        """
        try:
            return expressions.read_answer(text, self.scale)
        except expressions.ExpressionError as error:
            raise AnswerError(str(error)) from error

    def echo(self, reading: Reading) -> str:
        """The end of a verdict on arithmetic: its value."""
        return (
            translate(" Read as {value}.", value=show_in(reading.value, self.scale, _READ_AS))
            if reading.worked_out
            else ""
        )


@cache
def _is_whole_formula(answer: str) -> bool:
    """Whether *answer* is one formula, and that returns a whole number."""
    try:
        node = expressions.parse_expression(answer)
    except expressions.ExpressionError:  # reported where it is evaluated
        return False
    formula = FORMULAS.get(node.name) if isinstance(node, Name | FunctionCall) else None
    return formula is not None and formula.result.whole


@cache
def _share(tolerance: str) -> float:
    number, _, word = tolerance.partition(" ")
    return parse_quantity(f"{number} %" if word.startswith("point") else tolerance, RATIO)


_FIGURES, _ALL_FIGURES = 4, 13  # of a displayed value: as few as suffice
_SHOWN_OF_RANGE = 0.9  # of the accepted range, when its ends are rounded inward
_TELLING = 3  # characters of a figure that cannot be there by chance
_APART = 2.0  # tolerances between a mistake and the right answer

Fill = Callable[[str, expressions.Names], str]


def keys_of(
    asked: Mapping[str, AskedQuantity],
    names: expressions.Names,
    fill: Fill,
    numbers: common_mistakes.QuestionNumbers | None = None,
) -> dict[str, "AnswerKey"]:
    """The key of each quantity in *asked*; one may build on those before it.

    The *numbers* of the question, if it is an exercise, decide what a wrong factor can come from.

    Raises:
        ExpressionError: an expression has no value there.
    """
    known, keys = dict(names), dict[str, AnswerKey]()
    for name, one in asked.items():
        right = one.value(one.answer, known)
        known[name] = expressions.Quantity(right, one.scale.unit.dimension)
        other = one.value(one.accept, known) if one.accept else right
        slack = one.slack(right)
        keys[name] = AnswerKey(
            asked=one,
            right=right,
            slack=slack,
            low=min(right, other) - slack,
            high=max(right, other) + slack,
            names=dict(known),
            fill=fill,
            numbers=numbers,
            keys=keys,
        )
    return keys


@dataclass(frozen=True, kw_only=True)
class AnswerKey:
    """The range that counts as right in one variant, and the mistakes with their feedback."""

    asked: AskedQuantity
    right: float
    slack: float
    low: float
    high: float
    names: expressions.Names = field(repr=False)
    fill: Fill = field(repr=False)
    numbers: common_mistakes.QuestionNumbers | None = None
    keys: Mapping[str, "AnswerKey"] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def listed(self) -> Mapping[str, ScoredMistake]:
        """The listed mistakes that are mistakes in this variant, by their expressions.

        Raises:
            ExpressionError: a condition has no value there.
        """
        asked = self.asked.mistakes.items()
        return {
            text: mistake for text, mistake in asked if not mistake.when or expressions.holds(mistake.when, self.names)
        }

    @cached_property
    def mistakes(self) -> tuple[tuple[float, str], ...]:
        """The values of the listed mistakes with their feedback, worked out on demand.

        Raises:
            ExpressionError: an expression has no value there.
        """
        return tuple(
            (self.asked.value(expression, self.names), self.fill(mistake.says, self.names))
            for expression, mistake in self.listed.items()
        )

    @cached_property
    def _bands(self) -> tuple[common_mistakes.MistakeBand[tuple[str, float]], ...]:
        """The listed mistakes: what is said of each, and the share of the points that it is worth.

        A number of things may be rounded up, down or not at all, however the mistake is.
        """
        told = [
            (value, (says, one.score)) for (value, says), one in zip(self.mistakes, self.listed.values(), strict=True)
        ]
        if self.asked.is_count:
            for expression, (_, means) in zip(self.listed, list(told), strict=True):
                value = expressions.unrounded(expression, self.names)
                told += [(float(rounded), means) for rounded in {value, floor(value), ceil(value)}]
        return tuple(self.asked.band_of(wrong, means) for wrong, means in told)

    @cached_property
    def _verdicts(self) -> ValueCache[tuple[str, Reading], PartVerdict]:
        return ValueCache()

    def _mistaken(self, reading: Reading) -> tuple[str, float]:
        """What is said of a wrong *reading* that is a listed mistake, and its share of the points; else nothing."""
        # Where the right value rounds to the same number, too few digits are what is wrong.
        step = 0.0 if abs(reading.value - self.right) <= reading.step / 2 else reading.step
        found = common_mistakes.nearest_mistake(reading.value, self._bands, step)
        return found.means if found else ("", 0.0)

    def holds(self, reading: Reading) -> bool:
        """Whether *reading* counts as right, in one of the ways to read it."""
        return any(value is not None and self.low <= value <= self.high for value in (reading.value, reading.other))

    def judge(self, reading: Reading) -> PartVerdict:
        """The verdict on *reading*, remembered: many of a class send the same answer to the same drawing."""
        return self._verdicts.of((language(), reading), lambda: self._judge(reading))

    def _judge(self, reading: Reading) -> PartVerdict:
        if self.holds(reading):
            return PartVerdict(True, self.praise() + self.asked.echo(reading))
        listed = self._mistaken(reading)
        says = self.blame(reading, listed[0])
        is_said = says.startswith(localize(self.asked.shown(reading.value)))
        wordings = (mistake.says for mistake in self.listed.values())
        told = key_told(says, (text for _, text in self.mistakes), wordings)
        says = localize(says)
        says = says if is_said else says + self.asked.echo(reading)
        return PartVerdict(False, says, told, listed[1])

    def shown(self) -> str:
        """The right value as a person writes it, to as many figures as count as right."""
        scale = self.asked.scale
        for digits in range(_FIGURES, _ALL_FIGURES):
            if self.low <= float(f"{self.right / scale.factor:.{digits}g}") * scale.factor <= self.high:
                return show_in(self.right, scale, digits)
        return self.asked.typed(self.right)

    def praise(self) -> str:
        """Feedback on a right answer."""
        if self.asked.tolerance == "exact":
            return translate("Right: {value}.", value=self._told[0])
        value, low, high = self._told
        return translate("Right: {value}. Anything from {low} to {high} counts.", value=value, low=low, high=high)

    @cached_property
    def _told(self) -> tuple[str, str, str]:
        """The right value and the ends of the accepted range, to as many figures as tell them apart."""
        if self.asked.tolerance == "exact":
            return self.shown(), "", ""
        scale = self.asked.scale
        least, most = self.low / scale.factor, self.high / scale.factor
        for digits in range(_FIGURES, _ALL_FIGURES):
            low, high = round_inward(least, most, digits)
            if high - low >= _SHOWN_OF_RANGE * (most - least):
                break
        return self.shown(), show_in(low * scale.factor, scale, digits), show_in(high * scale.factor, scale, digits)

    def blame(self, reading: Reading, listed: str | None = None) -> str:
        """Feedback on a wrong answer: the mistake behind it, which is the *listed* one where the caller has looked."""
        shown = self.asked.shown(reading.value)
        is_large = reading.value > self.right
        return self.diagnosis(reading, listed) or (
            translate("{value} is too large.", value=shown)
            if is_large
            else translate("{value} is too small.", value=shown)
        )

    def diagnosis(self, reading: Reading, listed: str | None = None) -> str:
        """The mistake behind a wrong answer; empty where its value does not give it away."""
        scale, sort = self.asked.scale, self.asked.sort
        return (
            self._in_the_wrong_unit(reading)
            or (self._mistaken(reading)[0] if listed is None else listed)
            or self._of_another(reading)
            or self._common(reading)
            or self._too_coarse(reading)
            or (self.asked.is_count and common_mistakes.not_whole(reading, self.right, scale))
            or common_mistakes.no_factor(reading, self.right, scale, self.slack, sort)
            # Predictions are estimates: nothing is said of them from the numbers of a question.
            or (
                common_mistakes.told_by_the_question(reading, self.right, scale, self.numbers, sort)
                if self.numbers
                else ""
            )
        )

    def _too_coarse(self, reading: Reading) -> str:
        """Feedback on too few digits, unless that is what a term of the file makes."""
        says = common_mistakes.too_coarse(reading, self.right, self.asked.tolerance, self.asked.scale)
        return "" if says and self._is_made_by_a_term(reading.value) else says

    def _is_made_by_a_term(self, value: float) -> bool:
        """Whether the question shows *value*, or a part of the answer or of a mistake is or leaves it."""
        dimension = self.asked.scale.unit.dimension
        made = list(self.names.values())
        for expression in (self.asked.answer, *self.listed):
            made += expressions.values_of_terms(expression, self.names)
        counts = self.numbers.counts if self.numbers and self.asked.scale.unit is RATIO else ()
        known = [one.value for one in made if one.dimension == dimension and one.value != self.right]
        return any(isclose(value, one, rel_tol=_EXACT) for one in (*known, *counts))

    def _in_the_wrong_unit(self, reading: Reading) -> str:
        """Feedback on 1.75 Gb where 1.75 GB is right, unless a listed mistake is as near."""
        typed, shown = reading.scale, self.asked.scale
        if typed is None:
            return ""
        off = abs(reading.value - self.right * typed.factor / shown.factor)
        if any(abs(reading.value - wrong) <= off for wrong, _ in self.mistakes):
            return ""
        return common_mistakes.in_the_wrong_unit(reading.value, self.right, self.slack, typed, shown)

    def _of_another(self, reading: Reading) -> str:
        """Feedback on the right answer to another part of the question."""
        dimension = self.asked.scale.unit.dimension
        for key in self.keys.values():
            is_alike = key is not self and key.asked.scale.unit.dimension == dimension
            if is_alike and key.holds(reading) and (title := self.fill(key.asked.prompt, key.names)):
                return translate("That is the answer to another part: *{title}*.", title=title)
        return ""

    def _common(self, reading: Reading) -> str:
        shown, right = self.asked.scale, self.right
        eight = self.numbers is not None and self.numbers.has_eight
        if reading.scale is None and (
            says := common_mistakes.in_another_unit(reading.value, right, self.slack, shown, has_eight=eight)
        ):
            return says
        if not right or common_mistakes.is_trivial(right, shown) or common_mistakes.is_trivial(reading.value, shown):
            return ""
        off = self.slack / abs(right)
        if off:  # a number may be typed to fewer digits than count as right
            off = max(off, reading.step / 2 / abs(reading.value) if reading.value else 0)
        ratio = reading.value / right
        return common_mistakes.common_mistake(ratio, reading.scale or shown, off, has_eight=eight)

    def clashes(self) -> Iterator[tuple[str, str]]:
        """Each listed mistake too close to the right answer or to another mistake, and why.

        Raises:
            ExpressionError: a mistake has no value there.
        """
        seen: dict[str, float] = {}
        for expression, (value, _) in zip(self.listed, self.mistakes, strict=True):
            room = self.slack * (_APART - 1)
            if self.low - room <= value <= self.high + room:
                near, right = self.asked.shown(value), self.asked.shown(self.right)
                says = f"is {near}, within twice the tolerance of the right answer, {right}"
                yield expression, says
            for other, earlier in seen.items():
                if abs(value - earlier) <= _APART * self.asked.slack(earlier):
                    yield expression, f"cannot be told apart from the mistake {other!r}"
            seen[expression] = value


def telling_figures(keys: Iterable[AnswerKey]) -> set[str]:
    """The right values of *keys* without units, unless too short to be telling."""
    shown = {key.asked.shown(key.right).split()[0] for key in keys}
    figures = shown | {figure.replace(",", "") for figure in shown}
    return {figure for figure in figures if len(figure) >= _TELLING}
