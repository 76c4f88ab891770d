"""A prediction for a run: read from a form, and the recorded run that it may be compared with."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.errors import InputError
from app.core.expressions import read_answer
from app.core.translation import localized, translate
from app.core.units import check_clear, in_english, list_in_english, scale_of
from app.labs.results.report import Report
from app.labs.spec import Lab
from app.site.web.labs.labels import guess_label, machine_of
from app.site.web.urls import run_url


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that can be predicted without starting one: where it is, how it ran, what is asked."""

    href: str
    machine: str
    given: tuple[tuple[str, str], ...]
    asks: str


def read_run_prediction(lab: Lab, measure: str, text: str) -> float | None:
    """The number in *text* as a prediction of *measure*; None if nothing was typed.

    Raises:
        InputError: it cannot be read.
    """
    if not text.strip():
        return None
    try:
        check_clear(text)
        return read_answer(text, scale_of(lab.measures[measure].unit)).value
    except ValueError as error:
        raise InputError(translate("your prediction: {error}", error=localized(str(error)))) from None


def read_typed_parameter(lab: Lab, name: str, text: str) -> str:
    """What was typed for the parameter *name*, as every page and command reads it.

    Raises:
        InputError: it may be one number or another.
    """
    one = lab.parameters.get(name)
    if one and (one.one_of or text in one.words):
        return text
    try:
        if one and one.several:
            return list_in_english(text, whole=one.whole)
        return in_english(text, whole=one is None or one.whole)  # ranks and nodes are whole, too
    except ValueError as error:
        raise InputError(f"{name}: {localized(str(error))}") from None


def recorded_run(of: Lab, reports: Sequence[Report]) -> RecordedRun | None:
    """The one of *reports* that is most like the run that the form of the lab starts with."""
    measured = [one for one in reports if _asked_measure(of, one)]
    if not measured:
        return None
    report = max(measured, key=lambda one: len(set(of.starts.items()) & set(one.given.items())))
    lab = of.run_over(report.backend)
    return RecordedRun(
        run_url(lab.name, report.id),
        machine_of(report),
        tuple((lab.parameters[name].says, text) for name, text in report.given.items() if name in lab.parameters),
        guess_label(lab, _asked_measure(of, report)),
    )


def _asked_measure(of: Lab, report: Report) -> str:
    """What is asked of a run like *report*, if it was measured."""
    lab = of.run_over(report.backend)
    try:
        asked = lab.asked_of({**lab.starts, **report.given})
    except (KeyError, ValueError):  # of a version that had other measures
        return ""
    return asked if any(one.name == asked for one in report.measures) else ""
