"""What an explorer asks its visitors to predict, and what it shows before they do."""

from collections.abc import Iterator
from dataclasses import replace

from app.core.charts.svg import Figure
from app.core.translation import translate
from app.course.explorers.base import Explored, Explorer, KeyFigure, Values
from app.course.explorers.controls import read_controls, shown_text


def predicted_figure(explorer: Explorer, shown: Explored) -> KeyFigure | None:
    """The number to predict, if there is one."""
    return next((fact for fact in shown.facts if fact.label == explorer.predicts), None)


def guess_question(explorer: Explorer, values: Values) -> str:
    """The question for *values* (Markdown)."""
    changed = [text for aside, text in _changed(explorer, values) if not aside]
    if not changed:
        return translate(explorer.question)
    return translate("{asks} Settings: {settings}.", asks=translate(explorer.asks), settings=", ".join(changed))


def settings_text(explorer: Explorer, values: Values) -> str:
    """The values that are not the initial ones, in words; empty if all of them are."""
    return ", ".join(text for _, text in _changed(explorer, values))


def _changed(explorer: Explorer, values: Values) -> Iterator[tuple[bool, str]]:
    """Each control that was moved, and whether the number to predict does not depend on it."""
    start, _ = read_controls(explorer.controls, {})
    for control in explorer.controls:
        value = values[control.name]
        if value != start[control.name]:
            yield control.aside, f"{translate(control.label)} {shown_text(control, value)}"


def untold(explorer: Explorer, shown: Explored) -> Iterator[Figure]:
    """The figures that are shown before the prediction, without their summaries."""
    for place in explorer.open:
        yield replace(shown.figures[place], summary="")
