"""Texts that give the answer away, tolerances that let a wrong one pass, and cures of findings."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.authoring.texts import Script, WrittenNumber, written_numbers
from app.core.errors import nearest
from app.core.expressions import ExpressionError, Quantity, evaluate, parse_expression, slots
from app.core.expressions.parser import Node, Number, nodes_in
from app.core.expressions.template import without_tags
from app.core.units import RATIO
from app.course.content.errata import mark, marked_terms, terms
from app.course.kinds import Exercise, Finding, Where
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.choice import Choice, LabExercise
from app.course.kinds.drawn_values import Draw
from app.course.kinds.numeric import ONLY, QuantityExercise
from app.course.kinds.schema_errors import cure_of_unit, unit_cure
from app.site.markdown import html

_STEM = 6  # letters that distinguish words
_SHARED_WORDS = 3  # words that only the right option shares with a tooltip
_STOP_WORDS = {
    "about", "after", "also", "because", "before", "both", "does", "each", "every", "from", "have",
    "into", "less", "many", "more", "most", "only", "other", "over", "same", "some", "than", "that",
    "their", "them", "then", "there", "they", "this", "under", "very", "what", "when", "which",
    "while", "with", "would",
}  # fmt: skip
_PARTS = {"third", "half", "quarter", "fifth", "tenth", "twice", "double", "triple", "thrice"}
_MUCH_LONGER = 1.5  # times the longest wrong option
_SHORT_OPTION = 40  # characters, below which no one compares
_HABIT = 3  # exercises that make a habit visible
_HABIT_SHARE = 2 / 3  # of the exercises


def prove_giveaways(script: Script) -> Iterator[Finding]:
    """A title that contains the answer, and terms whose tooltip gives it away."""
    yield from _prove_unmarked(script)
    for written in written_numbers(script.exercise.title):
        if name := _answered(script, written):
            says = f"says {written.text}, which is the answer ({name})"
            yield Finding(("title",), says, "name the subject, not the result")
    prompt = html(script.exercise.variant(0).prompt)
    shown = mark(prompt, tuple(script.exercise.unmarked))
    for key in marked_terms(shown):
        term = terms()[key]
        if why := _given_away(script, term.says, prompt):
            says = f"the tooltip of {term.term!r} gives the answer away: {why}"
            yield Finding(("prompt",), says, f"remove its tooltip: unmarked: [{term.term}]")


def _prove_unmarked(script: Script) -> Iterator[Finding]:
    known = {spelling for term in terms().values() for spelling in (term.term, *term.also)}
    for index, name in enumerate(script.exercise.unmarked):
        if name.casefold() not in {spelling.casefold() for spelling in known}:
            says = f"no glossary term is called {name!r}{nearest(name, known)}"
            yield Finding(("unmarked", index), says, "write the term as in /glossary")


def _answered(script: Script, written: WrittenNumber) -> str:
    """The name of the answer that *written* equals in some drawing; empty if there is none."""
    for drawn in script.drawings:
        for name, key in script.keys(drawn).items():
            right = Quantity(key.right, key.asked.scale.unit.dimension)
            counted = written.has_unit or written.is_distinctive or "time" in written.nouns
            if counted and written.equals(right):
                return name
    return ""


def _given_away(script: Script, says: str, prompt: str) -> str:
    """The part of the answer that the tooltip *says*; empty if there is none."""
    exercise = script.exercise
    if isinstance(exercise, Choice | LabExercise):
        offered = exercise.options if isinstance(exercise, Choice) else exercise.cause.options
        correct = exercise.right(0) if isinstance(exercise, Choice) else {exercise.cause.correct}
        right = [option.text for key, option in offered.items() if key in correct]
        wrong = [option.text for key, option in offered.items() if key not in correct]
        return _telltale_words(right, wrong, says, prompt)
    return _factor(script, says, prompt)


def _telltale_words(right: Sequence[str], wrong: Sequence[str], says: str, prompt: str) -> str:
    """The words of the tooltip that are in the right options and in none of the wrong ones."""
    for text in right:
        head = re.split(r"[.,;:]", text.lower())[0]
        heads = [re.split(r"[.,;:]", other.lower())[0] for other in wrong]
        if " " in head and head in says.lower() and not any(h in says.lower() for h in heads):
            return f"{head!r}"
    own = _words(right) - _words(wrong) - _stems(prompt)
    other = _words(wrong) - _words(right) - _stems(prompt)
    common = own & _stems(says)
    parts = common & _PARTS
    if parts or (len(common) >= _SHARED_WORDS and len(common) > 2 * len(other & _stems(says))):
        return ", ".join(sorted(common))
    return ""


def _words(texts: Sequence[str]) -> set[str]:
    return {stem for text in texts for stem in _stems(text)}


def _stems(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{4,}", re.sub(r"<[^>]*>|\{[^}]*\}", " ", text.lower())))
    return {word if word in _PARTS else word[:_STEM] for word in words - _STOP_WORDS}


def _factor(script: Script, says: str, prompt: str) -> str:
    """A number in the tooltip that turns a given value directly into the answer."""
    known = {written.number for written in written_numbers(re.sub(r"<[^>]*>", " ", prompt))}
    for written in written_numbers(says):
        if written.number in known or not written.has_unit:
            continue
        if any(_is_answer(script, written, name) for name in ("", *script.names)):
            return written.text
    return ""


def _is_answer(script: Script, written: WrittenNumber, name: str) -> bool:
    """Whether *written*, times the value called *name*, is an answer in every drawing."""
    for drawn in script.drawings:
        times = drawn.names[name].value if name else 1.0
        rights = [
            key.right for key in script.keys(drawn).values() if key.asked.scale.unit.dimension == written.dimension
        ]
        if not any(abs(written.value * times - right) <= abs(right) * 1e-6 for right in rights):
            return False
    return True


def _right_and_wrong(exercise: Choice) -> tuple[int, int]:
    """The lengths of the longest right and of the longest wrong option of variant 0."""
    right, drawn = exercise.right(0), exercise.draw(0)
    lengths = {key: len(exercise.fill(one.text, drawn)) for key, one in exercise.options.items()}
    wrong = [length for key, length in lengths.items() if key not in right]
    return max(lengths[key] for key in right), max(wrong, default=0)


def too_long(exercise: Exercise) -> Iterator[str]:
    """A warning if the right option is by far the longest."""
    if not isinstance(exercise, Choice):
        return
    right, wrong = _right_and_wrong(exercise)
    if right > _SHORT_OPTION and right > _MUCH_LONGER * wrong:
        yield (
            f"the right option has {right} characters, and no other has more than {wrong}: "
            "it can be guessed by its length"
        )


def longest_is_right(chapter: str, exercises: Iterable[Exercise]) -> Iterator[str]:
    """A warning if the longest option is right in most choices of a chapter."""
    pairs = [_right_and_wrong(one) for one in exercises if isinstance(one, Choice)]
    longest = sum(right > wrong for right, wrong in pairs)
    if len(pairs) >= _HABIT and longest > _HABIT_SHARE * len(pairs):
        yield (
            f"in {longest} of {len(pairs)} choices of {chapter} the right option is the longest: "
            "lengthen some wrong ones"
        )


_ROUNDING = 1e-3  # of the right value: nearer ones are the right value to four figures
_SAME = 1e-9
_COUNT = 20  # from here on, a whole number and one that rounds to it are the same answer
_CURE = "tighten the tolerance, or draw values that tell them apart"
_EXACT = "tolerance: exact"


def prove_tolerances(script: Script) -> Iterator[Finding]:
    """Each answer whose tolerance accepts another value that the file names."""
    exercise = script.exercise
    if not isinstance(exercise, QuantityExercise | LabExercise):
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


_WORDS = "known names are those in given, cases and let, earlier answers, and formulas"
_CURES: Mapping[str, str] = {
    r"is not known here": _WORDS,
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
