"""Exercises whose answer is one quantity, or several that may build on each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError, nearest
from app.core.expressions import ExpressionError, Names, Quantity, names_in, parse_expression
from app.core.translation import localized, noted, translate
from app.core.units import Reading, check_clear
from app.course.kinds.answer_key import MISTAKES, AnswerKey, AskedQuantity, Mistake, part_sentences, worth_sentence
from app.course.kinds.answers import Answer, CountedPart, CountedParts, PartVerdict, Verdict, first_mistake
from app.course.kinds.base import Finding, Where
from app.course.kinds.drawn_values import Draw, UnitName
from app.course.kinds.quantities_base import Asking, Box
from app.course.sandbox.runner import Runner

MOST_PARTS = 6
_SAME = 1e-6  # of the sum of the parts and the answer
_FIGURES = 6  # of how near a sum is
_NEAR = 0.02  # of a sum, at most: a looser tolerance says little


def counted_in(key: AnswerKey, value: float) -> CountedParts | None:
    """The parts of the right answer that *value* is the sum of; None if it is not such a sum.

    Of several such sums it is the nearest one, then that of the most parts, the first ones.
    """
    values = parts_of(key)
    sums = [
        (names, sum(values[name] for name in names))
        for count in range(len(values) - 1, 0, -1)
        for names in combinations(values, count)
    ]
    near = [
        (round(abs(value - total) / abs(total), _FIGURES), at)
        for at, (_, total) in enumerate(sums)
        if total and abs(value - total) <= min(key.slack, _NEAR * abs(total))
    ]
    if not near:
        return None
    names = sums[min(near)[1]][0]
    parts = tuple(CountedPart(key.asked.part_name(name), size, name in names) for name, size in values.items())
    return CountedParts(parts, key.asked.shown(value), key.shown())


def parts_of(key: AnswerKey) -> Mapping[str, float]:
    """The parts of the right answer, by name.

    Raises:
        ExpressionError: a part has no value.
    """
    names: Names = key.names
    return {name: key.asked.value(text, names) for name, text in key.asked.parts.items()}


def trouble_of_parts(key: AnswerKey) -> str:
    """Why the parts of an answer cannot be right; empty where they can, or there are none.

    Raises:
        ExpressionError: a part has no value.
    """
    values: Sequence[float] = list(parts_of(key).values())
    if not values:
        return ""
    if not 1 < len(values) <= MOST_PARTS:
        return f"must have 2 to {MOST_PARTS} parts, not {len(values)}"
    if abs(sum(values) - key.right) > _SAME * abs(key.right):
        total, right = key.asked.shown(sum(values)), key.asked.shown(key.right)
        return f"has parts that add up to {total}, not to the answer, {right}"
    return ""


def refuse_unclear(text: str) -> None:
    """Ask what 112.000 is, where the page writes 112,000 with another sign than a comma.

    Raises:
        AnswerError: a number in *text* may be a thousand times as large as it reads in English.
    """
    try:
        check_clear(text)
    except ValueError as error:
        raise AnswerError(localized(str(error))) from error


def refuse_unclear_answers(
    keys: Mapping[str, AnswerKey], readings: Mapping[str, Reading], texts: Mapping[str, str]
) -> None:
    """Ask about each of *texts* that is not right as it was read, and may mean another number.

    Raises:
        AnswerError: one of them is not clear.
    """
    for name, reading in readings.items():
        if not keys[name].holds(reading):
            refuse_unclear(texts[name])


ONLY = "answer"  # the name of an answer that is the only one
_FORESEEN = 2  # mistakes of an exercise, at least


@dataclass(frozen=True, slots=True)
class NumericQuestion:
    """The boxes of a numeric exercise."""

    fields: tuple[Box, ...]


class Numeric(Asking):
    """One number with a unit, or several."""

    kind_title = noted("Number")
    sample = "collectives/bytes-sent-by-a-ring"
    only_draws = True
    kind: Literal["numeric"]
    answer: str = Field(default="", description="a formula's name, or an expression")
    unit: UnitName = Field(default="", description="of a number without a unit: ms, GB, %, or empty")
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: anything between the two is right")
    wrong: dict[str, Mistake] = Field(default_factory=dict, alias="mistakes", description=MISTAKES)
    parts: dict[str, str] = Field(default_factory=dict, description="what the answer adds up: name: expression")
    part_names: dict[str, str] = Field(
        default_factory=dict, description="in a translation: what a part is called there"
    )
    answers: dict[str, AskedQuantity] = Field(
        default_factory=dict, description="name: one of several answers, instead of answer"
    )
    _asked: dict[str, AskedQuantity] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _asks_for_one_thing_or_several(self) -> Self:
        if bool(self.answer) == bool(self.answers):
            raise ValueError("give either one answer, or several under answers")
        self._asked = self.answers or {
            ONLY: AskedQuantity(
                answer=self.answer,
                unit=self.unit,
                tolerance=self.tolerance,
                accept=self.accept,
                mistakes=self.wrong,
                parts=self.parts,
                part_names=self.part_names,
            )
        }
        return self

    @cached_property  # looked up twenty times as fast as a private attribute of Pydantic
    def asked(self) -> Mapping[str, AskedQuantity]:
        """The quantities by name."""
        return self._asked

    @property
    def minutes(self) -> int:
        """About how long it takes: half a minute more for each box after the first."""
        return super().minutes + (len(self.asked) - 1) // 2

    def question(self, seed: int) -> NumericQuestion:
        """The boxes to fill in."""
        return NumericQuestion(self.boxes(seed))

    def right_answer(self, seed: int) -> Answer:
        """The right value of each box, to twelve figures."""
        texts = {name: key.asked.typed(key.right) for name, key in self.keys(seed).items()}
        return texts if self.answers else texts[ONLY]

    def reveal(self, seed: int) -> str:
        """The right values, as a person writes them."""
        if not self.answers:
            return f"**{self.keys(seed)[ONLY].shown()}**"
        return "\n".join(self.listed_answers(seed))

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each listed mistake, as a learner would type it."""
        right = self.right_answer(seed)
        for name, key in self.keys(seed).items():
            for value, says in key.mistakes:
                text = key.asked.typed(value)
                yield ({**right, name: text} if isinstance(right, dict) else text), says

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Compare each box with its key; one that builds on another may build on the learner's."""
        given = self._given(answer)
        readings = {name: self._read(seed, name, text) for name, text in given.items()}
        refuse_unclear_answers(self.keys(seed), readings, given)
        parts = {
            name: self._judge(seed, name, readings) if name in readings else PartVerdict(None, "")
            for name in self.asked
        }
        score = sum(part.share for part in parts.values()) / len(parts)
        if not self.answers:
            only = parts[ONLY]
            says = [only.says, worth_sentence(score)] if only.score else [only.says]
            return Verdict(score == 1, score, tuple(says), mistake=only.mistake)
        titles = {name: self.title_of(name, seed) for name in self.asked}
        says = part_sentences(parts, titles)
        if missing := [titles[name] for name, part in parts.items() if part.correct is None]:
            says.append(translate("Still empty: {missing}.", missing="; ".join(missing)))
        return Verdict(score == 1, score, tuple(says), parts, first_mistake(parts.values()))

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """One field "answer", or a field "answer.NAME" for each of several."""
        if not self.answers:
            return super().answer_in(form)
        return {n: form[f"answer.{n}"][0] for n in self.answers if form.get(f"answer.{n}")}

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The prompt of each box and the sentence of each mistake, too."""
        yield from super().texts()
        for name in self.asked:
            yield from ((self._where(name, *where), text) for where, text in self.texts_of(name))

    def untold(self) -> Iterator[tuple[Where, str]]:
        """The names of the parts, which a figure shows."""
        for name, asked in self.asked.items():
            for part in asked.parts:
                yield self._where(name, "part_names", part), asked.part_name(part)

    @property
    def draws_mistakes(self) -> bool:
        """Whether an answer adds up parts."""
        return any(asked.parts for asked in self.asked.values())

    def counted(self, seed: int, answer: Answer) -> CountedParts | None:
        """The parts of the first listed mistake among the answers that is the sum of some."""
        keys = self.keys(seed)
        for name, text in self._given(answer).items():
            reading = self._read(seed, name, text)
            key, value = keys[name], reading.value
            known = not key.holds(reading) and key.asked.foreseen(value, key.mistakes)
            found = counted_in(key, value) if known else None
            if found:
                return found
        return None

    @property
    def worked_out(self) -> Sequence[str]:
        """The answers, too, where there are several."""
        return [*super().worked_out, *self.answers]

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """Answers have the right unit, and mistakes are apart from them and from each other."""
        try:
            keys = self.keys(drawn.seed)
            clashes = {name: list(self.clashes(keys, name)) for name in keys}
            parts = {name: trouble_of_parts(key) for name, key in keys.items()}
        except ExpressionError as error:
            yield Finding(self._where(next(iter(self.asked)), "answer"), str(error))
            return
        if sum(len(key.asked.mistakes) for key in keys.values()) < _FORESEEN:
            where = self._where(next(iter(self.asked)), "answer")
            yield Finding(where, "fewer than two mistakes are listed", "add them under mistakes")
        for name, says in parts.items():
            if says:
                yield Finding(self._where(name, "parts"), says, "list all that it adds up, once")
        for name, found in clashes.items():
            for one in found:
                yield Finding(self._where(name, *one.where), one.says, one.cure)

    def _where(self, name: str, *more: str | int) -> Where:
        return ("answers", name, *more) if self.answers else more

    def _given(self, answer: Answer) -> dict[str, str]:
        if isinstance(answer, str) and not self.answers:
            answer = {ONLY: answer}
        if not isinstance(answer, dict):
            if not self.answers:
                raise AnswerError(translate("the answer must be a string"))
            names = ", ".join(self.answers)
            raise AnswerError(translate("the answer must be an object with {names}", names=names))
        for name in answer:
            if name not in self.asked:
                raise AnswerError(
                    translate("no answer is called {name!r}{near}", name=name, near=nearest(name, self.asked))
                )
        filled = {name: text for name, text in answer.items() if text.strip()}
        if not filled:
            raise AnswerError(translate("the answer is empty: enter a number"))
        return filled

    def _read(self, seed: int, name: str, text: str) -> Reading:
        try:
            return self.asked[name].read(text)
        except AnswerError as error:
            if not self.answers:
                raise
            title = self.title_of(name, seed)
            says = translate("{name}: {problem}", name=title, problem=str(error))
            raise AnswerError(says) from error

    def _judge(self, seed: int, name: str, readings: Mapping[str, Reading]) -> PartVerdict:
        verdict = self.keys(seed)[name].judge(readings[name])
        if verdict.correct or not self.answers or not self._follows(seed, name, readings):
            return verdict
        says = translate("Right for your own answers above, which are not right yet.")
        return PartVerdict(True, says + self.asked[name].echo(readings[name]))

    def _follows(self, seed: int, name: str, readings: Mapping[str, Reading]) -> bool:
        """Whether the answer is right for what the learner answered before it."""
        before = list(self.asked)[: list(self.asked).index(name)]
        if not before:
            return False
        asked, keys = self.asked[name], self.keys(seed)
        names = dict(self.draw(seed).names)
        mentioned = names_in(parse_expression(asked.answer, [*names, *self.asked]))
        if not any(other in mentioned and other in readings for other in before):
            return False
        for other in before:
            value = readings[other].value if other in readings else keys[other].right
            names[other] = Quantity(value, self.dimension(other))
        try:
            right = asked.value(asked.answer, names)
        except ExpressionError:
            return False
        return abs(readings[name].value - right) <= asked.slack(right)
