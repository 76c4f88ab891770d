"""A quantity that an exercise asks for, its tolerance, and feedback on wrong answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from pydantic import Field, field_validator

from app.errors import AnswerError
from app.expressions import ExpressionError, Names, Quantity, evaluate, read_answer
from app.kinds.answers import PartVerdict
from app.kinds.common_mistakes import common_mistake, in_another_unit
from app.kinds.diagnosis_key import key_told
from app.kinds.drawn_values import UnitName
from app.kinds.near_misses import no_factor, not_whole, too_coarse
from app.kinds.strict import Strict
from app.translation import localized, translate
from app.units import RATIO, Reading, Scale, inward, scale_of, show_in
from app.units import parse as parse_quantity

_EXACT = 1e-9
_FIGURES, _ALL_FIGURES = 4, 13  # of a displayed value: as few as suffice
_READ_AS = 6  # figures of a value that the learner typed
_SHOWN_OF_RANGE = 0.9  # of the accepted range, when its ends are rounded inward
_ROUNDED = 0.01  # of a mistake: more is not lost by rounding it
_NEAR_A_MISTAKE = 0.1  # of its value: an answer farther off is another mistake
_TELLING = 3  # characters of a figure that cannot be there by chance
_APART = 2.0  # tolerances between a mistake and the right answer


class AskedQuantity(Strict):
    """One quantity that is asked for."""

    prompt: str = Field(default="", description="what this answer is, where there are several")
    answer: str = Field(description="a formula's name, or an expression of the drawn values")
    unit: UnitName = Field(
        default="", description="of a number without a unit: ms, GB, %, or empty"
    )
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: anything between the two is right")
    mistakes: dict[str, str] = Field(default_factory=dict, description="expression: sentence")
    parts: dict[str, str] = Field(default_factory=dict, description="what it adds up, by name")
    part_names: dict[str, str] = Field(
        default_factory=dict, description="in a translation: what a part is called there"
    )

    @field_validator("tolerance")
    @classmethod
    def _is_a_tolerance(cls, tolerance: str) -> str:
        if tolerance != "exact" and not 0 < _share(tolerance) < 1 / 2:
            raise ValueError(f"a tolerance of {tolerance} is not between 0 and 50 %")
        return tolerance

    def part_name(self, part: str) -> str:
        """What *part* is called in the language of the texts."""
        return self.part_names.get(part, part)

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    def slack(self, right: float) -> float:
        """How far from *right* an answer may be."""
        if self.tolerance == "exact":
            return abs(right) * _EXACT
        share = _share(self.tolerance)
        # The rounding of a double must not decide at the very edge.
        return (share if "point" in self.tolerance else abs(right) * share) * (1 + _EXACT)

    def value(self, expression: str, names: Names) -> float:
        """The value of *expression*, in the base unit of this answer.

        Raises:
            ExpressionError: it has no value, or one of another dimension.
        """
        found = evaluate(expression, names)
        if found.dimension != self.scale.unit.dimension and found.value:
            expected = self.unit or "a plain number"
            raise ExpressionError(f"{expression!r} is {found}, and the answer is in {expected}")
        return found.value

    def typed(self, value: float) -> str:
        """*value* to twelve figures, as a learner would type it."""
        return f"{value / self.scale.factor:.12g} {self.unit}".strip()

    def shown(self, value: float) -> str:
        """*value* as a person writes it, in the unit of this answer."""
        return show_in(value, self.scale)

    def foreseen(
        self, value: float, mistakes: Iterable[tuple[float, str]], step: float = 0.0
    ) -> str:
        """What to say of *value* if it is one of *mistakes*, else nothing.

        A value that was typed to a *step* may be a mistake that was rounded to it.
        """
        for wrong, says in mistakes:
            # A tolerance in points is wide beside a small value, and says nothing beside 0.
            near = min(self.slack(wrong), abs(wrong) * _NEAR_A_MISTAKE)
            rounded = min(step / 2, abs(wrong) * _ROUNDED)
            if abs(value - wrong) <= max(near, rounded):
                return says
        return ""

    def read(self, text: str) -> Reading:
        """The quantity that a learner's *text* stands for; arithmetic in it is worked out.

        Raises:
            AnswerError: it is not a quantity.
        """
        try:
            return read_answer(text, self.scale)
        except ExpressionError as error:
            raise AnswerError(str(error)) from error

    def echo(self, reading: Reading) -> str:
        """The end of a verdict on arithmetic: its value."""
        return (
            translate(" Read as {value}.", value=show_in(reading.value, self.scale, _READ_AS))
            if reading.worked_out
            else ""
        )


Fill = Callable[[str, Names], str]


def keys_of(
    asked: Mapping[str, AskedQuantity], names: Names, fill: Fill, *, has_eight: bool = False
) -> dict[str, "AnswerKey"]:
    """The key of each quantity in *asked*; one may build on those before it.

    Whether the question *has_eight* decides what a factor of 8 can come from.

    Raises:
        ExpressionError: an expression has no value there.
    """
    known, keys = dict(names), {}
    for name, one in asked.items():
        right = one.value(one.answer, known)
        known[name] = Quantity(right, one.scale.unit.dimension)
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
            has_eight=has_eight,
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
    names: Names = field(repr=False)
    fill: Fill = field(repr=False)
    has_eight: bool = False  # whether there is an 8 in the question

    @cached_property
    def mistakes(self) -> tuple[tuple[float, str], ...]:
        """The values of the listed mistakes with their feedback, worked out on demand.

        Raises:
            ExpressionError: an expression has no value there.
        """
        return tuple(
            (self.asked.value(expression, self.names), self.fill(says, self.names))
            for expression, says in self.asked.mistakes.items()
        )

    def holds(self, reading: Reading) -> bool:
        """Whether *reading* counts as right, in one of the ways to read it."""
        return any(
            value is not None and self.low <= value <= self.high
            for value in (reading.value, reading.other)
        )

    def judge(self, reading: Reading) -> PartVerdict:
        """The verdict on *reading*, with its value where the learner wrote arithmetic."""
        if self.holds(reading):
            return PartVerdict(True, self.praise() + self.asked.echo(reading))
        says = self.blame(reading)
        is_said = says.startswith(localized(self.asked.shown(reading.value)))
        told = key_told(says, (text for _, text in self.mistakes), self.asked.mistakes.values())
        says = localized(says)
        return PartVerdict(False, says if is_said else says + self.asked.echo(reading), told)

    def shown(self) -> str:
        """The right value as a person writes it, to as many figures as count as right."""
        scale = self.asked.scale
        for digits in range(_FIGURES, _ALL_FIGURES):
            if (
                self.low
                <= float(f"{self.right / scale.factor:.{digits}g}") * scale.factor
                <= self.high
            ):
                return show_in(self.right, scale, digits)
        return self.asked.typed(self.right)

    def praise(self) -> str:
        """Feedback on a right answer."""
        if self.asked.tolerance == "exact":
            return translate("Right: {value}.", value=self._told[0])
        value, low, high = self._told
        return translate(
            "Right: {value}. Anything from {low} to {high} counts.", value=value, low=low, high=high
        )

    @cached_property
    def _told(self) -> tuple[str, str, str]:
        """The right value and the ends of the accepted range, as praise says them."""
        return (self.shown(), *(("", "") if self.asked.tolerance == "exact" else self._ends()))

    def _ends(self) -> tuple[str, str]:
        """The ends of the accepted range, to as many figures as tell them apart."""
        factor = self.asked.scale.factor
        least, most = self.low / factor, self.high / factor
        for digits in range(_FIGURES, _ALL_FIGURES):
            low, high = inward(least, most, digits)
            if high - low >= _SHOWN_OF_RANGE * (most - least):
                break
        scale = self.asked.scale
        return show_in(low * factor, scale, digits), show_in(high * factor, scale, digits)

    def blame(self, reading: Reading) -> str:
        """Feedback on a wrong answer: the mistake behind it, where its value gives it away."""
        shown = self.asked.shown(reading.value)
        is_large = reading.value > self.right
        return self.diagnosis(reading) or (
            translate("{value} is too large.", value=shown)
            if is_large
            else translate("{value} is too small.", value=shown)
        )

    def diagnosis(self, reading: Reading) -> str:
        """The mistake behind a wrong answer; empty where its value does not give it away."""
        scale = self.asked.scale
        return (
            self.asked.foreseen(reading.value, self.mistakes, reading.step)
            or self._common(reading)
            or too_coarse(reading, self.right, self.asked.tolerance, scale)
            or (self.asked.tolerance == "exact" and not_whole(reading, self.right, scale))
            or no_factor(reading, self.right, scale, self.slack)
            or ""
        )

    def _common(self, reading: Reading) -> str:
        shown, right, eight = self.asked.scale, self.right, self.has_eight
        if reading.scale is None and (
            says := in_another_unit(reading.value, right, self.slack, shown, has_eight=eight)
        ):
            return says
        if not right:
            return ""
        ratio, off = reading.value / right, self.slack / abs(right)
        return common_mistake(ratio, reading.scale or shown, off, has_eight=eight)

    def clashes(self) -> Iterator[tuple[str, str]]:
        """Each listed mistake too close to the right answer or to another mistake, and why.

        Raises:
            ExpressionError: a mistake has no value there.
        """
        seen: dict[str, float] = {}
        for expression, (value, _) in zip(self.asked.mistakes, self.mistakes, strict=True):
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


@cache
def _share(tolerance: str) -> float:
    number, _, word = tolerance.partition(" ")
    return parse_quantity(f"{number} %" if word.startswith("point") else tolerance, RATIO)
