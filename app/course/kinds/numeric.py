"""Exercises whose answer is one quantity, or several that may build on each other."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError
from app.core.expressions import ExpressionError, Names, Quantity, evaluate, names_in, parse_expression, slots
from app.core.translation import localize, noted, translate
from app.core.units import RATIO, Dimension, Reading, check_clear, spelling
from app.core.units.scales import SCALES
from app.course.kinds import answer_key, base
from app.course.kinds.common_mistakes import QuestionNumbers
from app.course.kinds.drawn_values import Draw, redraw
from app.course.sandbox.runner import Runner

_LATER = {"says", "hints", "mistakes", "solution", "elsewhere", "bound", "cause"}  # after an answer
_WORDS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_WHOLE = re.compile(r"(?<![\d.,])\b(\d{1,3}(?:,\d{3})+|\d+)(?![\d]|[.,]\d)")
_SYMBOLS = (symbol for symbol, scale in SCALES.items() if scale.unit is not RATIO or scale.factor != 1)
_MEASURES = "|".join(sorted(map(re.escape, _SYMBOLS), key=len, reverse=True))
# A price, the base or the exponent of a power, and a number with a unit: none counts things.
_MEASURED = re.compile(rf"\$\d[\d.,]*+|\^\{{?\d[\d.,]*+|(?<![\d.,])\d[\d.,]*+\s?(?:\^|(?:{_MEASURES})(?!\w))")
_COUNTS = (3, 10**7)  # smaller factors have causes of their own
_LABELED = ("choose", "symbols")  # their `says` is what they are, not feedback


def question_texts(exercise: base.Base) -> Iterator[tuple[base.Where, str]]:
    """The texts of *exercise* that its page or the interface shows before an answer."""
    for where, text in exercise.texts():
        if where[0] in _LABELED or not _LATER & set(map(str, where)):
            yield where, text


def shown_slots(exercise: base.Base) -> frozenset[str]:
    """The slots of the question: the names of drawn values, and what it works out from them."""
    return frozenset(slot for _, text in question_texts(exercise) for slot in slots(text))


def visible_values(exercise: base.Base, seed: int) -> Mapping[str, str]:
    """The drawn values that the question shows, as their texts: others may be the answer, or feedback on it."""
    shown = shown_slots(exercise)
    return {name: text for name, text in exercise.draw(seed).shown.items() if name in shown}


def slot_names(text: str, drawn: Draw) -> set[str]:
    """Every name in the slots of *text*; a slot that cannot be read counts as a name."""
    found = set[str]()
    for slot in slots(text):
        try:
            found |= {slot} if slot in drawn.shown else names_in(parse_expression(slot, drawn.names))
        except ExpressionError:  # reported where it is proven
            found.add(slot)
    return found


def question_numbers(exercise: base.Base, drawn: Draw) -> QuestionNumbers:
    """The counts and quantities that a learner reads in the question, a measurement's table aside."""
    texts = [text for _, text in question_texts(exercise)]
    shown = {slot for text in texts for slot in slots(text)}
    read = " ".join(_read_text(exercise, text, drawn) for text in texts)
    counts = {int(figures.replace(",", "")) for figures in _WHOLE.findall(read)}
    counts |= {_WORDS[word.lower()] for word in _WORD.findall(read)}
    things = _MEASURED.sub(" ", read)
    counted = {int(figures.replace(",", "")) for figures in _WHOLE.findall(things)}
    counted |= {_WORDS[word.lower()] for word in _WORD.findall(things)}
    return QuestionNumbers(
        counts=frozenset(n for n in counts if _COUNTS[0] <= n <= _COUNTS[1]),
        given=tuple(value for name, value in drawn.names.items() if name in shown),
        measured=frozenset(counts - counted),
    )


def _read_text(exercise: base.Base, text: str, drawn: Draw) -> str:
    try:
        return exercise.fill(text, replace(drawn, listings=dict.fromkeys(drawn.listings, "")))
    except ExpressionError:  # names an answer, or is reported where it is proven
        return ""


ONLY = "answer"  # the name of an answer that is the only one
TELL = "remove one, tighten the tolerance, or draw values that tell them apart"


@dataclass(frozen=True, slots=True)
class Box:
    """One box to fill in; *unit* is that of a bare number."""

    name: str
    prompt: str
    unit: str
    tolerance: str


class QuantityExercise(base.Base):
    """An exercise that asks for one quantity or several."""

    asks_for_numbers = True
    asked_under: ClassVar[str] = "answers"  # the key of the quantities in the file

    @property
    @abstractmethod
    def asked(self) -> Mapping[str, answer_key.AskedQuantity]:
        """The quantities by name; one may build on those before it."""

    def boxes(self, seed: int) -> tuple[Box, ...]:
        """The boxes to fill in."""
        drawn = self.draw(seed)
        return tuple(
            Box(name, self.fill(asked.prompt, drawn), spelling(asked.unit), asked.tolerance)
            for name, asked in self.asked.items()
        )

    def solved(self, drawn: Draw) -> Draw:
        """*drawn* with the answers, by name; numbers and shares as they may be typed back."""
        keys = self.keys(drawn.seed)
        answers = {name: Quantity(key.right, self.dimension(name)) for name, key in keys.items()}
        plain = {n: key.shown() for n, key in keys.items() if key.asked.scale.symbol in ("", "%")}
        names, shown = {**drawn.names, **answers}, {**drawn.shown, **plain}
        return replace(drawn, names=names, shown=shown)

    def dimension(self, name: str) -> Dimension:
        """The dimension of the quantity called *name*."""
        return self.asked[name].scale.unit.dimension

    def title_of(self, name: str, seed: int) -> str:
        """What the answer called *name* is on the page."""
        asked = self.asked.get(name)
        return self.fill(asked.prompt, self.draw(seed)) or name if asked else name

    def listed_answers(self, seed: int) -> Iterator[str]:
        """The right value of each box under its title, as lines of a list."""
        for name, key in self.keys(seed).items():
            told = translate("{name}: {problem}", name=self.title_of(name, seed), problem=f"**{key.shown()}**")
            yield f"- {told}"

    def telling(self, seed: int) -> set[str]:
        """The figures of the right values."""
        return answer_key.telling_figures(self.keys(seed).values())

    def place_of(self, name: str, *more: str | int) -> base.Where:
        """The place in the file of what is said of the quantity called *name*."""
        return (self.asked_under, name, *more)

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The prompts of the quantities and the sentences of their mistakes, too."""
        yield from super().texts()
        for name, asked in self.asked.items():
            yield self.place_of(name, "prompt"), asked.prompt
            for expression, mistake in asked.mistakes.items():
                yield self.place_of(name, "mistakes", expression), mistake.says

    @property
    def worked_out(self) -> Sequence[str]:
        """The answers, too, where they have names."""
        return [*super().worked_out, *(name for name in self.asked if name != ONLY)]

    def read_box(self, name: str, text: str) -> Reading:
        """The quantity that a learner's *text* stands for, in the box called *name*.

        Raises:
            AnswerError: it is not one; the message has the name.
        """
        try:
            return self.asked[name].read(text)
        except AnswerError as error:
            raise AnswerError(f"{name}: {error}") from error

    def typed_answers(self, seed: int) -> dict[str, str]:
        """The right value of each box, to twelve figures."""
        return {name: key.asked.typed(key.right) for name, key in self.keys(seed).items()}

    def mistyped_answers(self, seed: int, right: Mapping[str, str]) -> Iterator[tuple[dict[str, str], str]]:
        """The answers *right* with each listed mistake in turn, and its feedback."""
        for name, key in self.keys(seed).items():
            for value, says in key.mistakes:
                yield {**right, name: key.asked.typed(value)}, says

    def clashes(self, keys: Mapping[str, answer_key.AnswerKey]) -> list[base.Finding]:
        """The mistakes that cannot be told apart from each other or from what is right.

        Raises:
            ExpressionError: a mistake has no value there.
        """
        return [
            base.Finding(self.place_of(name, "mistakes", expression), says, TELL)
            for name, key in keys.items()
            for expression, says in key.clashes()
        ]

    def verdict_on(
        self, seed: int, parts: Mapping[str, base.PartVerdict], played: base.PlayedAnswer | None = None
    ) -> base.Verdict:
        """The verdict on several answers, which count alike; those that are left empty are named."""
        score = sum(part.share for part in parts.values()) / len(parts)
        titles = {name: self.title_of(name, seed) for name in parts}
        says = answer_key.part_sentences(parts, titles)
        if missing := [titles[name] for name, part in parts.items() if part.correct is None]:
            says.append(translate("Still empty: {missing}.", missing="; ".join(missing)))
        return base.Verdict(score == 1, score, tuple(says), parts, base.first_mistake(parts.values()), played)

    def keys(self, seed: int) -> Mapping[str, answer_key.AnswerKey]:
        """The key of each box.

        Raises:
            ExpressionError: an expression has no value for what *seed* draws.
        """
        return self._keys.of(seed, lambda: self._keys_of(self.draw(seed)))

    def keys_at(self, values: Mapping[str, float]) -> Mapping[str, answer_key.AnswerKey]:
        """The key of each box if *values*, in base units, had been drawn.

        Raises:
            ExpressionError: an expression has no value for them.
        """
        return self._keys_of(redraw(self.draw(0), values, self.let))

    @cached_property  # Pydantic's private attributes are looked up twenty times as slowly
    def _keys(self) -> base.ValueCache[int, Mapping[str, answer_key.AnswerKey]]:
        return base.ValueCache()

    def _keys_of(self, drawn: Draw) -> Mapping[str, answer_key.AnswerKey]:
        def filled(text: str, names: Names) -> str:
            return self.fill(text, replace(drawn, names=names))

        return answer_key.keys_of(self.asked, drawn.names, filled, question_numbers(self, drawn))


MOST_PARTS = 6
_SAME = 1e-6  # of the sum of the parts and the answer
_FIGURES = 6  # of how near a sum is
_NEAR = 0.02  # of a sum, at most: a looser tolerance says little


def counted_in(key: answer_key.AnswerKey, value: float) -> base.CountedParts | None:
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
    parts = tuple(base.CountedPart(key.asked.part_name(name), size, name in names) for name, size in values.items())
    return base.CountedParts(parts, key.asked.shown(value), key.shown())


def parts_of(key: answer_key.AnswerKey) -> Mapping[str, float]:
    """The parts of the right answer, by name.

    Raises:
        ExpressionError: a part has no value.
    """
    names: Names = key.names
    return {name: key.asked.value(text, names) for name, text in key.asked.parts.items()}


def trouble_of_parts(key: answer_key.AnswerKey) -> str:
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
        raise AnswerError(localize(str(error))) from error


def refuse_unclear_answers(
    keys: Mapping[str, answer_key.AnswerKey], readings: Mapping[str, Reading], texts: Mapping[str, str]
) -> None:
    """Ask about each of *texts* that is not right as it was read, and may mean another number.

    Raises:
        AnswerError: one of them is not clear.
    """
    for name, reading in readings.items():
        if not keys[name].holds(reading):
            refuse_unclear(texts[name])


def _trouble_of(asked: answer_key.AskedQuantity, expression: str, names: Names) -> str:
    """Why *expression* has no value in the unit that is asked for; empty where it has one."""
    try:
        asked.value(expression, names)
    except ExpressionError as error:
        return str(error)
    return ""


_FARTHEST = 1e6  # steps; no figure has as many
_FORESEEN = 2  # mistakes of an exercise, at least


@dataclass(frozen=True, slots=True)
class NumericQuestion:
    """The boxes of a numeric exercise."""

    fields: tuple[Box, ...]


class Numeric(QuantityExercise, answer_key.QuantityForm):
    """One number with a unit, or several."""

    kind_title = noted("Number")
    sample = "collectives/bytes-sent-by-a-ring"
    only_draws = True
    kind: Literal["numeric"]
    wrong: dict[str, answer_key.Mistake] = Field(
        default_factory=dict, alias="mistakes", description=answer_key.MISTAKES
    )
    answers: dict[str, answer_key.AskedQuantity] = Field(
        default_factory=dict, description="name: one of several answers, instead of answer"
    )
    _asked: dict[str, answer_key.AskedQuantity] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _asks_for_one_thing_or_several(self) -> Self:
        if bool(self.answer) == bool(self.answers):
            raise ValueError("give either one answer, or several under answers")
        form = {name: getattr(self, name) for name in answer_key.QuantityForm.model_fields}
        self._asked = self.answers or {ONLY: answer_key.AskedQuantity(mistakes=self.wrong, **form)}
        return self

    @cached_property  # looked up twenty times as fast as a private attribute of Pydantic
    def asked(self) -> Mapping[str, answer_key.AskedQuantity]:
        """The quantities by name."""
        return self._asked

    @property
    def minutes(self) -> int:
        """About how long it takes: half a minute more for each box after the first."""
        return super().minutes + (len(self.asked) - 1) // 2

    def question(self, seed: int) -> NumericQuestion:
        """The boxes to fill in."""
        return NumericQuestion(self.boxes(seed))

    def right_answer(self, seed: int) -> base.Answer:
        """The right value of each box, to twelve figures."""
        texts = self.typed_answers(seed)
        return texts if self.answers else texts[ONLY]

    def reveal(self, seed: int) -> str:
        """The right values, as a person writes them."""
        if not self.answers:
            return f"**{self.keys(seed)[ONLY].shown()}**"
        return "\n".join(self.listed_answers(seed))

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each listed mistake, as a learner would type it."""
        for texts, says in self.mistyped_answers(seed, self.typed_answers(seed)):
            yield texts if self.answers else texts[ONLY], says

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Compare each box with its key; one that builds on another may build on the learner's."""
        given = self._given(answer)
        readings = {name: self._read(seed, name, text) for name, text in given.items()}
        refuse_unclear_answers(self.keys(seed), readings, given)
        parts = {
            name: self._judge(seed, name, readings) if name in readings else base.PartVerdict(None, "")
            for name in self.asked
        }
        if self.answers:
            return self.verdict_on(seed, parts)
        only = parts[ONLY]
        says = [only.says, answer_key.worth_sentence(only.score)] if only.score else [only.says]
        return base.Verdict(only.share == 1, only.share, tuple(says), mistake=only.mistake)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """One field "answer", or a field "answer.NAME" for each of several."""
        return base.posted_answers(form, self.answers) if self.answers else super().answer_in(form)

    def untold(self) -> Iterator[tuple[base.Where, str]]:
        """The names of the parts, which a figure shows."""
        for name, asked in self.asked.items():
            for part in asked.parts:
                yield self.place_of(name, "part_names", part), asked.part_name(part)

    @property
    def draws_mistakes(self) -> bool:
        """Whether an answer adds up parts."""
        return any(asked.parts for asked in self.asked.values())

    def reached(self, seed: int, answer: base.Answer) -> int | None:
        """The step for what was typed: the last that it reaches, or the first beyond the right one.

        A wrong number never reaches the step of the right one, and one that counts as right reaches it.
        """
        if not (self.figure and self.figure.plays):
            return None
        drawn, keys = self.draw(seed).names, self.keys(seed)
        readings = {name: self._read(seed, name, text) for name, text in self._given(answer).items()}
        typed = {name: keys[name].right if keys[name].holds(one) else one.value for name, one in readings.items()}
        try:
            goal, step = (
                evaluate(self.figure.plays, {**drawn, **{n: Quantity(v, self.dimension(n)) for n, v in values.items()}})
                for values in ({name: key.right for name, key in keys.items()}, typed)
            )
        except ExpressionError:  # its box is empty, or the number is out of all bounds
            return None
        if math.isclose(step.value, goal.value):
            return round(goal.value)
        near = min(max(step.value, 0.0), _FARTHEST)
        return min(math.floor(near), round(goal.value) - 1) if near < goal.value else math.ceil(near)

    def counted(self, seed: int, answer: base.Answer) -> base.CountedParts | None:
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

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """Answers have the right unit, and mistakes are apart from them and from each other."""
        try:
            keys = self.keys(drawn.seed)
            clashes = self.clashes(keys)
            parts = {name: trouble_of_parts(key) for name, key in keys.items()}
        except ExpressionError as error:
            yield from self._unworkable(drawn) or [
                base.Finding(self.place_of(next(iter(self.asked)), "answer"), str(error))
            ]
            return
        if sum(len(key.asked.mistakes) for key in keys.values()) < _FORESEEN:
            where = self.place_of(next(iter(self.asked)), "answer")
            yield base.Finding(where, "fewer than two mistakes are listed", "add them under mistakes")
        for name, says in parts.items():
            if says:
                yield base.Finding(self.place_of(name, "parts"), says, "list all that it adds up, once")
        yield from clashes

    def _unworkable(self, drawn: Draw) -> list[base.Finding]:
        """Each expression that has no value in *drawn*, where it is written; what builds on it is not judged."""
        known = dict(drawn.names)
        for name, asked in self.asked.items():
            own: list[tuple[base.Where, str]] = [(("answer",), asked.answer)]
            own += [(("accept",), asked.accept)] if asked.accept else []
            found = [(where, says) for where, text in own if (says := _trouble_of(asked, text, known))]
            if not found:
                known[name] = Quantity(asked.value(asked.answer, known), asked.scale.unit.dimension)
                more: list[tuple[base.Where, str]] = [(("mistakes", text), text) for text in asked.mistakes]
                more += [(("parts", part), text) for part, text in asked.parts.items()]
                found = [(where, says) for where, text in more if (says := _trouble_of(asked, text, known))]
                found += self._unfilled(asked, replace(drawn, names=known)) if not found else []
            if found:
                return [base.Finding(self.place_of(name, *where), says) for where, says in found]
        return []

    def _unfilled(self, asked: answer_key.AskedQuantity, drawn: Draw) -> Iterator[tuple[base.Where, str]]:
        """The feedback on mistakes that cannot be filled with what is *drawn*."""
        for expression, mistake in asked.mistakes.items():
            try:
                self.fill(mistake.says, drawn)
            except ExpressionError as error:
                yield ("mistakes", expression), str(error)

    def place_of(self, name: str, *more: str | int) -> base.Where:
        """The place in the file of what is said of the quantity called *name*."""
        return super().place_of(name, *more) if self.answers else more

    def _given(self, answer: base.Answer) -> dict[str, str]:
        if not self.answers and isinstance(answer, list):
            raise AnswerError(translate("the answer must be a string"))
        filled = base.named_answers(
            {ONLY: answer} if isinstance(answer, str) and not self.answers else answer, self.asked
        )
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

    def _judge(self, seed: int, name: str, readings: Mapping[str, Reading]) -> base.PartVerdict:
        verdict = self.keys(seed)[name].judge(readings[name])
        if verdict.correct or not self.answers or not self._follows(seed, name, readings):
            return verdict
        says = translate("Right for your own answers above, which are not right yet.")
        return base.PartVerdict(True, says + self.asked[name].echo(readings[name]))

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
