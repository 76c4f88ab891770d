"""Exercises whose answer is a formula: derived, typed, and judged by its values and units."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError
from app.core.expressions import ExpressionError, Names, Node, Quantity, evaluate, holds, latex, parse_plain, same_kind
from app.core.translation import localize, noted, translate
from app.core.units import FLOP, RATIO, Dimension, Scale, scale_of, show, spell_dimension, unit_of
from app.core.validation import PlacedError
from app.course.kinds import base
from app.course.kinds.answer_key import MISTAKES, Mistake, ScoredMistake, worth_sentence
from app.course.kinds.drawn_values import Draw, DrawnValue, UnitName
from app.course.kinds.numeric import refuse_unclear
from app.course.sandbox.runner import Runner

_CLOSE = 1e-6
_CURES = {"multiply": noted("multiply by something in {unit}"), "divide": noted("divide by something in {unit}")}


def value_at(node: Node, names: Names) -> Quantity | None:
    """The value of *node* where the letters are *names*; None where it has none."""
    try:
        return evaluate(node, names)
    except ExpressionError:
        return None


def why_none(node: Node, names: Names) -> str:
    """Why *node* has no value."""
    try:
        evaluate(node, names)
    except ExpressionError as error:
        return str(error)
    return translate("it is always zero")


def is_near(value: Quantity, other: Quantity) -> bool:
    """Whether two values differ by no more than rounding."""
    return math.isclose(value.value, other.value, rel_tol=_CLOSE, abs_tol=0)


def same_values(values: Sequence[Quantity | None], others: Sequence[Quantity | None]) -> bool:
    """Whether two formulas have the same values, and none at the same points; 6 FLOP are 6, with unit or not."""

    def is_same(value: Quantity | None, other: Quantity | None) -> bool:
        if value is None or other is None:
            return value is other
        return same_kind(value.dimension, other.dimension) and is_near(value, other)

    return any(values) and len(values) == len(others) and all(map(is_same, values, others))


def of_another_kind(values: Sequence[Quantity | None], right: Sequence[Quantity]) -> str:
    """Feedback on a formula of another dimension, with the missing or extra unit."""
    for value, expected in zip(values, right, strict=True):
        if value is None or not value.value or same_kind(value.dimension, expected.dimension):
            continue
        cure = [
            translate(_CURES[do], unit=spell_dimension(part))
            for do, part in _missing(value.dimension, expected.dimension).items()
            if part != RATIO.dimension
        ]
        return translate(
            "This comes out as {found}, but the answer is {expected}: {cure}.",
            found=dimension_words(value),
            expected=dimension_words(expected),
            cure=translate(" and ").join(cure),
        )
    return ""


def _missing(found: Dimension, expected: Dimension) -> Mapping[str, Dimension]:
    """The dimensions to multiply and divide by to get from *found* to *expected*, FLOP aside."""
    powers = [
        0 if flop else wanted - power for power, wanted, flop in zip(found, expected, FLOP.dimension, strict=True)
    ]

    def part(sign: int) -> Dimension:
        return tuple(max(sign * power, 0) for power in powers)

    return {"multiply": part(1), "divide": part(-1)}


def dimension_words(quantity: Quantity) -> str:
    """The dimension of *quantity* in words."""
    if quantity.dimension == RATIO.dimension:
        return translate("a plain number")
    return translate("a value in {unit}", unit=spell_dimension(quantity.dimension))


_POINTS = 12
_TRIES = 1_000  # to draw values that make sense
_DIGITS = 2  # of a drawn value: round numbers read better where one is shown
_FACTORS = {
    2.0: noted("Your formula is always twice the right one."),
    0.5: noted("Your formula is always half the right one."),
}
SymbolName = Annotated[str, Field(pattern="^[A-Za-z]\\w*$", max_length=20)]


@dataclass(frozen=True, slots=True)
class SymbolRow:
    """A symbol of the formula; *unit* is that of its values."""

    name: str
    says: str
    unit: str


@dataclass(frozen=True, slots=True)
class ExpressionQuestion:
    """The symbols of the formula, and the unit of its result."""

    symbols: tuple[SymbolRow, ...]
    unit: str


class Symbol(base.Strict):
    """A symbol of the formula, and the range of its values."""

    says: base.Markdown = Field(description="what it stands for")
    range: tuple[DrawnValue, DrawnValue] = Field(description="from and to; whole numbers if both are whole")
    whole: bool = Field(default=False, description="whole numbers alone, also between ends with a unit, as 1 B and 4 B")

    @property
    def ends(self) -> tuple[Quantity, Quantity]:
        """The smallest and the largest value."""
        low, high = (evaluate(str(end), {}) for end in self.range)
        return low, high

    def at(self, source: random.Random) -> Quantity:
        """A value between the ends, small ones as likely as large ones."""
        low, high = self.ends
        value = low.value * (high.value / low.value) ** source.random()
        rough = float(f"{value:.{_DIGITS}g}")
        if self.is_whole:
            rough = round(rough)
        return Quantity(min(max(rough, low.value), high.value), low.dimension)

    @property
    def is_whole(self) -> bool:
        """Whether it counts something."""
        return self.whole or all(isinstance(end, int) for end in self.range)

    @property
    def edges(self) -> Sequence[Quantity]:
        """Where formulas part that agree elsewhere: its ends, and 1 and other powers of two between them."""
        low, high = self.ends
        powers = [2.0**power for power in range(math.ceil(math.log2(low.value)), math.floor(math.log2(high.value)) + 1)]
        inside = [1.0, powers[0], powers[len(powers) // 2], powers[-1]] if powers else []
        values = dict.fromkeys((low.value, high.value, *(one for one in inside if low.value <= one <= high.value)))
        return [Quantity(value, low.dimension) for value in values]


class Expression(base.Base):
    """Derive a formula and type it."""

    kind_title = noted("Formula")
    sample = "collectives/derive-the-time"
    pace = 3.0
    kind: Literal["expression"]
    answer: str = Field(description="the formula, in the symbols alone")
    reference: str = Field(default="", description="a formula of the core that it must equal, called with the symbols")
    unit: UnitName = Field(default="", description="of the result: s, B, or empty")
    sense: str = Field(default="", description="where it makes sense, of the symbols and the answer: answer >= 1")
    symbols: dict[SymbolName, Symbol] = Field(
        min_length=1, description="symbol: says and range, such as [1 MB, 4 GB] or [2, 1024]"
    )
    wrong: dict[str, Mistake] = Field(min_length=2, alias="mistakes", description=MISTAKES)
    _points: base.ValueCache[int, tuple[Names, ...]] = PrivateAttr(default_factory=base.ValueCache)

    @model_validator(mode="after")
    def _symbols_have_ranges(self) -> Self:
        for name, symbol in self.symbols.items():
            low, high = symbol.ends
            if not 0 < low.value < high.value or low.dimension != high.dimension:
                says = "must go from a value above 0 to a larger one in the same unit"
                raise PlacedError(
                    f"{says}, not from {low} to {high}",
                    ("symbols", name, "range"),
                    "write the smaller one first, as in [1 MB, 4 GB]",
                )
        return self

    @property
    def scale(self) -> Scale:
        """The unit of the result."""
        return scale_of(self.unit)

    def question(self, seed: int) -> ExpressionQuestion:
        """The symbols, and the unit of the result."""
        drawn = self.draw(seed)
        rows = []
        for name, symbol in self.symbols.items():
            unit = unit_of(symbol.ends[0].dimension)
            rows.append(SymbolRow(name, self.fill(symbol.says, drawn), unit.symbol if unit else ""))
        return ExpressionQuestion(tuple(rows), self.unit)

    def right_answer(self, seed: int) -> base.Answer:
        """The formula as the author typed it."""
        return self.answer

    def reveal(self, seed: int) -> str:
        """The formula as mathematics, and as it may be typed."""
        return f"${latex(parse_plain(self.answer, self.symbols))}$, typed `{self.answer}`"

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each foreseen wrong formula."""
        drawn = self.draw(seed)
        for expression, mistake in self.wrong.items():
            yield expression, self.fill(mistake.says, drawn)

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Compare the values of the formula with those of the right one, at drawn points."""
        node = self._read(base.single_text(answer))
        shown = translate("Read as ${formula}$.", formula=latex(node))
        points = self.points(seed)
        values = [value_at(node, names) for names in points]
        if not any(values):
            raise AnswerError(translate("this formula has no value: {why_none}", why_none=why_none(node, points[0])))
        right = [evaluate(parse_plain(self.answer, self.symbols), names) for names in points]
        if same_values(values, right):
            return base.Verdict(True, 1.0, (translate("Right at every point that was tested."), shown))
        refuse_unclear(base.single_text(answer))
        known = self._foreseen(seed, values)
        drawn = self.draw(seed)
        says = (
            (self.fill(known.says, drawn) if known else "")
            or of_another_kind(values, right)
            or self._factor(values, right)
            or self._counterexample(seed, values, right)
        )
        wordings = [mistake.says for mistake in self.wrong.values()]
        mistake = base.key_told(says, (self.fill(text, drawn) for text in wordings), wordings)
        score = known.score if known else 0.0
        told = (localize(says), shown, worth_sentence(score)) if score else (localize(says), shown)
        return base.Verdict(False, score, told, mistake=mistake)

    def points(self, seed: int) -> tuple[Names, ...]:
        """Values of the symbols at which formulas are compared."""
        return self._points.of(seed, lambda: tuple(self._drawn_points(seed)))

    def _drawn_points(self, seed: int) -> Iterator[Names]:
        """Drawn values, then those at the edges of each symbol's range and of each pair of symbols."""
        source = random.Random(f"points {seed}")
        drawn = ({name: symbol.at(source) for name, symbol in self.symbols.items()} for _ in range(_TRIES))
        inside = list(islice((names for names in drawn if self._makes_sense(names)), _POINTS))
        if not inside:
            raise ExpressionError(f"no values of the symbols meet {self.sense!r}")
        yield from inside
        yield from (names for names in self._edge_points(inside[0]) if self._makes_sense(names))

    def _edge_points(self, inside: Names) -> Iterator[Names]:
        """Points that differ from *inside* in that a symbol or all are at an edge, or two meet."""
        for name, symbol in self.symbols.items():
            yield from ({**inside, name: edge} for edge in symbol.edges)
        yield {name: symbol.ends[0] for name, symbol in self.symbols.items()}
        yield {name: symbol.ends[1] for name, symbol in self.symbols.items()}
        for one, other in combinations(self.symbols, 2):
            (low, high), (least, most) = self.symbols[one].ends, self.symbols[other].ends
            start, end = max(low.value, least.value), min(high.value, most.value)
            if low.dimension == least.dimension and start <= end:
                for value, second in ((start, start), (end, end), (start, end), (end, start)):
                    yield {**inside, one: Quantity(value, low.dimension), other: Quantity(second, low.dimension)}

    def _makes_sense(self, names: Names) -> bool:
        """Whether the formula means something in the world for the symbols in *names*."""
        if not self.sense:
            return True
        return holds(self.sense, {**names, "answer": evaluate(parse_plain(self.answer, self.symbols), names)})

    def _foreseen(self, seed: int, values: Sequence[Quantity | None]) -> ScoredMistake | None:
        """The mistake with the same values."""
        for expression, mistake in self.wrong.items():
            node = parse_plain(expression, self.symbols)
            others = [value_at(node, names) for names in self.points(seed)]
            if same_values(values, others):
                return mistake
        return None

    def _factor(self, values: Sequence[Quantity | None], right: Sequence[Quantity]) -> str:
        """Feedback on a formula that is always off by the same factor."""
        ratios = {
            float(f"{value.value / expected.value:.9g}") if value and expected.value else math.nan
            for value, expected in zip(values, right, strict=True)
        }
        ratio = ratios.pop()
        if ratios or not math.isfinite(ratio):
            return ""
        if ratio == -1:
            return "The magnitude is right, but the sign is wrong."  # a common mistake, told below
        if ratio in _FACTORS:
            return translate(_FACTORS[ratio])
        return translate("Your formula is always {ratio:.4g} times the right one.", ratio=ratio)

    def _counterexample(self, seed: int, values: Sequence[Quantity | None], right: Sequence[Quantity]) -> str:
        for names, value, expected in zip(self.points(seed), values, right, strict=True):
            if value is None or not is_near(value, expected):
                where = ", ".join(f"{name} = {quantity}" for name, quantity in names.items())
                right_one = self._shown(expected)
                if value is None:
                    return translate(
                        "For {where} your formula has no value; {right} is right.", where=where, right=right_one
                    )
                return translate(
                    "For {where} your formula gives {got}; {right} is right.",
                    where=where,
                    got=self._shown(value),
                    right=right_one,
                )
        return ""

    def _shown(self, quantity: Quantity) -> str:
        return show(quantity.value, self.scale.unit, 5)

    def _read(self, text: str) -> Node:
        """The formula that *text* says: symbols, figures and plain functions, no more.

        Raises:
            AnswerError: it says none.
        """
        if not text.strip():
            raise AnswerError(translate("the answer is empty: enter a formula"))
        try:
            return parse_plain(text, self.symbols)
        except ExpressionError as error:
            raise AnswerError(str(error)) from error

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The meanings of the symbols and the feedback on mistakes, too."""
        yield from super().texts()
        for name, symbol in self.symbols.items():
            yield ("symbols", name, "says"), symbol.says
        for expression, mistake in self.wrong.items():
            yield ("mistakes", expression), mistake.says

    def telling(self, seed: int) -> set[str]:
        """The formula as the author typed it."""
        return {self.answer}

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """The answer equals the reference, and no mistake equals it or another mistake."""
        try:
            points = self.points(drawn.seed)
            right = [evaluate(parse_plain(self.answer, self.symbols), names) for names in points]
        except ExpressionError as error:
            yield base.Finding(("answer",), str(error))
            return
        if right[0].dimension != self.scale.unit.dimension:
            yield base.Finding(("unit",), f"the answer is {dimension_words(right[0])}")
        if self.reference:
            yield from self._prove_reference(points, right)
        seen = {"the answer": right}
        for expression, mistake in self.wrong.items():
            where = ("mistakes", expression)
            if mistake.when:
                yield base.Finding((*where, "when"), "a formula is wrong for all symbols", "remove it")
            try:
                node = parse_plain(expression, self.symbols)
                values = [evaluate(node, names) for names in points]
            except ExpressionError as error:
                yield base.Finding(where, str(error))
                continue
            same = next((other for other, earlier in seen.items() if same_values(values, earlier)), "")
            if same:
                yield base.Finding(where, f"has the same values as {same}")
            seen[expression] = values

    def _prove_reference(self, points: Sequence[Names], right: Sequence[Quantity]) -> Iterator[base.Finding]:
        try:
            values = [evaluate(self.reference, names) for names in points]
        except ExpressionError as error:
            yield base.Finding(("reference",), str(error))
            return
        if not same_values(values, right):
            yield base.Finding(("reference",), "does not equal the answer")
