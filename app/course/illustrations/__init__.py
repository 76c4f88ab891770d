"""Figures that exercises show with their own numbers: what is given and its shape, no results."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import cast

from app.core.errors import nearest
from app.core.expressions import ExpressionError, evaluate, fill
from app.core.formulas import Argument, Input, Single
from app.core.formulas.checks import whole
from app.core.translation import say
from app.core.units import COUNT
from app.course.illustrations.base import Illustration, Sketch
from app.course.kinds.base import ExerciseFigure
from app.course.kinds.drawn_values import Draw

__all__ = ["ILLUSTRATIONS", "Illustration", "Sketch", "illustrate", "listed_inputs"]


# Every figure that a module of this package defines: writing one is all it takes.
_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_FOUND = (value for module in _MODULES for value in vars(module).values() if isinstance(value, Illustration))
ILLUSTRATIONS: Mapping[str, Illustration] = MappingProxyType({one.name: one for one in _FOUND})


def illustrate(figure: ExerciseFigure, drawn: Draw) -> Sketch:
    """The *figure* of an exercise, drawn with its values.

    Raises:
        ValueError: it is unknown, or its inputs are; the message says what was expected.
    """
    if figure.draws not in ILLUSTRATIONS:
        raise ValueError(
            say("no figure is called {name!r}{offer}", name=figure.draws, offer=nearest(figure.draws, ILLUSTRATIONS))
        )
    found = ILLUSTRATIONS[figure.draws]
    for name in figure.given:
        if name not in found.inputs:
            near = nearest(name, found.inputs)
            raise ValueError(
                say(
                    "{figure} is drawn from {names}, not {name!r}{offer}",
                    figure=found.name,
                    names=listed_inputs(found),
                    name=name,
                    offer=near,
                )
            )
    needed = [one.name for one in found.inputs.values() if one.required]
    if missing := [name for name in needed if name not in figure.given]:
        raise ValueError(say("{formula} also needs {names}", formula=found.name, names=", ".join(missing)))
    given = {name: _value(found.inputs[name], value, drawn) for name, value in figure.given.items()}
    for name, value in given.items():
        for one in cast(list[float], value if isinstance(value, list) else [value]):
            if found.inputs[name].unit is COUNT and not whole(name, one, 0) and found.inputs[name].default != 0:
                with suppress(ArithmeticError):
                    found.draw(**given)  # which may say that it takes two
                whole(name, one)
    return found.draw(**given)


def listed_inputs(found: Illustration) -> str:
    """What *found* is drawn from, with the units; in parentheses what may be left out."""
    return ", ".join(
        text if one.required else f"({text})" for one in found.inputs.values() for text in [_input_text(one)]
    )


def _input_text(one: Input) -> str:
    if one.choices:
        return f"{one.name}: {' or '.join(map(str, one.choices))}"
    if one.many:
        return f"{one.name}, separated by commas"
    return f"{one.name} in {one.unit.symbol}" if one.unit and one.unit.symbol else one.name


def _value(taken: Input, given: str | int | float, drawn: Draw) -> Argument:
    """The argument that *given* stands for: an expression of drawn values, or a word."""
    if taken.many:
        one = replace(taken, many=False)
        return [cast(Single, _value(one, part, drawn)) for part in str(given).split(",")]
    if taken.unit is None:
        return taken.read(fill(str(given), drawn.names, drawn.shown))
    try:
        found = evaluate(str(given), drawn.names)
    except ExpressionError as error:
        raise ValueError(say("{name}: {problem}", name=taken.name, problem=error)) from None
    if found.dimension != taken.unit.dimension:
        raise ValueError(say("{name} must be in {unit}, not {value}", name=taken.name, unit=taken.unit, value=found))
    return int(found.value) if found.value.is_integer() and taken.unit.whole else found.value
