"""The formulas of the course, by name.

Every public function of a module listed here is a formula; writing the function is all it takes
to add one. Units, choices and defaults are read from its signature, and what it says from its
docstring.
"""

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from types import ModuleType

from app.formulas import (
    batching,
    collectives,
    cost,
    faults,
    layout,
    memory,
    overlap,
    pipeline,
    precision,
    sampling,
    sharding,
    throughput,
    transformer,
)
from app.formulas.records import Record
from app.formulas.signature import (
    Argument,
    Formula,
    Input,
    Result,
    Single,
    formula_of,
    shown_default,
)

__all__ = [
    "FORMULAS",
    "MODULES",
    "Argument",
    "Formula",
    "Input",
    "Record",
    "Result",
    "Single",
    "evaluate",
    "lookup",
    "shown_default",
]

MODULES = (
    collectives,
    memory,
    batching,
    overlap,
    pipeline,
    sharding,
    faults,
    precision,
    transformer,
    throughput,
    cost,
    sampling,
    layout,
)


def lookup(name: str) -> Formula:
    """The formula called *name*, such as "collectives.ring_all_reduce_time".

    Raises:
        ValueError: there is none; the message offers the closest name.
    """
    if name in FORMULAS:
        return FORMULAS[name]
    closest = get_close_matches(name, FORMULAS, n=1)
    offer = f"; did you mean {closest[0]!r}?" if closest else ""
    raise ValueError(f"no formula is called {name!r}{offer}")


def evaluate(formula: Formula, given: Mapping[str, Argument]) -> Result:
    """The finite value of *formula* for *given*, numbers in base units or texts with units.

    Raises:
        ValueError: an argument is unknown, missing, unreadable or outside its domain.
    """
    try:
        value = formula.function(**formula.read(given))
    except OverflowError:
        value = math.inf
    values = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(v, str) or math.isfinite(v) for v in values):
        raise ValueError(f"{formula.name}: the result is too large for a number")
    return value


class _Formulas(Mapping[str, Formula]):
    """Every formula by its name; what its signature says is read when it is first asked for."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._functions = {
            f"{module.__name__.rpartition('.')[2]}.{name}": function
            for module in modules
            for name, function in vars(module).items()
            if not name.startswith("_")
            and inspect.isfunction(function)
            and function.__module__.startswith(module.__name__)
        }
        self._known: dict[str, Formula] = {}

    def __getitem__(self, name: str) -> Formula:
        if name not in self._known:
            self._known[name] = formula_of(name, self._functions[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


FORMULAS: Mapping[str, Formula] = _Formulas(MODULES)
