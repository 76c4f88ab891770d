"""The formulas of the course, by name.

Every public function in a module listed here, or in a package, is a formula; writing the function is
all it takes to add one. One that returns nothing is a check that its neighbors share. Units,
choices and defaults are read from its signature, and what it says from its docstring.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType

from app.core.formulas import (
    batching,
    collectives,
    cost,
    faults,
    layout,
    memory,
    networks,
    optimizers,
    overlap,
    pipeline,
    precision,
    sampling,
    scaling,
    serving,
    sharding,
    synchronization,
    throughput,
    transformer,
)
from app.core.formulas.records import Record, Single
from app.core.formulas.signature import Argument, Formula, FormulaResult, Input, formula_of, shown_default
from app.core.translation import offer, value_error

__all__ = [
    "FORMULAS", "MODULES", "MOST_PARTS", "Argument", "Formula", "Formulas", "Input", "Record", "FormulaResult",
    "Single", "formula_value", "lookup", "shown_default",
]  # fmt: skip

MOST_PARTS = 1_000  # of a result, and items of a list, that a visitor of a site may ask for
MODULES = (
    collectives,
    networks,
    synchronization,
    memory,
    batching,
    optimizers,
    overlap,
    pipeline,
    sharding,
    faults,
    precision,
    transformer,
    throughput,
    cost,
    sampling,
    scaling,
    serving,
    layout,
)


def lookup(name: str) -> Formula:
    """The formula called *name*, such as "collectives.ring_all_reduce_time".

    Raises:
        ValueError: there is none; the message offers the closest name.
    """
    if name in FORMULAS:
        return FORMULAS[name]
    near = offer(name, FORMULAS)
    raise value_error("no formula is called {name!r}{offer}", name=name, offer=near)


def formula_value(formula: Formula, given: Mapping[str, Argument], most: int | None = None) -> FormulaResult:
    """The finite value of *formula* for *given*, numbers in base units or texts with units.

    At most *most* items are read of a list, and parts of a result returned.

    Raises:
        ValueError: an argument is unknown, missing, unreadable or outside its domain, or a list is
            too long.
    """
    if most is not None:
        for name, argument in given.items():
            _check_length(name, argument, most)
    try:
        value = formula.function(**formula.read(given))
    except OverflowError:
        value = math.inf
    values = value if isinstance(value, tuple) else (value,)
    if most is not None and len(values) > most:
        raise value_error(
            "{formula}: the result has {count} parts; at most {most} are shown",
            formula=formula.name,
            count=f"{len(values):,}",
            most=f"{most:,}",
        )
    if not all(isinstance(v, str) or math.isfinite(v) for v in values):
        raise value_error("{formula}: the result is too large for a number", formula=formula.name)
    return value


def _check_length(name: str, value: Argument, most: int) -> None:
    items = value.replace(",", " ").split() if isinstance(value, str) else value
    if isinstance(items, Sequence) and len(items) > most:
        raise value_error(
            "{name} has {count} items; at most {most} are read", name=name, count=f"{len(items):,}", most=f"{most:,}"
        )


def _functions(topic: ModuleType) -> Iterator[FunctionType]:
    """The public functions that are written in *topic*, a module or a package of them, and return something."""
    inside = [import_module(f"{topic.__name__}.{one.name}") for one in iter_modules(getattr(topic, "__path__", []))]
    for module in inside or [topic]:
        for name, function in sorted(vars(module).items()):
            if (
                isinstance(function, FunctionType)
                and function.__module__ == module.__name__
                and function.__annotations__.get("return") is not None
                and not name.startswith("_")
            ):
                yield function


class Formulas(Mapping[str, Formula]):
    """Every formula by its name; what its signature says is read when it is first asked for."""

    def __init__(self, topics: Iterable[ModuleType]) -> None:
        self._functions = {
            f"{topic.__name__.rpartition('.')[2]}.{function.__name__}": function
            for topic in topics
            for function in _functions(topic)
        }
        self._known: dict[str, Formula] = {}

    def add(self, functions: Mapping[str, FunctionType]) -> None:
        """Add the formulas of a course pack, by name; those that are known are replaced."""
        self._functions |= functions
        for name in functions:
            self._known.pop(name, None)

    def __getitem__(self, name: str) -> Formula:
        if name not in self._known:
            self._known[name] = formula_of(name, self._functions[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


FORMULAS = Formulas(MODULES)
