"""Tolerances that let a wrong answer pass.

Where a value that the file names is near the right one without being it, the difference may be all
that the exercise is about: a weight that moves by a step and one that does not.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.authoring.texts import Script
from app.authoring.values import WrittenNumber, written_numbers
from app.core.expressions import ExpressionError, Quantity, evaluate, parse_expression, slots
from app.core.expressions.branches import without_tags
from app.core.expressions.tree import Node, Number, nodes_in
from app.core.units import RATIO
from app.course.kinds import Finding, Where
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.drawn_values import Draw
from app.course.kinds.lab import LabExercise
from app.course.kinds.numeric import ONLY
from app.course.kinds.quantities_base import Asking

_ROUNDING = 1e-3  # of the right value: nearer ones are the right value to four figures
_SAME = 1e-9
_COUNT = 20  # from here on, a whole number and one that rounds to it are the same answer
_CURE = "tighten the tolerance, or draw values that tell them apart"
_EXACT = "tolerance: exact"


def prove_tolerances(script: Script) -> Iterator[Finding]:
    """Each answer whose tolerance accepts another value that the file names."""
    exercise = script.exercise
    if not isinstance(exercise, Asking | LabExercise):
        return
    texts = _WrittenValues.of(script)
    found: dict[str, Finding] = {}
    for drawn in script.drawings:
        for name, key in exercise.keys(drawn.seed).items():
            if name not in found and (finding := _finding(texts, drawn, name, key)):
                found[name] = Finding(_where(script, name), finding[0], finding[1])
    yield from found.values()


@dataclass(frozen=True)
class _WrittenValues:
    """The numbers and the slots in the texts of an exercise, and the names of what is drawn."""

    numbers: tuple[WrittenNumber, ...]
    slots: tuple[str, ...]
    drawn: frozenset[str]

    @classmethod
    def of(cls, script: Script) -> "_WrittenValues":
        texts = [text for _, text in script.texts]
        numbers = (number for text in texts for number in written_numbers(text))
        named = dict.fromkeys(slot for text in texts for slot in slots(without_tags(text)))
        return cls(tuple(numbers), tuple(named), script.drawn)


def _where(script: Script, name: str) -> Where:
    if isinstance(script.exercise, LabExercise):
        return ("predict", name, "answer")
    return ("answer",) if name == ONLY else ("answers", name, "answer")


def _finding(texts: _WrittenValues, drawn: Draw, name: str, key: AnswerKey) -> tuple[str, str] | None:
    """What is wrong with the tolerance of *key*, and its cure."""
    asked = key.asked
    if asked.tolerance == "exact" or asked.accept:
        return None
    right = asked.shown(key.right)
    if _is_unchanged(texts, drawn, key):
        says = f"is {right}, as where nothing changes, and others within {asked.tolerance} count"
        return says, _EXACT
    near = next(_near(texts, drawn, key), None)
    if near is None:
        return None
    text, value = near
    says = f"is {right}, and {asked.shown(value)} counts as well, which is {text}"
    return says, _CURE


def _is_unchanged(texts: _WrittenValues, drawn: Draw, key: AnswerKey) -> bool:
    """Whether the right value is 1 or 0, or a power of two that is among what is drawn."""
    shown = key.right / key.asked.scale.factor
    if shown in (0, 1):
        return key.asked.scale.factor == 1
    if not _is_power_of_two(shown) or key.asked.scale.unit is not RATIO:
        return False
    own = Quantity(key.right, key.asked.scale.unit.dimension)
    return any(drawn.names.get(name) == own for name in texts.drawn)


def _is_power_of_two(value: float) -> bool:
    return value > 0 and math.frexp(value)[0] == 1 / 2


def _near(texts: _WrittenValues, drawn: Draw, key: AnswerKey) -> Iterator[tuple[str, float]]:
    """The values that the file names and that count as right without being it, with their text."""
    dimension = key.asked.scale.unit.dimension
    for number in texts.numbers:
        own = Quantity(key.right, dimension)
        if number.dimension == dimension and _counts(key, number.value) and not number.equals(own):
            yield f"{number.text} in a text", number.value
    for text, quantity in _named_quantities(texts, drawn, key):
        if quantity.dimension == dimension and _counts(key, quantity.value):
            yield text, quantity.value


def _counts(key: AnswerKey, value: float) -> bool:
    """Whether *value* counts as right, and is not the right value rounded."""
    if not key.low <= value <= key.high:
        return False
    unit = key.asked.scale.factor
    shown, off = key.right / unit, abs(value - key.right)
    if shown >= _COUNT and shown.is_integer() and off < unit:
        return False
    return off > (_SAME if _is_power_of_two(shown) else _ROUNDING) * abs(key.right)


def _named_quantities(texts: _WrittenValues, drawn: Draw, key: AnswerKey) -> Iterator[tuple[str, Quantity]]:
    """Every quantity that the file names in this drawing: in slots, by name, and on the way."""
    yield from ((name, quantity) for name, quantity in drawn.names.items())
    for slot in texts.slots:
        if slot not in drawn.names:
            yield from _worked_out(slot, slot, drawn.names)
    for expression in (key.asked.answer, *key.asked.mistakes):
        try:
            whole = parse_expression(expression, key.names)
        except ExpressionError:  # reported where it is proven
            continue
        for part in nodes_in(whole):
            if not isinstance(part, Number):
                yield from _worked_out(f"a part of {expression}", part, key.names)


def _worked_out(text: str, expression: str | Node, names: Mapping[str, Quantity]) -> Iterator[tuple[str, Quantity]]:
    try:
        yield text, evaluate(expression, names)
    except ExpressionError:  # a word or a list, or what is reported elsewhere
        return
