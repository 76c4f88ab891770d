"""From a seed to the values of a variant: the same on every machine, forever."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from app.core.expressions import ExpressionError, Quantity, evaluate, fill, holds
from app.core.measurements.exhibits import Exhibit, exhibit_called
from app.core.translation import Numeral, say
from app.core.translation.sentence import FORMS
from app.core.units import figures, scale_of, show_typed


def _unit(name: str) -> str:
    scale_of(name)  # raises an error that names the nearest unit
    return name


UnitName = Annotated[str, AfterValidator(_unit)]
_Item = TypeVar("_Item")
DrawnValue = int | float | str
DrawnChoices = Annotated[list[DrawnValue], Field(min_length=1)]
_TRIES = 1000
_LARGE = {"6": "million", "9": "billion", "12": "trillion"}


@dataclass(frozen=True, slots=True)
class Draw:
    """Drawn values: as *shown* in the text, and as the *names* of expressions; and its exhibits."""

    seed: int
    shown: Mapping[str, str]
    names: Mapping[str, Quantity]
    listings: Mapping[str, str] = field(default_factory=dict)


def draw(
    seed: int,
    given: Mapping[str, Sequence[DrawnValue]],
    cases: Sequence[Mapping[str, DrawnValue]],
    let: Mapping[str, DrawnValue],
    where: str,
    exhibits: Mapping[str, str] = MappingProxyType({}),
) -> Draw:
    """The values that *seed* draws: the first of each at 0, and those that meet *where*.

    What is read in each of *exhibits* is among the names, as `table_busbw`.

    Raises:
        ExpressionError: a value cannot be read, or no drawing meets *where*.
    """
    source = random.Random(seed)
    for attempt in range(_TRIES):
        first = seed == 0 and attempt == 0
        drawn = _drawn(source, given, cases, let, exhibits, first=first)
        if not where or holds(where, drawn[1]):
            return Draw(seed, *drawn, _listings(exhibits, *drawn))
        if first:
            raise ExpressionError(f"variant 0 does not meet {where!r}")
    raise ExpressionError(f"no drawing meets {where!r}")


def redrawn(drawn: Draw, values: Mapping[str, float], let: Mapping[str, DrawnValue]) -> Draw:
    """*drawn* with *values*, in base units, in place of some of its own.

    Raises:
        ExpressionError: a value of *let* cannot be worked out from them.
    """
    names = {
        name: Quantity(values.get(name, quantity.value), quantity.dimension)
        for name, quantity in drawn.names.items()
        if name not in let
    }
    for name, expression in let.items():
        names[name] = evaluate(str(expression), names)
    shown = {name: text for name, text in drawn.shown.items() if name not in values}
    return Draw(drawn.seed, shown, names, drawn.listings)


def _drawn(
    source: random.Random,
    given: Mapping[str, Sequence[DrawnValue]],
    cases: Sequence[Mapping[str, DrawnValue]],
    let: Mapping[str, DrawnValue],
    exhibits: Mapping[str, str],
    *,
    first: bool,
) -> tuple[dict[str, str], dict[str, Quantity]]:
    values: dict[str, DrawnValue] = {}
    if cases:
        values |= cases[0 if first else _index(source, len(cases))]
    for name, choices in given.items():
        values[name] = choices[0 if first else _index(source, len(choices))]
    names = {name: q for name, value in values.items() if (q := _quantity(name, value))}
    shown = {name: _shown_drawn_values(value) for name, value in values.items()}
    for name, file in exhibits.items():
        found = _quantities(_exhibit(fill(file, names, shown)))
        names |= {f"{name}_{key}": quantity for key, quantity in found.items()}
    for name, expression in let.items():
        names[name] = evaluate(str(expression), names)
    return shown, names


def _listings(
    exhibits: Mapping[str, str], shown: Mapping[str, str], names: Mapping[str, Quantity]
) -> Mapping[str, str]:
    """The texts of *exhibits* by name, and those without bandwidths as NAME_times."""
    found = {name: _exhibit(fill(file, names, shown)) for name, file in exhibits.items()}
    whole = {name: one.block(one.text) for name, one in found.items()}
    return whole | {f"{name}_times": one.block(one.times) for name, one in found.items()}


def _exhibit(name: str) -> Exhibit:
    try:
        return exhibit_called(name)
    except ValueError as error:
        raise ExpressionError(str(error)) from None


def _quantities(found: Exhibit) -> dict[str, Quantity]:
    return {key: Quantity(value, scale_of(unit).unit.dimension) for key, (value, unit) in found.quantities.items()}


def shuffled(seed: int, things: Sequence[_Item]) -> list[_Item]:
    """*things* in the order that belongs to *seed*."""
    source = random.Random(f"order {seed}")
    keyed = [(source.random(), thing) for thing in things]
    return [thing for _, thing in sorted(keyed, key=itemgetter(0))]


def _index(source: random.Random, count: int) -> int:
    # random() is promised to stay the same across Python versions; choice() is not.
    return int(source.random() * count)


def _quantity(name: str, value: DrawnValue) -> Quantity | None:
    """The quantity of a drawn value; None for a word such as the name of a model."""
    if isinstance(value, int | float):
        return Quantity(float(value))
    if not value[:1].isdigit():
        return None
    try:
        return evaluate(value, {})
    except ExpressionError as error:
        raise ExpressionError(f"{name}: {value!r}: {error}") from None


def _shown_drawn_values(value: DrawnValue) -> str:
    """A drawn value as the text shows it: 405e9 is 405 billion."""
    if not isinstance(value, str):
        return figures(float(value), 6)
    number, _, power = value.partition("e")
    if power in _LARGE and number.replace(".", "", 1).isdigit():
        return say(FORMS[_LARGE[power]], number=Numeral(number))
    return show_typed(value)
