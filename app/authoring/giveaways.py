"""Texts that give the answer away, tolerances that let a wrong one pass, and cures of findings."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from app.authoring.texts import Script, WrittenNumber, written_numbers
from app.core.errors import nearest
from app.core.expressions import ExpressionError, Quantity, drop_terms, evaluate, parse_expression
from app.core.expressions.parser import Node, Number, nodes_in
from app.core.units import RATIO
from app.course.content.errata import terms
from app.course.kinds import Exercise, Finding
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.choice import Choice
from app.course.kinds.drawn_values import Draw
from app.course.kinds.numeric import QuantityExercise
from app.course.kinds.schema_errors import cure_of_unit, unit_cure

_MUCH_LONGER = 1.5  # times the longest wrong option
_SHORT_OPTION = 40  # characters, below which no one compares


def prove_giveaways(script: Script) -> Iterator[Finding]:
    """A title that contains the answer, and names under `unmarked` that the glossary lacks."""
    known = {spelling for term in terms().values() for spelling in (term.term, *term.also)}
    for index, name in enumerate(script.exercise.unmarked):
        if name.casefold() not in {spelling.casefold() for spelling in known}:
            says = f"no glossary term is called {name!r}{nearest(name, known)}"
            yield Finding(("unmarked", index), says, "write the term as in /glossary")
    for written in written_numbers(script.exercise.title):
        if name := _answered(script, written):
            says = f"says {written.text}, which is the answer ({name})"
            yield Finding(("title",), says, "name the subject, not the result")


def _answered(script: Script, written: WrittenNumber) -> str:
    """The name of the answer that *written* equals in some drawing; empty if there is none."""
    for drawn in script.drawings:
        for name, key in script.keys(drawn).items():
            right = Quantity(key.right, key.asked.scale.unit.dimension)
            counted = written.has_unit or written.is_distinctive or "time" in written.nouns
            if counted and written.equals(right):
                return name
    return ""


def too_long(exercise: Exercise) -> Iterator[str]:
    """A warning if the right option is by far the longest."""
    if not isinstance(exercise, Choice):
        return
    keys, drawn = exercise.right(0), exercise.draw(0)
    lengths = {key: len(exercise.fill(one.text, drawn)) for key, one in exercise.options.items()}
    right = max(lengths[key] for key in keys)
    wrong = max((length for key, length in lengths.items() if key not in keys), default=0)
    if right > _SHORT_OPTION and right > _MUCH_LONGER * wrong:
        yield (
            f"the right option has {right} characters, and no other has more than {wrong}: "
            "it can be guessed by its length"
        )


_ROUNDING = 1e-3  # of the right value: nearer ones are the right value to four figures
_SAME = 1e-9
_COUNT = 20  # from here on, a whole number and one that rounds to it are the same answer
_MANY = 10_000  # things, from which on a number of them is an estimate
_BOUND = re.compile(
    r"\b(?:at most|at least|no (?:more|fewer|less) than|fewest|up to how many|(?:small|large)est number|fit)\b",
    re.IGNORECASE,
)
_CELL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_SCALES = (1.0, 1e-6, 1e-3, 1e9)  # of a column: bytes, microseconds, milliseconds, gigabytes per second
_CURE = "tighten the tolerance, or draw values that tell them apart"
_EXACT = "tolerance: exact"


def prove_tolerances(script: Script) -> Iterator[Finding]:
    """Each answer whose tolerance accepts another value that the file names."""
    exercise = script.exercise
    if not isinstance(exercise, QuantityExercise):
        return
    found: dict[str, Finding] = {}
    for drawn in script.drawings:
        for name, key in exercise.keys(drawn.seed).items():
            if name not in found and (finding := _finding(script, drawn, key)):
                found[name] = Finding(exercise.place_of(name, "answer"), *finding)
    yield from found.values()


def _finding(script: Script, drawn: Draw, key: AnswerKey) -> tuple[str, str] | None:
    """What is wrong with the tolerance of *key*, and its cure."""
    asked = key.asked
    if asked.tolerance == "exact" or asked.accept:
        return None
    right = asked.shown(key.right)
    if _is_unchanged(script, drawn, key):
        says = f"is {right}, as where nothing changes, and others within {asked.tolerance} count"
        return says, _EXACT
    if _asks_for_a_bound(script, key):
        return f"is {right}, the last that meets a condition, and others within {asked.tolerance} count", _EXACT
    near = next(chain(_near(script, drawn, key), _shortened(key), _of_other_rows(script, drawn, key)), None)
    if near is None:
        return None
    text, value = near
    says = f"is {right}, and {asked.shown(value)} counts as well, which is {text}"
    return says, _CURE


def _asks_for_a_bound(script: Script, key: AnswerKey) -> bool:
    """Whether *key* is a number of things that a condition limits, in words or by being rounded."""
    if key.asked.sort != "count" or not key.right.is_integer() or key.right >= _MANY:
        return False
    return key.asked.is_rounded or _BOUND.search(key.asked.prompt or script.exercise.prompt) is not None


def _shortened(key: AnswerKey) -> Iterator[tuple[str, float]]:
    """The values that the answer has with a term left out, if they count as right."""
    try:
        whole = parse_expression(key.asked.answer, key.names)
    except ExpressionError:  # reported where it is proven
        return
    for one in drop_terms(whole, key.names):
        for text, quantity in _worked_out("the answer without one of its terms", one, key.names):
            if quantity.dimension == key.asked.scale.unit.dimension and _counts(key, quantity.value):
                yield text, quantity.value


def _of_other_rows(script: Script, drawn: Draw, key: AnswerKey) -> Iterator[tuple[str, float]]:
    """The values that the answer has with the row before or after of a table, if they count as right."""
    for name in script.exercise.exhibits:
        for read, quantity in key.names.items():
            if not read.startswith(f"{name}_"):
                continue
            for value in _beside(drawn.listings[name], quantity.value):
                names = {**key.names, read: Quantity(value, quantity.dimension)}
                for text, other in _worked_out(f"that of a row beside {read}", key.asked.answer, names):
                    if other.dimension == key.asked.scale.unit.dimension and _counts(key, other.value):
                        yield text, other.value


def _beside(table: str, value: float) -> Iterator[float]:
    """The numbers above and below *value* in its column of *table*."""
    rows = [[float(cell) for cell in _CELL.findall(line)] for line in table.splitlines()]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            for scale in _SCALES:
                if value and math.isclose(cell * scale, value, rel_tol=_SAME):
                    near = (rows[other] for other in (at - 1, at + 1) if 0 <= other < len(rows))
                    yield from (other[column] * scale for other in near if len(other) == len(row))


def _is_unchanged(script: Script, drawn: Draw, key: AnswerKey) -> bool:
    """Whether the right value is 1 or 0, or a power of two that is among what is drawn."""
    shown = key.right / key.asked.scale.factor
    if shown in (0, 1):
        return key.asked.scale.factor == 1
    if not _is_power_of_two(shown) or key.asked.scale.unit is not RATIO:
        return False
    own = Quantity(key.right, key.asked.scale.unit.dimension)
    return any(drawn.names.get(name) == own for name in script.drawn)


def _is_power_of_two(value: float) -> bool:
    return value > 0 and math.frexp(value)[0] == 1 / 2


def _near(script: Script, drawn: Draw, key: AnswerKey) -> Iterator[tuple[str, float]]:
    """The values that the file names and that count as right without being it, with their text."""
    dimension = key.asked.scale.unit.dimension
    for number in script.numbers:
        own = Quantity(key.right, dimension)
        if number.dimension == dimension and _counts(key, number.value) and not number.equals(own):
            yield f"{number.text} in a text", number.value
    for text, quantity in _named_quantities(script, drawn, key):
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


def _named_quantities(script: Script, drawn: Draw, key: AnswerKey) -> Iterator[tuple[str, Quantity]]:
    """Every quantity that the file names in this drawing: in slots, by name, and on the way."""
    yield from drawn.names.items()
    for slot in script.slots:
        if slot not in drawn.names:
            yield from _worked_out(slot, slot, drawn.names)
    for expression in (key.asked.answer, *key.listed):
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


_WORDS = "known names are those in given, cases and let, earlier answers, and formulas"
_CURES: Mapping[str, str] = {
    r"is not known here": _WORDS,
    r"has a comma": "decimals begin with a point, and nothing stands between thousands",
    r"no (?:function|formula) is called": "/authoring lists the functions, /formulas the formulas",
    r"not a finite number|has no value at": "draw values for which it has one, or say `where`",
    r"are of different kinds|and the answer is in|mixed unit|the answer is a": (
        "check the units of what is added and divided, or change `unit`"
    ),
    r"takes (?:only|.* as .*, not)|is given .* twice|needs one of|returns one value": (
        "its arguments are in /formulas"
    ),
    r"this is not a configuration": "paste all of it, or copy an address of /explore/fit",
    r"\{end\} is missing|may not come after": "write {when a > b}…{otherwise}…{end}",
    r"is not a comparison": "write a comparison: ranks <= 64",
    r"no values of the symbols meet": "widen a range of `symbols`, or loosen `sense`",
    r"does not meet|no drawing meets": "loosen `where`, or put values that meet it first",
    r"is not valid LaTeX": "LaTeX between $ signs; a price is written \\\\$5",
    r"every option is right|reads the same as": "change or remove one of the options",
    r"the `when` of no option holds": "give one option a `when` that holds for the rest: 1 == 1",
    r"any order is right|are not written in an order": "say under `after` what comes before",
    r"have a sentence under": "add says: to a thing, with a wrong partner and its feedback",
    r"no choice meets": "loosen a condition, or offer other values to choose from",
    r"ways to choose": "offer fewer values, or fewer things to choose",
    r"has the same values as|cannot be told apart": "remove one of them",
    r"does not equal the answer": "correct the answer, or the reference",
    r"does not get its feedback, but": "another has the same values: remove it, or add arguments",
    r"ranks are not 2 to|reaches the target layout": "change `mesh`, or the layouts",
    r"does not accept its own answer|accepts the mistake|does not get": (
        "try it in wallclock preview; two mistakes may have the same value"
    ),
    r"the right program|the right code fails": "run it on these arguments",
    r"does not measure": "wallclock lab list --json shows what it measures",
    r"no lab is called|parameter": "wallclock lab list shows the labs and their parameters",
    r"has no control|no explorer is called|is the (?:largest|smallest)|has figures": (
        "open it under /explore and copy its address"
    ),
    r"[{].*[}]: |[{].*[}] is .*, not in": "write {name}, or {name | unit} in a unit of its kind",
    r"passes every drawn call": "add arguments to `calls` for which it differs",
    r"raises .*, which its symptom": "name the exception in `symptom`, or use {symptom}",
    r"no change of one line|no bugs can be drawn": "list `bugs` yourself, or draw more calls",
    r"should give a whole number": "round it, or draw values for which it is whole",
    r"no exhibit is called": "its name is that of a file shown under /measured",
    r"cannot be spread|on one node|on processors only|has more than|takes at most|not a range": (
        "wallclock lab list shows the labs and their parameters"
    ),
    r"has no layout|a copy of the model|data-parallel ranks|has no field": (
        "open it under /explore and copy its address"
    ),
    r"too long|too many|too deeply": "name parts of it under `let`",
    r"must be|must divide|the result is too large|exponent|not a real number": (
        "draw values inside its domain, which /formulas shows, or say `where`"
    ),
    r"also needs| takes ": "its arguments are in /formulas",
    r"has no value|log takes|in quotes|function takes|cannot read|is missing before|is missing$|"
    r"does not belong here|is not a number|without|parentheses": (
        "write it as 2 * size * (ranks - 1) / ranks; /authoring lists the functions"
    ),
    r"has no": "wallclock lab list shows the labs and their parameters",
    r"the result is (?:in|a)|the answer is": "check the units, or change `unit`",
}
_ELSE = "compare it with the sample of its kind in /authoring"
_NAME = re.compile(r"'([^']+)' is not known here")


def add_cure(finding: Finding, exercise: Exercise | None = None) -> Finding:
    """*finding* with a cure, if one is known."""
    if exercise is not None and (circular := _circular(finding, exercise)):
        return circular
    if finding.cure:
        return finding
    if finding.where[:1] in (("given",), ("cases",)) and (found := _NAME.search(finding.says)):
        return replace(finding, cure=f"{cure_of_unit(found[1])}; {_WORDS}")
    return replace(finding, cure=unit_cure(finding.says) or finding_cure(finding.says) or _ELSE)


def finding_cure(says: str) -> str:
    """The cure for what a finding *says*, if one is known."""
    return next((cure for part, cure in _CURES.items() if re.search(part, says)), "")


def _circular(finding: Finding, exercise: Exercise) -> Finding | None:
    """A clearer finding for a value that depends on itself, or on one computed after it."""
    found = _NAME.search(finding.says)
    if not found or found[1] not in exercise.worked_out:
        return None
    says = f"{found[1]!r} depends on itself, or is used before it is worked out"
    seed = re.match(r"seed \d+[^:]*: ", finding.says)
    cure = f"move {found[1]} up: let goes from top to bottom, and then the answers"
    where = ("let", found[1]) if found[1] in exercise.let else finding.where
    return Finding(where, f"{seed[0] if seed else ''}{says}", cure)
