"""A run that goes on: what it measures now, and how long it will still take."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.errors import sentence
from app.core.expressions import ExpressionError, Quantity
from app.core.translation import translate
from app.labs.parameters import Parameter
from app.labs.results.analysis import known_quantities, predict_measure
from app.labs.results.report import Report, Underway
from app.labs.spec import Lab, LabJob

_LITTLE = 1.5  # seconds, of which there is nothing to count down
_COARSE = 5.0  # seconds to which a longer time is rounded
_MINUTE = 60.0
_ROUGH = 90.0  # seconds from which minutes are meant


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderwayView:
    """What is measured now, in words; what is left, in words; and the *share* that is done.

    *told* is for those who hear the page: it changes seldom. *share* is None if it is unknown.
    """

    says: str
    left: str
    told: str
    share: float | None


def underway_view(job: LabJob, report: Report | None, at: float, usual: float | None = None) -> UnderwayView:
    """The progress of *job* at the time *at*; *usual* is how long such a run took before."""
    done = report.underway if report else None
    if report is None or done is None:
        return UnderwayView(says=translate("Its processes are starting."), left="", told="", share=None)
    varied = next((name for name, one in job.lab.parameters.items() if one.several), "")
    at_place, says = _place(job, report, varied) if varied else (0, "")
    sampled = done.timing > max((done.begun, *done.measured))
    passed = int(max(0.0, at - done.timing) / max(done.each, 1e-9)) + 1
    if sampled:
        sample = translate("sample {sample:,} of {samples:,}", sample=min(passed, done.samples), samples=done.samples)
    else:
        sample = translate("warming up")
    now = ", ".join(filter(None, (says and translate("measuring {what}", what=says), sample)))
    left = _left(job, report, done, varied, at_place, at)
    if left is None and usual is not None:
        left = max(0.0, usual - (at - done.begun))
    spent = max(0.0, at - done.begun)
    return UnderwayView(
        says=sentence(now),
        left=_left_in_words(left) if left is not None else _at_most(job.lab.seconds - spent),
        told=translate("Measuring {what}.", what=says) if says else "",
        share=None if left is None else spent / max(spent + left, 1e-9),
    )


def _place(job: LabJob, report: Report, varied: str) -> tuple[int, str]:
    """Which of the values of the parameter *varied* is being measured, and its name."""
    values, parameter = _values(job, varied), job.lab.parameters[varied]
    place = varied.removesuffix("s")
    names: dict[float, set[str]] = {}
    for one in report.measures:
        if isinstance(value := one.where.get(place), int | float):
            names.setdefault(float(value), set()).add(one.name)
    whole = len(next(iter(names.values()), ()))
    complete = sum(len(found) >= whole for found in names.values())
    number = min(complete, len(values) - 1)
    return number, _ordinal(parameter, values, number, varied)


def _ordinal(parameter: Parameter, values: Sequence[float], number: int, varied: str) -> str:
    shown = parameter.shown(values[number])
    if len(values) == 1:
        return shown
    return translate(
        "{shown}, number {place} of {count} {values}", shown=shown, place=number + 1, count=len(values), values=varied
    )


def _values(job: LabJob, varied: str) -> Sequence[float]:
    values = job.values[varied]
    return [float(one) for one in values] if not isinstance(values, int | float | str) else [0.0]


def _left(job: LabJob, report: Report, done: Underway, varied: str, number: int, at: float) -> float | None:
    """Seconds until the end, from the samples so far; None if there are none to go by.

    A later place takes as long as this one, or what its calls take by the formula if that is more.
    """
    since = max((done.begun, *done.measured))
    if done.timing > since:
        whole = done.timing - since + done.samples * done.each
    elif number and done.measured:
        whole = (since - done.begun) / number
    else:
        return None
    spent = max(0.0, at - since)
    if not varied:
        return max(0.0, whole - spent)
    weights = list(_weights(job, varied))
    base = weights[number] if done.timing > since else weights[max(0, number - 1)]
    per = _measures_of_a_place(report, varied) if done.timing > since else 1
    each = [max(whole, job.lab.calls * done.each * weight / base) for weight in weights]
    own = whole if done.timing > since else each[number]
    return max(0.0, own - spent) + per * sum(each[number + 1 :])


def _measures_of_a_place(report: Report, varied: str) -> int:
    """How many measures there are at a place, as far as is known."""
    place = varied.removesuffix("s")
    first = next((one.where[place] for one in report.measures if place in one.where), None)
    return max(1, len({one.name for one in report.measures if one.where.get(place) == first}))


def _weights(job: LabJob, varied: str) -> Iterator[float]:
    """What the formula says of each place; 1 for all where it says nothing beforehand."""
    lab, place = job.lab, varied.removesuffix("s")
    names = known_quantities(lab, job.ranks, job.values)
    unit = lab.parameters[varied].measured_in
    for value in _values(job, varied):
        known = {**names, place: Quantity(value, unit.dimension)}
        yield _formula(lab, lab.asked_of(job.given), known, job) or 1.0


def _formula(lab: Lab, name: str, known: dict[str, Quantity], job: LabJob) -> float | None:
    if lab.measures[name].unit != "s":
        return None
    try:
        found = predict_measure(lab, name, known, lab.words(job.values))
    except ExpressionError:  # it goes by other measures of the run
        return None
    return found if found and 0 < found < math.inf else None


def _left_in_words(seconds: float) -> str:
    """How long it will still take, as precisely as it can be said.

    >>> [_left_in_words(one) for one in (0.4, 3.2, 12, 47, 260)]
    ['Nearly done.', 'About 3 s left.', 'About 10 s left.', 'About 45 s left.', 'About 4 min left.']
    """
    if seconds < _LITTLE:
        return translate("Nearly done.")
    if seconds > _ROUGH:
        return translate("About {minutes:.0f} min left.", minutes=seconds / _MINUTE)
    step = _COARSE if seconds > 2 * _COARSE else 1.0
    return translate("About {seconds:.0f} s left.", seconds=step * round(seconds / step))


def _at_most(seconds: float) -> str:
    return translate("It will be stopped within {seconds:.0f} s.", seconds=max(0.0, seconds))
