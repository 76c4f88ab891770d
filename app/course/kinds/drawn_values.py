"""From a seed, or from what a learner set for a chapter, to the values of a variant."""

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from operator import itemgetter
from types import MappingProxyType
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.core.errors import InputError, input_error, nearest
from app.core.expressions import ExpressionError, Quantity, evaluate, fill, holds, read_answer
from app.core.measurements.exhibits import Exhibit, exhibit_called
from app.core.translation import Numeral, localize, say, translate
from app.core.translation.sentence import FORMS
from app.core.units import figures, in_english, scale_of, show_in, show_typed


def _unit(name: str) -> str:
    scale_of(name)  # raises an error that names the nearest unit
    return name


UnitName = Annotated[str, AfterValidator(_unit)]
_Item = TypeVar("_Item")
DrawnValue = int | float | str
DrawnChoices = Annotated[list[DrawnValue], Field(min_length=1)]
_TRIES = 1000
_LARGE = {"6": "million", "9": "billion", "12": "trillion"}


@dataclass(frozen=True)
class Draw:
    """Drawn values: as *shown* in the text, and as the *names* of expressions; and its exhibits."""

    seed: int
    shown: Mapping[str, str]
    names: Mapping[str, Quantity]
    listings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def as_json(self) -> str:
        """The values as they are stored with an attempt."""
        return json.dumps(dict(self.shown), ensure_ascii=False)


NOTHING_DRAWN = Draw(0, {}, {})  # the values of what is fixed


class DrawError(ExpressionError):
    """Values cannot be drawn, because of what is *where*."""

    def __init__(self, where: tuple[str | int, ...], says: str) -> None:
        super().__init__(says)
        self.where = where


@contextmanager
def _placed(*where: str | int) -> Iterator[None]:
    """Say of an expression that it is *where*."""
    try:
        yield
    except DrawError:
        raise
    except ExpressionError as error:
        raise DrawError(where, str(error)) from None


def mixed_kinds(given: Mapping[str, Sequence[DrawnValue]]) -> Iterator[tuple[str, str]]:
    """The values in *given* that are of several kinds, such as 1 GB and 4 s, and a sentence on two of them.

    Raises:
        ExpressionError: a value cannot be read.
    """
    for name, choices in given.items():
        kinds: dict[object, DrawnValue] = {}
        for value in choices:
            found = _quantity(name, value)
            is_share = isinstance(value, str) and value.rstrip().endswith("%")
            if found is None or found.value or is_share:  # 0 is of any kind
                kinds.setdefault((found.dimension, is_share) if found else None, value)
        if len(kinds) > 1:
            first, other, *_ = kinds.values()
            yield name, f"has values of different kinds: {first} and {other}"


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
        with _placed("where"):
            is_met = not where or holds(where, drawn[1])
        if is_met:
            shown, names = drawn
            found = {name: _exhibit(fill(file, names, shown)) for name, file in exhibits.items()}
            listings = {name: one.block(one.text) for name, one in found.items()}
            listings |= {f"{name}_times": one.block(one.times) for name, one in found.items()}  # without bandwidths
            return Draw(seed, shown, names, listings)
        if first:
            raise DrawError(("where",), f"variant 0 does not meet {where!r}")
    raise DrawError(("where",), f"no drawing meets {where!r}")


def redraw(drawn: Draw, values: Mapping[str, float], let: Mapping[str, DrawnValue]) -> Draw:
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
    names: dict[str, Quantity] = {}
    for name, value in values.items():
        with _placed(*(("given", name) if name in given else ("cases",))):
            if quantity := _quantity(name, value):
                names[name] = quantity
    shown = {name: _shown_drawn_values(value) for name, value in values.items()}
    for name, file in exhibits.items():
        found = _exhibit(fill(file, names, shown)).quantities
        names |= {f"{name}_{key}": Quantity(v, scale_of(unit).unit.dimension) for key, (v, unit) in found.items()}
    for name, expression in let.items():
        with _placed("let", name):
            names[name] = evaluate(str(expression), names)
    return shown, names


def _exhibit(name: str) -> Exhibit:
    try:
        return exhibit_called(name)
    except ValueError as error:
        raise ExpressionError(str(error)) from None


def shuffle_things(seed: int, things: Sequence[_Item]) -> list[_Item]:
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


CHOSEN = 2**30  # choices that there may be, and the seed of the first
_LONGEST = 40  # characters of a value that a message quotes
_EXACT = 1e-9
_FIRST = 10  # of the 90 numbers from 10 to 99 that have two figures
_A_DECADE = 90
Chosen = Mapping[str, str]


class ChapterParameter(BaseModel):
    """A number between two bounds, or one of several rows of values."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    says: str = Field(min_length=2, max_length=60, description="what it is: 2 to 60 characters")
    unit: str = Field(default="", description="of a number, such as $")
    least: int = Field(default=0, ge=0, description="the smallest number")
    most: int = Field(default=0, ge=0, description="the largest number")
    by: int = Field(default=0, ge=0, description="the step from one number to the next; 0: two figures count")
    default: int = Field(default=0, ge=0, description="the number without a choice")
    among: dict[str, dict[str, DrawnValue]] = Field(
        default_factory=dict, description="rows by name: the values that each stands for"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.among:
            names = [tuple(row) for row in self.among.values()]
            if len(set(names)) > 1 or not names[0]:
                raise ValueError("every row of `among` must give the same values")
            if self.most or self.least or self.by or self.default or self.unit:
                raise ValueError("give either `among`, or `least`, `most` and `default`")
            return self
        scale_of(self.unit)
        if not 0 < self.least < self.most:
            raise ValueError("`least` must be more than 0 and less than `most`")
        for name in ("least", "most", "default"):
            number = getattr(self, name)
            if not self.least <= number <= self.most or self._nearest(number) != number:
                raise ValueError(f"`{name}` is not one of the numbers: {number}")
        return self

    @property
    def count(self) -> int:
        """How many choices there are."""
        return len(self.among) or self._place(self.most) + 1

    @property
    def start(self) -> int:
        """The place of the default among the choices."""
        return 0 if self.among else self._place(self.default)

    def text(self, place: int) -> str:
        """The choice at *place*, as a form shows it."""
        return list(self.among)[place] if self.among else str(self._number(place))

    def names(self, name: str) -> Sequence[str]:
        """The names of the values that it stands for, where it is called *name*."""
        return list(next(iter(self.among.values()))) if self.among else [name]

    def values(self, name: str, place: int) -> Mapping[str, DrawnValue]:
        """The values of the choice at *place*."""
        if self.among:
            return list(self.among.values())[place]
        number = self._number(place)
        return {name: f"{number} {self.unit}" if self.unit else number}

    def place(self, name: str, text: str) -> int:
        """The place of the choice that a learner's *text* names.

        Raises:
            InputError: the choice does not exist; the message says what is possible.
        """
        shown = text.strip()[:_LONGEST]
        if self.among:
            if text.strip() not in self.among:
                known = ", ".join(self.among)
                raise input_error(
                    "{name}: must be one of {known}, not {given!r}{nearest}",
                    name=name,
                    known=known,
                    given=shown,
                    nearest=nearest(shown, self.among),
                )
            return list(self.among).index(text.strip())
        number = self._read(name, text)
        found = self._nearest(number) if self.least <= number <= self.most else -1
        if abs(found - number) > _EXACT * number:
            raise input_error(
                "{name}: must be {bounds}, not {given!r}{nearest}",
                name=name,
                bounds=self.bounds,
                given=shown,
                nearest=translate("; the nearest is {number}", number=self._shown(found)) if found >= 0 else "",
            )
        return self._place(found)

    @property
    def bounds(self) -> str:
        """What its numbers may be, in words."""
        low, high = self._shown(self.least), self._shown(self.most)
        if not self.by:
            return translate("a number of two figures from {low} to {high}", low=low, high=high)
        if self.by == 1:
            return translate("a whole number from {low} to {high}", low=low, high=high)
        by = f"{self.by:,}"
        return translate("a multiple of {by} from {low} to {high}", by=by, low=low, high=high)

    def _shown(self, number: int) -> str:
        return show_in(number * (scale := scale_of(self.unit)).factor, scale, 9)

    def _read(self, name: str, text: str) -> float:
        scale = scale_of(self.unit)
        try:
            typed = in_english(text[: 2 * _LONGEST], whole=True)
            return read_answer(typed, scale).value / scale.factor
        except ValueError as error:
            raise InputError(f"{name}: {localize(str(error))}") from None

    def _number(self, place: int) -> int:
        if self.by:
            return self.least + place * self.by
        decade, figure = divmod(place + self._order(self.least), _A_DECADE)
        return (figure + _FIRST) * int(10**decade) // 10

    def _place(self, number: int) -> int:
        if self.by:
            return (number - self.least) // self.by
        return self._order(number) - self._order(self.least)

    def _order(self, number: int) -> int:
        """The place of *number* among all those of two figures, from 1 on."""
        decade = len(str(number)) - 1
        return decade * _A_DECADE + number * 10 // int(10**decade) - _FIRST

    def _nearest(self, number: float) -> int:
        """The number of the grid that is nearest to *number*, which is between the bounds."""
        if self.by:
            return min(self.least + round((number - self.least) / self.by) * self.by, self.most)
        step = max(10.0 ** (math.floor(math.log10(number)) - 1), 1.0)
        return round(round(number / step) * step)


def _few(parameters: dict[str, ChapterParameter]) -> dict[str, ChapterParameter]:
    """*parameters*, if every choice of theirs has a seed, and no two give the same value."""
    names = [one for name, parameter in parameters.items() for one in parameter.names(name)]
    if len(set(names)) < len(names):
        raise ValueError("two of the parameters give a value of the same name")
    if (choices := math.prod(one.count for one in parameters.values())) > CHOSEN:
        raise ValueError(f"{choices:,} choices are more than {CHOSEN:,}; widen the steps")
    return parameters


ChapterParameters = Annotated[dict[str, ChapterParameter], AfterValidator(_few)]


def refuse_others(named: Sequence[str], parameters: Mapping[str, ChapterParameter], where: str) -> None:
    """Refuse names of values that *parameters* do not give, and a condition on them.

    Raises:
        ValueError: there is such a name, or a condition.
    """
    known = [one for name, parameter in parameters.items() for one in parameter.names(name)]
    for name in named:
        if name not in known:
            raise ValueError(f"topic.yaml has no parameter {name!r}{nearest(name, known)}")
    if named and where:
        raise ValueError("`where` may refuse what a learner sets; ask what holds for every choice")


def places(parameters: Mapping[str, ChapterParameter], seed: int) -> Sequence[int]:
    """The place of the choice of each of *parameters* that belongs to *seed*."""
    if seed == 0:
        return [one.start for one in parameters.values()]
    if seed < CHOSEN:
        source = random.Random(f"chapter {seed}")
        return [int(source.random() * one.count) for one in parameters.values()]
    rest, found = seed - CHOSEN, []
    for one in parameters.values():
        rest, place = divmod(rest, one.count)
        found.append(place)
    return found


def values(parameters: Mapping[str, ChapterParameter], seed: int) -> dict[str, DrawnValue]:
    """The values of *parameters* that belong to *seed*, by name."""
    found: dict[str, DrawnValue] = {}
    for (name, one), place in zip(parameters.items(), places(parameters, seed), strict=True):
        found |= one.values(name, place)
    return found


def seed_choice(parameters: Mapping[str, ChapterParameter], seed: int) -> Chosen:
    """The choice that belongs to *seed*, as a form shows it."""
    at = places(parameters, seed)
    return {name: one.text(place) for (name, one), place in zip(parameters.items(), at, strict=True)}


def seed_of_choice(parameters: Mapping[str, ChapterParameter], given: Mapping[str, str]) -> int:
    """The seed of the choice that is *given*; a parameter that it leaves out has its default.

    Raises:
        InputError: with everything that is not a choice, one sentence a line.
    """
    faults = [
        f"no parameter is called {name[:_LONGEST]!r}{nearest(name[:_LONGEST], parameters)}"
        for name in given
        if name not in parameters
    ]
    seed, factor = CHOSEN, 1
    for name, one in parameters.items():
        try:
            place = one.place(one.says, given[name]) if name in given else one.start
        except InputError as error:
            faults.append(str(error))
            continue
        seed, factor = seed + factor * place, factor * one.count
    if faults:
        raise InputError("\n".join(faults))
    return seed


def corners(parameters: Mapping[str, ChapterParameter]) -> Iterator[int]:
    """Seeds of a grid of choices: the first, the middle and the last of each parameter."""
    if not parameters:
        return
    grid = [sorted({0, one.count // 2, one.count - 1}) for one in parameters.values()]
    for at in product(*grid):
        seed, factor = CHOSEN, 1
        for place, one in zip(at, parameters.values(), strict=True):
            seed, factor = seed + factor * place, factor * one.count
        yield seed
