"""The formulas of the course, by name.

Every public function in a module listed here, or in a package, is a formula; writing the function is
all it takes to add one. One that returns nothing is a check that its neighbors share. Units,
choices and defaults are read from its signature, and what it says from its docstring. An argument
outside its domain raises a ValueError in every one; a docstring says which, where that needs words.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType, UnionType
from typing import Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from app.core.formulas.presets.gpus import Gpu
from app.core.formulas.records import Record as Record
from app.core.formulas.records import Single as Single
from app.core.formulas.records import choice_named, number_named, value_form
from app.core.translation import noted, offer, say, value_error
from app.core.units import COUNT, RATIO, Unit, show

_OF_A_GPU = ("peak", "memory_bandwidth", "memory")  # which the name of a GPU stands for
_GIVEN = {"yes or no": noted("yes or no"), "words": noted("words")}  # by the form of a result
Argument = Single | Record | Sequence[Single] | None
A = TypeVar("A", bound=Argument)
FormulaResult = float | tuple[float, ...] | tuple[str, ...]
ResultForm = Literal["number", "parts", "list", "yes or no", "words"]


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of a formula.

    A number in *unit*, one of *choices* (yes and no too) or a *record*; *many* of them in a list.
    One that is not *required* has the *default*.
    """

    name: str
    unit: Unit | None = None
    choices: tuple[Single, ...] = ()
    record: type[Record] | None = None
    many: bool = False
    required: bool = True
    default: Argument = None

    def read(self, given: Argument) -> Argument:
        """The argument that *given* stands for: a number in the base unit, or text with a unit.

        Raises:
            ValueError: it cannot be read.
        """
        if self.record is not None:
            if not isinstance(given, str) or self.record is None:
                return given
            try:
                return self.record.read(given)
            except ValueError as error:
                raise value_error("{name}: {problem}", name=self.name, problem=error) from None
        return self._list(given) if self.many else self._single(given)

    def _single(self, given: A) -> A | Single:
        if self.unit is None:
            return choice_named(self.name, str(given), self.choices)
        if not isinstance(given, str):
            return given
        if self.name in _OF_A_GPU and Gpu.has(given):
            rate: float = getattr(Gpu.named(given), self.name)
            return rate
        return number_named(self.name, given, self.unit)

    def _list(self, given: Argument) -> Argument:
        items: Sequence[Single] | None = None
        if isinstance(given, str):
            items = given.replace(",", " ").replace("[", " ").replace("]", " ").split()
        elif isinstance(given, Sequence):
            items = given
        return given if items is None else tuple(self._single(item) for item in items)


@dataclass(frozen=True, slots=True)
class Formula:
    """A function, with what its signature says of it.

    *result* is the unit of its value, or of each value; a formula with a fixed number of values names them in *parts*.
    """

    name: str
    function: Callable[..., FormulaResult]
    inputs: Mapping[str, Input]
    result: Unit
    form: ResultForm = "number"
    parts: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The chapter it belongs to, such as "collectives"."""
        return self.name.partition(".")[0]

    @property
    def doc(self) -> str:
        """The derivation, as the reader sees it; what every formula refuses need not be written there."""
        found = inspect.getdoc(self.function) or ""
        if not self.inputs or "\nRaises:" in found:
            return found
        before, source, after = found.partition("\nSource:")
        return f"{before}\nRaises:\n    ValueError: an argument is outside its domain.\n{source}{after}"

    @property
    def says(self) -> str:
        """The first sentence: what comes back."""
        return self.doc.partition("\n\n")[0].replace("\n", " ")

    @property
    def gives(self) -> str:
        """What comes back, in a word or two: its unit, and how many of it."""
        if said := _GIVEN.get(self.form):
            return said
        plain = noted("whole numbers") if self.result.whole else noted("plain numbers")
        unit = self.result.symbol or plain
        if self.form == "list":
            form = noted("a list, in {unit}") if self.result.symbol else noted("a list of {unit}")
            return say(form, unit=unit)
        if self.form == "parts":
            names = ", ".join(self.parts).replace("_", " ")
            return say("{names}, each in {unit}", names=names, unit=unit)
        return str(self.result)

    def missing(self, given: Mapping[str, object]) -> list[str]:
        """The arguments that are needed and not in *given*."""
        return [i.name for i in self.inputs.values() if i.required and i.name not in given]

    def read(self, given: Mapping[str, Argument]) -> dict[str, Argument]:
        """The arguments for *given*, each a number in its base unit or text with a unit.

        Raises:
            ValueError: an argument is unknown, missing or cannot be read.
        """
        for name in given:
            if name not in self.inputs:
                takes = ", ".join(self.inputs) or noted("no argument")
                form = noted("{formula} takes {names}, not {name!r}{offer}")
                raise value_error(form, formula=self.name, names=takes, name=name, offer=offer(name, self.inputs))
        if missing := self.missing(given):
            raise value_error("{formula} also needs {names}", formula=self.name, names=", ".join(missing))
        return {name: self.inputs[name].read(value) for name, value in given.items()}

    def plain(self, value: FormulaResult) -> object:
        """*value* as JSON has it: a number, named numbers, a list, true or false, words."""
        if self.form == "parts" and isinstance(value, tuple):
            return dict(zip(self.parts, value, strict=True))
        return list(value) if isinstance(value, tuple) else value

    def shown_parts(self, value: FormulaResult) -> tuple[tuple[str, str], ...]:
        """Each part of *value* with its name, as a person writes it; none where there is one."""
        if self.form != "parts" or not isinstance(value, tuple):
            return ()
        numbers = [part for part in value if not isinstance(part, str)]
        shown = [show(number, self.result) for number in numbers]
        return tuple(zip(self.parts, shown, strict=True))

    def text(self, value: FormulaResult) -> str:
        """*value* as a person writes it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if not isinstance(value, tuple):
            return show(value, self.result)
        if named := self.shown_parts(value):
            return ", ".join(f"{part} {text}" for part, text in named)
        return ", ".join(v if isinstance(v, str) else show(v, self.result) for v in value)


def formula_of(name: str, function: Callable[..., FormulaResult]) -> Formula:
    """*function* as a formula called *name*.

    Raises:
        TypeError: its signature leaves a unit open.
    """
    returned = get_type_hints(function, include_extras=True)["return"]
    result, form, parts = _result_form(returned)
    return Formula(name, function, inputs_of(function), result, form, parts)


def inputs_of(function: Callable[..., object]) -> dict[str, Input]:
    """The arguments of *function*, by name.

    Raises:
        TypeError: its signature leaves a unit open.
    """
    hints = get_type_hints(function, include_extras=True)
    del hints["return"]
    parameters = inspect.signature(function).parameters
    return {name: _input(parameters[name], hint) for name, hint in hints.items()}


def shown_default(taken: Input) -> str:
    """The default of *taken* as a person writes it; nothing where there is none."""
    if taken.required or taken.default is None:
        return ""
    if isinstance(taken.default, Record):
        return taken.default.text
    if taken.unit is not None and isinstance(taken.default, int | float):
        return show(taken.default, taken.unit)
    return str(taken.default).lower()


def _input(parameter: inspect.Parameter, hint: object) -> Input:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    if get_origin(hint) in (Union, UnionType):
        hint = next(option for option in get_args(hint) if option is not type(None))
    many = get_origin(hint) is Sequence
    if many:
        (hint,) = get_args(hint)
    form = value_form(hint)
    if form == (None, (), None):
        raise TypeError(f"argument {parameter.name} must name its unit or its choices")
    return Input(parameter.name, *form, many, required, default)


def _result_form(hint: object) -> tuple[Unit, ResultForm, tuple[str, ...]]:
    """The unit of a result; a NamedTuple has one unit in all its fields."""
    if unit := value_form(hint).unit:
        return unit, "number", ()
    if hint is bool:
        return RATIO, "yes or no", ()
    if get_origin(hint) is tuple:
        item, *_ = get_args(hint)
        return (RATIO, "words", ()) if item is str else (value_form(item).unit or COUNT, "list", ())
    fields = get_type_hints(hint, include_extras=True)
    units = {value_form(field).unit for field in fields.values()}
    if len(units) != 1 or None in units:
        raise TypeError(f"the result {hint} must name one unit")
    return units.pop() or COUNT, "parts", tuple(fields)


MOST_PARTS = 1_000  # of a result, and items of a list, that a visitor of a site may ask for
_CHAPTERS = (
    "collectives", "networks", "synchronization", "memory", "batching", "optimizers", "overlap", "pipeline", "sharding",
    "faults", "precision", "transformer", "throughput", "cost", "sampling", "scaling", "serving", "layout",
)  # fmt: skip
MODULES = tuple(import_module(f"{__name__}.{name}") for name in _CHAPTERS)


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
        ValueError: an argument is unknown, missing, unreadable or outside its domain, or a list is too long.
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
        form = noted("{formula}: the result has {count} parts; at most {most} are shown")
        raise value_error(form, formula=formula.name, count=f"{len(values):,}", most=f"{most:,}")
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
