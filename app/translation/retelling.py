"""Sentences of rooms that know no language, told in the current one.

Units, formulas and simulators stay free of packages and of catalogs, and say what is wrong in
English. Where their sentences reach a person, they are told again: the English sentence is
recognized by its form, and said in the language of the request.
"""

import re
from collections.abc import Callable
from functools import cache

from app.quoting import LITERAL
from app.translation import SOURCE, language, noted, translate

_LONGEST = 1_000  # characters of a sentence that is told again; others stay English
_DEEPEST = 20  # problems in problems, and problems in a row
_FIELD = re.compile(r"\{(\w+)\}")
_FIRST_SIGN = 0xF0000  # private characters, which stand for quotations
_SIGN = "[\U000f0000-\U000fffff]"

# Forms that say more come first: the first one that fits is taken.
FORMS = (
    # units
    noted("cannot read {text}: write a number, such as {example}"),
    noted("cannot read {text}: the number is too large"),
    noted("cannot read an answer of {count} characters: enter one number"),
    noted("cannot read {text}: the exponent is too large"),
    noted("cannot read {text}: it divides by zero"),
    noted("cannot read {text}: a plain number given, {unit} expected"),
    noted("cannot read {text}: it is not clear where the number ends"),
    noted("cannot read {text}: {symbol} is not a unit here, {unit} expected; {offer}"),
    noted("cannot read {text}: {symbol} is not a unit here, {unit} expected"),
    noted("cannot read {text}: {given} given, {unit} expected"),
    noted("{symbol} is not a unit here; {offer}"),
    noted("{symbol} is not a unit here"),
    noted("; {offer}"),
    noted("did you mean {name}?"),
    noted("a whole number"),
    noted("a plain number"),
    # formulas
    noted("{name} must be a number of at least {least}, not {value}"),
    noted("{name} must be a number above 0, not {value}"),
    noted("{name} must be a whole number, not {value}"),
    noted("{name} must be one of {allowed}, not {value}"),
    noted("{name} must be from {least} to {most}, not {value}"),
    noted("{name} must be at least {least}, not {value}"),
    noted("{name} must be at most {most}, not {value}"),
    noted("{name} must be even, not {value}"),
    noted("{name} must divide the {what}, {whole}, not {value}"),
    noted("{name} must be a list of at least {least}, not {value}"),
    noted("{name} must be a list, not {value}"),
    noted("{name} must be a {what} such as {example}, not {value}"),
    noted("{formula}: the result is too large for a number"),
    noted("no formula is called {name}; {offer}"),
    noted("no formula is called {name}"),
    noted("{formula} also needs {names}"),
    noted("{formula} takes {names}, not {name}; {offer}"),
    noted("{formula} takes {names}, not {name}"),
    # plans of collectives and schedules, as they are played
    noted("the product is there already"),
    noted("{array} is not there yet: multiply first"),
    noted("the ranks hold different partial sums of the same cells"),
    noted("the ranks hold different blocks, so nothing can be added up"),
    noted("it takes longer than {units} units of time"),
    noted("rank {rank} waits at {step} for {lacks}"),
    noted("the other ranks"),
    noted("rank {rank} expects {name} from rank {other}, which sends {sent}"),
    noted("rank {rank} adds the contribution of {numbers} to {name} twice"),
    noted("{step} adds the contribution of {numbers} twice"),
    noted("program({rank}) must return a list of instructions, not {value}"),
    noted("program({rank}) returns {count} instructions; at most {most} are played"),
    noted("rank {rank}, instruction {place}: {problem}"),
    noted("{step} is not an instruction such as ('F', 0, 0)"),
    noted("there is no {op} here, only {known}"),
    noted("{step} should be {form}"),
    noted("there is no other rank {rank}"),
    noted("layers and micro-batches are whole numbers"),
    noted("{value} is not a name such as ('x', 0, 0)"),
)

# Typical mistakes with units and factors: their English wording is the key that is stored.
MISTAKES = (
    noted("Right in {unit}, but a number without a unit is in {shown} here."),
    noted(
        "The figure is right in {twin}: it was computed in {twin} and labeled {unit}. They differ "
        "by a factor of {factor}."
    ),
    noted(
        "Your number is off by a factor of {factor}: {unit} and {twin} were mixed up. The prefix "
        "of GB is a power of 1000, that of GiB a power of 1024."
    ),
    noted(
        "Your number is {times} times the right one: were bits counted as bytes? A byte is 8 bits."
    ),
    noted("Your number is {share} of the right one: were bytes divided by 8 as if they were bits?"),
    noted("Your number is twice the right one: does the question ask for one direction, or both?"),
    noted("Your number is half the right one: does the question ask for one direction, or both?"),
    noted("Your number is twice the right one: is something counted twice?"),
    noted("Your number is half the right one: is a factor of 2 missing?"),
    noted("The magnitude is right, but the sign is wrong."),
    noted("Your number is {times} times the right one: check the unit prefixes."),
    noted("Your number is {share} of the right one: check the unit prefixes."),
    noted("Your number is {times} times the right one: check the decimal point."),
    noted("Your number is {times} times the right one: was a percentage used as a fraction?"),
    noted("Your number is {times} times the right one."),
    noted("Your number is {share} of the right one."),
    noted("You entered a fraction, but the answer is a percentage."),
)


def retold(said: str) -> str:
    """*said* in the current language, if it has one of the forms; else as it is.

    The values in it are told again as well: a problem may quote another. What stands in quotation
    marks is not: a stranger wrote it.
    """
    return _with_quotations_aside(said, lambda bare: _retold(bare, _DEEPEST))


def retold_mistake(said: str) -> str:
    """*said* in the current language, if it is about a typical mistake; else as it is."""
    return told_as(MISTAKES, said) or said


Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def told_as(forms: tuple[str, ...], said: str) -> str:
    """*said* in the current language, if it has one of the *forms*; else nothing."""
    return _with_quotations_aside(said, lambda bare: _told(bare, _patterns(forms), _DEEPEST) or "")


def _with_quotations_aside(said: str, tell: Callable[[str], str]) -> str:
    """What *tell* makes of *said*, where a character stands for each quotation meanwhile."""
    if language() == SOURCE or len(said) > _LONGEST:
        return said
    quotations = LITERAL.findall(said)
    signs = map(chr, range(_FIRST_SIGN, _FIRST_SIGN + len(quotations)))
    told = tell(LITERAL.sub(lambda _: next(signs), said))
    return told.translate({_FIRST_SIGN + at: text for at, text in enumerate(quotations)})


def _retold(said: str, deep: int) -> str:
    if not deep:
        return said
    if (told := _told(said, _patterns(FORMS), deep)) is not None:
        return told
    for between in ("; ", ": "):
        head, sign, rest = said.partition(between)
        if sign:
            return f"{_retold(head, deep - 1)}{between}{_retold(rest, deep - 1)}"
    return said


def _told(said: str, patterns: Patterns, deep: int) -> str | None:
    for form, pattern in patterns:
        if found := pattern.fullmatch(said):
            values = {name: _retold(text, deep - 1) for name, text in found.groupdict().items()}
            return translate(form, **values)
    return None


@cache
def _patterns(forms: tuple[str, ...]) -> Patterns:
    return tuple((form, re.compile(_pattern(form), re.DOTALL)) for form in forms)


def _pattern(form: str) -> str:
    """What matches the sentences that *form* makes; a name that comes again is the same text."""
    pattern, end = "", 0
    seen: set[str] = set()
    for field in _FIELD.finditer(form):
        pattern += _fixed(form[end : field.start()])
        name, end = field[1], field.end()
        pattern += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
        seen.add(name)
    return pattern + _fixed(form[end:])


def _fixed(words: str) -> str:
    """What matches *words*, with a sign for each quotation in them."""
    return LITERAL.sub(lambda _: _SIGN, re.escape(words))
