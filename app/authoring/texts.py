"""The texts of an exercise as its author wrote them, and the values in them that seeds draw."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.core import expressions
from app.core.expressions.template import without_tags
from app.core.formulas import FORMULAS
from app.core.units import RATIO, Dimension, scale_of
from app.core.units.scales import LARGE, SCALES
from app.course.kinds import Exercise, Finding, Where
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.choice import Choice, LabExercise
from app.course.kinds.design import Design
from app.course.kinds.drawn_values import Draw
from app.course.kinds.numeric import Numeric, QuantityExercise, question_texts, slot_names

SEEDS = range(20)


def distinct(exercise: Exercise, seeds: Iterable[int]) -> Iterator[int]:
    """The first of those *seeds* that draw the same values of *exercise*.

    Raises:
        ExpressionError: a seed cannot be drawn; those before it are given.
    """
    seen = set()
    for seed in seeds:
        values = tuple(exercise.draw(seed).shown.items())
        if values not in seen:
            seen.add(values)
            yield seed


_LONGEST_DRAWING = 120  # characters


def drawn_values(drawn: Draw) -> str:
    """The values of *drawn*, in parentheses; empty where none are drawn."""
    shown = ", ".join(f"{name} {text}" for name, text in drawn.shown.items() if text)
    return f" ({shown[:_LONGEST_DRAWING]})" if shown else ""


@dataclass(frozen=True)
class Script:
    """The texts of an exercise, and the values that may appear in them."""

    exercise: Exercise

    @cached_property
    def texts(self) -> Sequence[tuple[Where, str]]:
        """Every text that a student may see, with its path in the file."""
        exercise = self.exercise
        found = [(("title",), exercise.title), *exercise.texts(), (("solution",), exercise.solution)]
        if isinstance(exercise, Design):
            found.append((("better",), exercise.better))
            found += [(("require", key), text) for key, text in exercise.require.items()]
            found += [(("shows", key), text) for key, text in exercise.shows.items()]
        return found

    @property
    def questions(self) -> Iterator[tuple[Where, str]]:
        """The texts that a student sees before answering."""
        yield ("title",), self.exercise.title
        yield from question_texts(self.exercise)

    @cached_property
    def drawings(self) -> Sequence[Draw]:
        """The distinct drawings of the seeds, with the answers among their names."""
        seeds = distinct(self.exercise, SEEDS)
        return [self.exercise.solved(self.exercise.draw(seed)) for seed in seeds]

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The names of the drawn values, without the answers."""
        return frozenset(self.exercise.draw(self.drawings[0].seed).shown)

    @cached_property
    def numbers(self) -> Sequence["WrittenNumber"]:
        """The numbers that are written in the texts."""
        return [number for _, text in self.texts for number in written_numbers(text)]

    @cached_property
    def slots(self) -> Sequence[str]:
        """The slots in the texts, each once."""
        return list(dict.fromkeys(slot for _, text in self.texts for slot in expressions.slots(without_tags(text))))

    @cached_property
    def names(self) -> Mapping[str, expressions.Quantity]:
        """The numbers of variant 0."""
        return self.drawings[0].names

    @cached_property
    def varying(self) -> frozenset[str]:
        """The names of the numbers that differ from drawing to drawing."""
        return frozenset(
            name
            for name, quantity in self.names.items()
            if any(other.names.get(name, quantity) != quantity for other in self.drawings)
        )

    def keys(self, drawn: Draw) -> Mapping[str, AnswerKey]:
        """The answer keys of an exercise that asks for numbers, by name."""
        if isinstance(self.exercise, Numeric | LabExercise):
            return self.exercise.keys(drawn.seed)
        return {}

    def mentioned(self, text: str) -> set[str]:
        """Every name in the slots of *text*."""
        return slot_names(text, self.drawings[0])


_SLOT = re.compile(r"\{(?P<slot>[^{}]+)\}[ *]*(?P<next>[A-Za-z]*-?[A-Za-z]+)?")
_UNIT_WORD = re.compile(
    r"\A(?:\w++-)?(?:seconds?|minutes?|hours?|days?|years?|bytes?|bits?|dollars?|watts?|percent"
    r"|[KMGT]i?B|[mµn]?s|FLOPs?)"
)
_WHOLE = re.compile(r"-?[\d,]+")
_EXACT = 1e-9


def prove_displays(script: Script) -> Iterator[Finding]:
    """Each value of which a text shows two units, or too few digits to see why it was rounded."""
    for where, text in script.texts:
        for match in _SLOT.finditer(text):
            for drawn in script.drawings:
                if says := _trouble(script, match["slot"], match["next"] or "", drawn):
                    yield Finding(where, says[0], says[1])
                    break


def _trouble(script: Script, slot: str, word: str, drawn: Draw) -> tuple[str, str] | None:
    try:
        shown = expressions.fill(f"{{{slot}}}", drawn.names, drawn.shown)
        value = expressions.evaluate(slot.partition("|")[0], drawn.names)
    except expressions.ExpressionError:  # reported elsewhere, or a word
        return None
    if _UNIT_WORD.fullmatch(word) and value.dimension != RATIO.dimension:
        return f"shows two units: {shown} {word}", "divide by the unit: {time / (1 h)} hours"
    if _hides_rounding(script, shown, value, drawn):
        says = f"shows {shown} for {value.value:.10g}, and the answer is that, rounded"
        return says, f"show more digits: {{{slot.partition('|')[0].strip()} | 6}}"
    return None


def _hides_rounding(script: Script, shown: str, value: expressions.Quantity, drawn: Draw) -> bool:
    """Whether *shown* is a whole number, and an exact answer is *value* rounded to another one."""
    if not _WHOLE.fullmatch(shown) or abs(value.value - round(value.value)) < _EXACT:
        return False
    number = float(shown.replace(",", ""))
    return any(
        key.asked.tolerance == "exact"
        and key.right != number
        and abs(key.right - value.value) < 1
        and key.right == round(key.right)
        for key in script.keys(drawn).values()
    )


_THINGS = r"(?:GPUs?|TPUs?|[HBA]\d00s?|replicas?|pods?|nodes?|servers?|racks?|hosts?|machines?|NICs?)"
_ASKED = re.compile(rf"\A(?:The )?(?:number of |fewest |least |most )?{_THINGS}(?![\w-])", re.IGNORECASE)
_HOW_MANY = re.compile(rf"\bhow many (?:\w+ )?{_THINGS}(?![\w-])", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean|expected?|relative|share|before rounding)\b", re.IGNORECASE)
_TEXTS_UNITS = ("GPUs", "nodes")
_SAME = 1e-9


def prove_wholes(script: Script) -> Iterator[Finding]:
    """Each answer that asks for a number of things, and is a fraction of them in some drawing."""
    exercise = script.exercise
    if not isinstance(exercise, Numeric):
        return
    found = set[str]()
    for drawn in script.drawings:
        for name, key in exercise.keys(drawn.seed).items():
            value = key.right / key.asked.scale.factor
            if name not in found and _counts_things(exercise, key) and not _is_whole(value):
                found.add(name)
                says = f"is {key.asked.shown(key.right)}: these come whole"
                cure = "round it, as in ceil(...), or ask for the number on average"
                yield Finding(exercise.place_of(name, "answer"), says, cure)


def prove_quantities(script: Script) -> Iterator[Finding]:
    """Each plain number whose kind is open, and what contradicts its kind in some drawing."""
    exercise = script.exercise
    if not isinstance(exercise, QuantityExercise):
        return
    found: dict[Where, Finding] = {}
    for drawn in script.drawings:
        for name, key in exercise.keys(drawn.seed).items():
            for where, says, cure in _trouble_of_kind(key):
                place = (*exercise.place_of(name), *where)
                found.setdefault(place, Finding(place, says, cure))
    yield from found.values()


def _trouble_of_kind(key: AnswerKey) -> Iterator[tuple[Where, str, str]]:
    """What is wrong with the kind of quantity of *key*: the place in it, and the cure."""
    asked, factor = key.asked, key.asked.scale.factor
    right = key.right / factor
    if not asked.sort:
        yield ("answer",), "is a plain number of no kind, so that feedback cannot go by it", _KINDS
    if asked.quantity and asked.scale.unit is not RATIO:
        yield ("quantity",), f"{asked.unit} says what it is", "remove it"
    if asked.sort == "probability" and not 0 <= key.right <= 1:
        says = f"is {asked.shown(key.right)}, and a probability is from 0 to 1"
        yield ("quantity",), says, "quantity: share, or factor"
    if not asked.is_count:
        return
    if not _is_whole(right):
        yield ("quantity",), f"is {asked.shown(key.right)}, and a count that is exact is whole", _KINDS
    for expression, (value, _) in zip(key.listed, key.mistakes, strict=True):
        if not _is_whole(value / factor):
            says = f"is {asked.shown(value)}, and the answer is a whole number"
            yield ("mistakes", expression), says, "round it, as in ceil(...), or remove it: to round is told anyway"


_KINDS = "quantity: count, factor, share, probability, or number if it is none of these"


def _counts_things(exercise: Numeric, key: AnswerKey) -> bool:
    text = key.asked.prompt or exercise.prompt
    if _MEAN.search(text):
        return False
    asks = _ASKED.search(text) if key.asked.prompt else _HOW_MANY.search(text)
    return key.asked.unit in _TEXTS_UNITS or (asks is not None and not key.asked.unit)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= _SAME * max(1.0, abs(value))


_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16, "twenty": 20, "thirty": 30, "fifty": 50,
    "sixty": 60, "hundred": 100, "thousand": 1000,
}  # fmt: skip
_LETTERS = {"K": 1e3, "M": 1e6, "B": 1e9}
_UNITS = sorted((one for one in SCALES if one not in ("x", "d", "h")), key=len, reverse=True)
_NUMBER = re.compile(
    r"(?<![\w.,/^−-])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    rf"|\b(?i:{'|'.join(_WORDS)})\b)"
    rf"(?P<large>[ -](?:{'|'.join(LARGE)})\b|[KMB]\b(?!/))?"
    rf"(?:[\s-]*(?P<unit>per cent|{'|'.join(map(re.escape, _UNITS))})(?!\w|/))?"
    r"(?:[ *-]+(?P<noun>[A-Za-z-]{3,}))?"
)
_DISTINCTIVE = 3  # digits of a number that is not there by chance
_CURE = "write {{{name}}}, or fixed: [{text}] if it is meant for every drawing"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenNumber:
    """A number as written in a text; *nouns* are the words that may say what it counts."""

    text: str
    number: str
    value: float
    half: float  # half a unit of its last digit
    dimension: Dimension
    has_unit: bool
    nouns: frozenset[str]

    @property
    def is_distinctive(self) -> bool:
        """Whether it has enough digits not to be there by chance."""
        return len(re.sub(r"\D", "", self.number).strip("0")) >= _DISTINCTIVE

    def equals(self, quantity: expressions.Quantity | None) -> bool:
        """Whether it equals *quantity*, to its printed precision."""
        return (
            quantity is not None
            and quantity.dimension == self.dimension
            and abs(quantity.value - self.value) <= self.half * (1 + 1e-9)
        )


def written_numbers(text: str) -> Iterator[WrittenNumber]:
    """Every number in the prose of *text*.

    >>> [(f.text, f.value, sorted(f.nouns)) for f in written_numbers("Four chunks at 1,024 GB/s")]
    [('Four chunks', 4.0, ['chunk']), ('1,024 GB/s', 1024000000000.0, ['gb/s'])]
    """
    for match in _NUMBER.finditer(expressions.blank_slots(text)):
        number, unit = match["number"], match["unit"] or ""
        scale = scale_of("%" if unit == "per cent" else unit)
        large = (match["large"] or "").strip(" -")
        factor = scale.factor * (LARGE.get(large) or _LETTERS.get(large) or 1)
        value = _WORDS.get(number.lower()) or float(number.replace(",", ""))
        digits = len(number.partition(".")[2])
        counts = scale.unit is RATIO and scale.factor == 1
        nouns = {_singular(word) for word in (unit, match["noun"] or "") if word}
        has_unit = not counts or bool(large)
        end = match.start("noun") if has_unit and match["noun"] else match.end()
        text = " ".join(match.string[match.start() : end].strip(" *-").split())
        yield WrittenNumber(
            text=text,
            number=number,
            value=value * factor,
            half=0.5 * 10**-digits * factor,
            dimension=scale.unit.dimension,
            has_unit=has_unit,
            nouns=frozenset(nouns),
        )


def prove_numbers(script: Script) -> Iterator[Finding]:
    """Each number that equals a value in some drawings, but not in others."""
    if len(script.drawings) == 1 or not script.varying:
        return
    nouns = _nouns(script)
    for where, text in script.texts:
        for written in written_numbers(text):
            if written.text.startswith(tuple(script.exercise.fixed)):
                continue
            if found := _stands_for(script, written, nouns):
                yield _finding(script, where, written, found)


def _finding(script: Script, where: Where, written: WrittenNumber, name: str) -> Finding:
    text = written.text
    says = f"says {text}, which is {name} in some drawings, but not in others"
    if where == ("title",):
        return Finding(where, says, f"a title fits every drawing: remove the number, or fixed: [{text}]")
    return Finding(where, says, _CURE.format(name=name, text=text))


def _stands_for(script: Script, written: WrittenNumber, nouns: dict[str, set[str]]) -> str:
    """The name of the value that *written* equals only in some drawings; empty if there is none."""
    for name in sorted(script.varying):
        if not (written.has_unit or written.is_distinctive or written.nouns & nouns.get(name, set())):
            continue
        if len({written.equals(drawn.names.get(name)) for drawn in script.drawings}) > 1:
            return name
    if written.is_distinctive:
        for slot in sorted({slot for _, text in script.texts for slot in expressions.slots(text)}):
            if len({_is_shown(written, slot, drawn) for drawn in script.drawings}) > 1:
                return slot
    return ""


def _is_shown(written: WrittenNumber, slot: str, drawn: Draw) -> bool:
    """Whether *slot* is displayed with the digits of *written*."""
    try:
        shown = expressions.fill(f"{{{slot}}}", drawn.names, drawn.shown)
    except expressions.ExpressionError:  # reported elsewhere
        return False
    return shown.lstrip("$").partition(" ")[0] == written.number


def _nouns(script: Script) -> dict[str, set[str]]:
    """The nouns that each number counts: its own name, and the words that follow it in texts."""
    found = {name: {_singular(name.replace("_", "-"))} for name in script.varying}
    for _, text in script.texts:
        for name, word in expressions.words_after_slots(text):
            found.setdefault(name, set()).add(_singular(word))
    return found


def _singular(word: str) -> str:
    return word.lower().removesuffix("s") if word.isalpha() else word.lower()


def prove_shown(script: Script) -> Iterator[Finding]:
    """Drawn values that the answer needs, but no question shows."""
    exercise = script.exercise
    for index, name in enumerate(exercise.implied):
        if name not in script.drawn:
            yield Finding(("implied", index), f"{name} is not drawn", "remove it")
    mentioned = set[str]().union(*(script.mentioned(text) for _, text in script.questions))
    first = script.drawings[0]
    if mentioned - {*first.names, *first.shown, *first.listings, *FORMULAS}:
        return  # a misspelled name may be the missing one; it is reported elsewhere
    shown = mentioned | set(exercise.implied)
    for where, expression in _keys(script):
        for name in sorted(_needed(script, expression, shown)):
            shown.add(name)  # reporting it once is enough
            says = f"needs {name}, which is drawn, and the prompt never shows it"
            cure = f"write {{{name}}} in the prompt, or implied: [{name}] if the rest implies it"
            yield Finding(where, says, cure)


def _keys(script: Script) -> Iterator[tuple[Where, str]]:
    """The expressions that determine the right answer."""
    exercise = script.exercise
    for name, key in script.keys(script.drawings[0]).items():
        several = "answers" if isinstance(exercise, Numeric) else "predict"
        alone = isinstance(exercise, Numeric) and not exercise.answers
        yield ("answer",) if alone else (several, name, "answer"), key.asked.answer
    if isinstance(exercise, Choice):
        for name, option in exercise.options.items():
            if option.when:
                yield ("options", name, "when"), option.when


def _needed(script: Script, expression: str, shown: set[str]) -> set[str]:
    """The drawn names that *expression* needs, and of which nothing is *shown*."""
    missing, ahead, seen = set[str](), [expression], set[str]()
    while ahead:
        for name in _inputs(ahead.pop(), script) - shown - seen:
            seen.add(name)
            if name in script.exercise.let:
                ahead.append(str(script.exercise.let[name]))
            elif name in script.drawn:
                missing.add(name)
    return missing


def _inputs(expression: str, script: Script) -> set[str]:
    """The names that *expression* uses; a bare formula uses its arguments."""
    try:
        found = expressions.names_in(expressions.parse_expression(expression, script.names))
    except expressions.ExpressionError:  # reported elsewhere
        return set()
    for name in list(found):
        if name in FORMULAS and f"{name}(" not in expression.replace(" ", ""):
            found |= set(FORMULAS[name].inputs) & set(script.names)
    return found
