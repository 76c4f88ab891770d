"""Exercises whose answer is one quantity, or several that may build on each other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from app.errors import AnswerError, nearest
from app.expressions import ExpressionError, Names, Quantity, evaluate, names_in, parse
from app.kinds.base import Answer, Base, Finding, PartVerdict, Strict, Verdict
from app.kinds.drawing import Draw
from app.kinds.slips import slip
from app.sandbox.runner import Runner
from app.units import RATIO, Reading, Scale, read, scale_of, show_in
from app.units import parse as parse_quantity

ONLY = "answer"  # the name of an answer that is the only one
_EXACT = 1e-9
_APART = 2.0  # tolerances between a mistake and the right answer


@dataclass(frozen=True, slots=True)
class Field_:
    """One box to fill in; *shown* is the unit of a bare number."""

    name: str
    prompt: str
    unit: str
    tolerance: str


@dataclass(frozen=True, slots=True)
class NumericQuestion:
    """The boxes of a numeric exercise."""

    fields: tuple[Field_, ...]


class Asked(Strict):
    """One quantity that is asked for."""

    prompt: str = Field(default="", description="what this answer is, where there are several")
    answer: str = Field(description="a formula's name, or an expression of the drawn values")
    unit: str = Field(default="", description="of a bare number: ms, GB, %, or nothing")
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: all between it and the answer is right")
    mistakes: dict[str, str] = Field(default_factory=dict, description="expression: sentence")

    @field_validator("unit")
    @classmethod
    def _is_a_unit(cls, unit: str) -> str:
        scale_of(unit)
        return unit

    @field_validator("tolerance")
    @classmethod
    def _is_a_tolerance(cls, tolerance: str) -> str:
        if tolerance != "exact" and not 0 < parse_quantity(tolerance, RATIO) < 1 / 2:
            raise ValueError(f"a tolerance of {tolerance} is not between 0 and 50 %")
        return tolerance

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    def slack(self, right: float) -> float:
        """How far from *right* an answer may be."""
        if self.tolerance == "exact":
            return abs(right) * _EXACT
        share = parse_quantity(self.tolerance, RATIO)
        return share if self.tolerance.endswith(("points", "point")) else abs(right) * share * (1 + _EXACT)

    def value(self, expression: str, names: Names) -> float:
        """What *expression* comes to, in the base unit of this answer.

        Raises:
            ExpressionError: it has no value, or one of another dimension.
        """
        found = evaluate(expression, names)
        if found.dimension != self.scale.unit.dimension and found.value:
            raise ExpressionError(f"{expression!r} is {found}, and the answer is in {self.unit or 'no unit'}")
        return found.value


@dataclass(frozen=True, slots=True)
class _Key:
    right: float
    low: float
    high: float
    mistakes: tuple[tuple[float, str], ...]

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


class Numeric(Base):
    """One number with a unit, or several."""

    kind: Literal["numeric"]
    answer: str = ""
    unit: str = ""
    tolerance: str = "1 %"
    accept: str = ""
    wrong: dict[str, str] = Field(default_factory=dict, alias="mistakes")
    answers: dict[str, Asked] = Field(default_factory=dict, description="name: one of several answers")
    _asked: dict[str, Asked] = PrivateAttr(default_factory=dict)
    _keys: dict[int, dict[str, _Key]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _asks_for_one_thing_or_several(self) -> Self:
        if bool(self.answer) == bool(self.answers):
            raise ValueError("give either one answer, or several under answers")
        own = {"answer": self.answer, "unit": self.unit, "tolerance": self.tolerance}
        only = {ONLY: Asked.model_validate({**own, "accept": self.accept, "mistakes": self.wrong})}
        self._asked = self.answers or only
        return self

    def question(self, seed: int) -> NumericQuestion:
        """The boxes to fill in."""
        drawn = self.draw(seed)
        return NumericQuestion(
            tuple(
                Field_(name, self.fill(asked.prompt, drawn), asked.unit, asked.tolerance)
                for name, asked in self._asked.items()
            )
        )

    def right_answer(self, seed: int) -> Answer:
        """The right value of each box, exact to twelve figures."""
        keys = self._key(seed)
        texts = {
            name: f"{keys[name].right / asked.scale.factor:.12g} {asked.unit}".strip()
            for name, asked in self._asked.items()
        }
        return texts[ONLY] if list(texts) == [ONLY] else texts

    def reveal(self, seed: int) -> str:
        """The right values, as a person writes them."""
        keys = self._key(seed)
        shown = {n: show_in(keys[n].right, asked.scale) for n, asked in self._asked.items()}
        if list(shown) == [ONLY]:
            return f"**{shown[ONLY]}**"
        return ", ".join(f"{name} **{value}**" for name, value in shown.items())

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each listed mistake, as somebody who makes it would type it."""
        right = self.right_answer(seed)
        for name, asked in self._asked.items():
            for value, says in self._key(seed)[name].mistakes:
                text = f"{value / asked.scale.factor:.12g} {asked.unit}".strip()
                yield (text if isinstance(right, str) else {**right, name: text}), says  # type: ignore[dict-item]

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Compare each box with its key; a box that builds on another may build on the learner's."""
        given = self._given(answer)
        readings = {name: self._read(name, text) for name, text in given.items()}
        parts = {
            name: self._judge(seed, name, readings) if name in readings else PartVerdict(None, "")
            for name in self._asked
        }
        score = sum(part.correct is True for part in parts.values()) / len(parts)
        if ONLY in parts:
            return Verdict(score == 1, score, (parts[ONLY].says,))
        says = tuple(f"{name}: {part.says}" for name, part in parts.items() if part.says)
        missing = [name for name, part in parts.items() if part.correct is None]
        empty = (f"Still empty: {', '.join(missing)}.",) if missing else ()
        return Verdict(score == 1, score, says + empty, parts)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """One field "answer", or a field "answer.NAME" for each of several."""
        if not self.answers:
            return super().answer_in(form)
        return {name: form[f"answer.{name}"][0] for name in self.answers if form.get(f"answer.{name}")}

    def texts(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """The prompt of each box and the sentence of each mistake, too."""
        yield from super().texts()
        for name, asked in self._asked.items():
            way: tuple[str | int, ...] = ("answers", name) if self.answers else ()
            yield (*way, "prompt"), asked.prompt
            for expression, says in asked.mistakes.items():
                yield (*way, "mistakes", expression), says

    def expressions(self) -> Iterator[str]:
        """Answers, accepted ends and mistakes."""
        for asked in self._asked.values():
            yield asked.answer
            yield from asked.mistakes
            if asked.accept:
                yield asked.accept

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """Answers have the right unit, and mistakes are apart from them and from each other."""
        for name, asked in self._asked.items():
            way: tuple[str | int, ...] = ("answers", name) if self.answers else ()
            try:
                key = self._key(drawn.seed)[name]
            except ExpressionError as error:
                yield Finding((*way, "answer"), f"seed {drawn.seed}: {error}")
                return
            least = _APART * asked.slack(key.right)
            seen: list[float] = []
            for expression, (value, _) in zip(asked.mistakes, key.mistakes, strict=True):
                where = (*way, "mistakes", expression)
                if key.low - least / 2 <= value <= key.high + least / 2:
                    yield Finding(where, f"seed {drawn.seed}: within twice the tolerance of the answer")
                if any(abs(value - other) < least for other in seen):
                    yield Finding(where, f"seed {drawn.seed}: no other value than an earlier mistake")
                seen.append(value)

    def _given(self, answer: Answer) -> dict[str, str]:
        given = {ONLY: answer} if isinstance(answer, str) else answer
        if not isinstance(given, dict) or (self.answers and isinstance(answer, str)):
            wanted = f"an object with {', '.join(self.answers)}" if self.answers else "one text"
            raise AnswerError(f"{wanted} is wanted as the answer")
        for name in given:
            if name not in self._asked:
                raise AnswerError(f"nothing here is called {name!r}{nearest(name, self._asked)}")
        filled = {name: text for name, text in given.items() if text.strip()}
        if not filled:
            raise AnswerError("an answer is missing: write a number")
        return filled

    def _read(self, name: str, text: str) -> Reading:
        asked = self._asked[name]
        where = "" if name == ONLY else f"{name}: "
        try:
            return read(text, asked.scale.unit, asked.scale)
        except ValueError as error:
            worked_out = self._worked_out(asked, text)
            if worked_out is None:
                raise AnswerError(f"{where}{error}") from error
            return worked_out

    def _worked_out(self, asked: Asked, text: str) -> Reading | None:
        """A sum such as `2 * 13 GB * 7/8`, worked out."""
        try:
            found = evaluate(text, {})
        except ExpressionError:
            return None
        if found.dimension == asked.scale.unit.dimension:
            return Reading(found.value)
        return Reading(found.value * asked.scale.factor) if found.dimension == RATIO.dimension else None

    def _judge(self, seed: int, name: str, readings: Mapping[str, Reading]) -> PartVerdict:
        asked, key, reading = self._asked[name], self._key(seed)[name], readings[name]
        if key.holds(reading.value) or (reading.other is not None and key.holds(reading.other)):
            return PartVerdict(True, _praise(asked, key))
        if self._follows(seed, name, readings):
            return PartVerdict(True, "Right for your own numbers above, which are not right yet.")
        for value, says in key.mistakes:
            if abs(reading.value - value) <= asked.slack(value):
                return PartVerdict(False, says)
        return PartVerdict(False, _unlisted(asked, key, reading))

    def _follows(self, seed: int, name: str, readings: Mapping[str, Reading]) -> bool:
        """Whether the answer is right for what the learner answered before it."""
        asked = self._asked[name]
        names = dict(self.draw(seed).names)
        mentioned = names_in(parse(asked.answer, [*names, *self._asked]))
        earlier = [other for other in self._asked if other in mentioned and other in readings]
        if not earlier:
            return False
        names |= {other: Quantity(key.right, self._dimension(other)) for other, key in self._key(seed).items()}
        names |= {other: Quantity(readings[other].value, self._dimension(other)) for other in earlier}
        try:
            right = asked.value(asked.answer, names)
        except ExpressionError:
            return False
        return abs(readings[name].value - right) <= asked.slack(right)

    def _dimension(self, name: str):  # type: ignore[no-untyped-def]
        return self._asked[name].scale.unit.dimension

    def _key(self, seed: int) -> dict[str, _Key]:
        if seed not in self._keys:
            if len(self._keys) >= 256:
                self._keys.clear()
            self._keys[seed] = self._computed(seed)
        return self._keys[seed]

    def _computed(self, seed: int) -> dict[str, _Key]:
        drawn = self.draw(seed)
        names, keys = dict(drawn.names), {}
        for name, asked in self._asked.items():
            right = asked.value(asked.answer, names)
            names[name] = Quantity(right, self._dimension(name))
            ends = (right, asked.value(asked.accept, names) if asked.accept else right)
            mistakes = tuple(
                (asked.value(expression, names), self.fill(says, replace(drawn, names=names)))
                for expression, says in asked.mistakes.items()
            )
            slack = asked.slack(right)
            keys[name] = _Key(right, min(ends) - slack, max(ends) + slack, mistakes)
        return keys


def _praise(asked: Asked, key: _Key) -> str:
    right = show_in(key.right, asked.scale)
    if asked.tolerance == "exact":
        return f"Right: {right}."
    low, high = (show_in(end, replace(asked.scale, symbol="")) for end in (key.low, key.high))
    return f"Right: {right}. Everything from {low} to {high} {asked.unit}".rstrip() + " counts."


def _unlisted(asked: Asked, key: _Key, reading: Reading) -> str:
    """What to say of a wrong value that no author foresaw."""
    ratio = reading.value / key.right if key.right else math.inf
    if says := slip(ratio, asked.scale.unit, asked.slack(key.right) / abs(key.right) if key.right else 0):
        return says
    if reading.step and abs(reading.value - key.right) <= reading.step / 2:
        return (
            f"Right as far as you wrote it, but {asked.tolerance} is wanted here: "
            "give at least one more digit."
        )
    typed = show_in(reading.value, asked.scale)
    return f"Not this value: {typed} is too {'large' if reading.value > key.right else 'small'}."
