"""The formulas of the course, by name.

Every public function of a module listed here is a formula; writing the function is all it takes
to add one. Units, choices and defaults are read from its signature, and what it says from its
docstring.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType, ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from app.formulas import batching, collectives, memory
from app.units import COUNT, Unit, parse, show

MODULES = (collectives, memory, batching)

Argument = float | str | bool
Result = float | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of a formula: a number in *unit*, or one of *choices* (yes and no too)."""

    name: str
    unit: Unit | None
    choices: tuple[Argument, ...] = ()
    default: Argument | None = None

    def read(self, given: Argument) -> Argument:
        """The argument that *given* stands for: a number in the base unit, or text with a unit.

        Raises:
            ValueError: it cannot be read.
        """
        if self.unit is None:
            return self._chosen(given)
        if isinstance(given, bool) or not isinstance(given, str):
            return given
        try:
            value = parse(given, self.unit)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        return int(value) if self.unit is COUNT and value == int(value) else value

    def _chosen(self, given: Argument) -> Argument:
        for choice in self.choices:
            if str(given).lower() == str(choice).lower():
                return choice
        allowed = ", ".join(str(choice).lower() for choice in self.choices)
        raise ValueError(f"{self.name} must be one of {allowed}, not {given!r}")


@dataclass(frozen=True, slots=True)
class Formula:
    """A function, with what its signature says of it.

    *result* is the unit of its value; a formula with several values names each in *parts*.
    """

    name: str
    function: Callable[..., Result]
    inputs: Mapping[str, Input]
    result: Unit
    parts: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The chapter it belongs to, such as "collectives"."""
        return self.name.partition(".")[0]

    @property
    def doc(self) -> str:
        """The derivation, as the reader sees it."""
        return inspect.getdoc(self.function) or ""

    def read(self, given: Mapping[str, Argument]) -> dict[str, Argument]:
        """The arguments for *given*, each a number in its base unit or text with a unit.

        Raises:
            ValueError: an argument is unknown, missing or cannot be read.
        """
        for name in given:
            if name not in self.inputs:
                takes = ", ".join(self.inputs) or "no argument"
                raise ValueError(
                    f"{self.name} takes {takes}, not {name!r}{_offer(name, self.inputs)}"
                )
        missing = [
            i.name for i in self.inputs.values() if i.default is None and i.name not in given
        ]
        if missing:
            raise ValueError(f"{self.name} also needs {', '.join(missing)}")
        return {name: self.inputs[name].read(value) for name, value in given.items()}

    def text(self, value: Result) -> str:
        """*value* as a person writes it."""
        if isinstance(value, tuple):
            named = zip(self.parts, value, strict=True)
            return ", ".join(f"{part} {show(number, self.result)}" for part, number in named)
        return show(value, self.result)


def lookup(name: str) -> Formula:
    """The formula called *name*, such as "collectives.ring_all_reduce_time".

    Raises:
        ValueError: there is none; the message offers the closest name.
    """
    if name in FORMULAS:
        return FORMULAS[name]
    raise ValueError(f"no formula is called {name!r}{_offer(name, FORMULAS)}")


def evaluate(formula: Formula, given: Mapping[str, Argument]) -> Result:
    """The finite value of *formula* for *given*, numbers in base units or texts with units.

    Raises:
        ValueError: an argument is unknown, missing, unreadable or outside its domain.
    """
    try:
        value = formula.function(**formula.read(given))
    except OverflowError:
        value = math.inf
    if not all(map(math.isfinite, value if isinstance(value, tuple) else (value,))):
        raise ValueError(f"{formula.name}: the result is too large for a number")
    return value


def _offer(name: str, known: Mapping[str, object]) -> str:
    closest = get_close_matches(name, known, n=1)
    return f"; did you mean {closest[0]!r}?" if closest else ""


def _unit(hint: Any) -> Unit | None:
    return next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)


def _input(parameter: inspect.Parameter, hint: Any) -> Input:
    choices: tuple[Argument, ...] = ()
    if get_origin(hint) is Literal:
        choices = get_args(hint)
    elif hint is bool:
        choices = (True, False)
    default = None if parameter.default is parameter.empty else parameter.default
    unit = _unit(hint)
    if unit is None and not choices:
        raise TypeError(f"argument {parameter.name} must name its unit or its choices")
    return Input(parameter.name, unit, choices, default)


def _result(hint: Any) -> tuple[Unit, tuple[str, ...]]:
    """The unit of a result; a NamedTuple has one unit in all its fields."""
    if unit := _unit(hint):
        return unit, ()
    fields = get_type_hints(hint, include_extras=True)
    units = {_unit(field) for field in fields.values()}
    if len(units) != 1 or None in units:
        raise TypeError(f"the result {hint} must name one unit")
    return units.pop() or COUNT, tuple(fields)


def _formulas(module: ModuleType) -> dict[str, Formula]:
    found = {}
    for name, function in vars(module).items():
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if not function.__module__.startswith(module.__name__):
            continue
        hints = get_type_hints(function, include_extras=True)
        result, parts = _result(hints.pop("return"))
        parameters = inspect.signature(function).parameters
        inputs = {name: _input(parameters[name], hint) for name, hint in hints.items()}
        full_name = f"{module.__name__.rpartition('.')[2]}.{name}"
        found[full_name] = Formula(full_name, function, inputs, result, parts)
    return found


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {name: formula for module in MODULES for name, formula in _formulas(module).items()}
)
