"""A learner's prediction, compared with the value that the explorer shows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.charts.svg import Figure
from app.errors import sentence
from app.explorers.base import Explored, Explorer, KeyFigure, Values
from app.explorers.controls import read_controls, shown_text
from app.units import read, scale_of

_NEAR = 0.02  # of the value
_FAR = 2.0  # times; from here on the feedback gives a factor, below a percentage
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Guess:
    """Feedback on a prediction; *near*: whether it was right, None if it is not a number."""

    near: bool | None
    says: str


def predicted(explorer: Explorer, shown: Explored) -> KeyFigure | None:
    """The number to predict, if there is one."""
    return next((fact for fact in shown.facts if fact.label == explorer.predicts), None)


def question(explorer: Explorer, values: Values) -> str:
    """The question for *values* (Markdown)."""
    start, _ = read_controls(explorer.controls, {})
    changed = [
        f"{control.label} {shown_text(control, values[control.name])}"
        for control in explorer.controls
        if not control.aside and values[control.name] != start[control.name]
    ]
    if not changed:
        return explorer.question
    return f"{explorer.asks} Settings: {', '.join(changed)}."


def untold(explorer: Explorer, shown: Explored) -> Iterator[Figure]:
    """The figures that are shown before the prediction, without their summaries."""
    for place in explorer.open:
        yield replace(shown.figures[place], summary="")


def judged(fact: KeyFigure, text: str) -> Guess:
    """Feedback on *text* as a prediction of *fact*; a bare number is in the unit of the fact."""
    if fact.exact is None:
        raise ValueError(f"{fact.label} is not a number")
    try:
        value = _read(text[:_LONGEST], fact)
    except ValueError as error:
        return Guess(None, sentence(str(error)))
    shown, exact = text[:_LONGEST].strip(), fact.exact
    if abs(value - exact) <= _NEAR * abs(exact):
        return Guess(True, f"You predicted {shown}. Right: {fact.label} is {fact.value}.")
    says = f"You predicted {shown}; {fact.label} is {fact.value}"
    return Guess(False, f"{says}{_apart(value, exact)}.")


def _read(text: str, fact: KeyFigure) -> float:
    unit = _unit_of(fact)
    if unit == "%" and "%" not in text:
        value = read(text, fact.unit).value
        return value if value <= 1 else value / 100
    return read(text, fact.unit, scale_of(unit)).value


def _unit_of(fact: KeyFigure) -> str:
    unit = fact.value.rpartition(" ")[2]
    return unit if unit and not unit[0].isdigit() else ""


def _apart(value: float, exact: float) -> str:
    if exact == 0 or value / exact <= 0:
        return ""
    ratio = value / exact
    far, way = (ratio, "high") if ratio > 1 else (1 / ratio, "low")
    if far >= _FAR:
        return f". Your prediction is too {way} by a factor of {far:.3g}"
    return f". Your prediction is {100 * abs(ratio - 1):.2g} % too {way}"
