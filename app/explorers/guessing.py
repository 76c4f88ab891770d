"""What an explorer asks its visitors to predict, and what it shows before they do."""

from collections.abc import Iterator
from dataclasses import replace

from app.charts.svg import Figure
from app.explorers.base import Explored, Explorer, KeyFigure, Values
from app.explorers.controls import read_controls, shown_text


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
