"""How long a run takes at least, by its own formula, before it starts."""

import math
from collections.abc import Mapping, Sequence

from app.core.errors import InputError
from app.core.expressions import ExpressionError, Quantity
from app.core.translation import translate
from app.labs.results.analysis import known_quantities, predict_measure
from app.labs.spec import Lab, LabJob

_HALVES = 40  # of a size, until one fits


def refuse_too_long(job: LabJob) -> None:
    """Refuse *job* if even its fewest calls exceed its time limit; the message says what fits."""
    varied = next((name for name, one in job.lab.parameters.items() if one.several), "")
    values = _several(job, varied)
    least = [place_seconds(job, varied, value) for value in values]
    limit = job.lab.seconds
    if sum(least) <= limit:
        return
    raise InputError(
        translate(
            "{name} takes {least:.0f} s or more with these parameters, by its formula and "
            "{calls} calls each, and is stopped after {limit:.0f} s; {cure}",
            name=job.lab.name,
            least=sum(least),
            calls=job.lab.calls,
            limit=limit,
            cure=_cure(job, varied, values, least),
        )
    )


def place_seconds(job: LabJob, varied: str, value: float) -> float:
    """Seconds of the fewest calls of *job* with that *value* of the parameter *varied*.

    0 where no formula tells them before the run.
    """
    lab = job.lab
    names = known_quantities(lab, job.ranks, job.values)
    if varied:
        unit = lab.parameters[varied].measured_in
        names[varied.removesuffix("s")] = Quantity(value, unit.dimension)
    asked = lab.asked_of(job.given)
    alternatives = [asked] if "{" in lab.asks else [n for n, one in lab.measures.items() if one.least]
    return lab.calls * sum(_formula(lab, name, names, job) for name in alternatives)


def _formula(lab: Lab, name: str, names: Mapping[str, Quantity], job: LabJob) -> float:
    if lab.measures[name].unit != "s":
        return 0.0
    try:
        found = predict_measure(lab, name, names, lab.words(job.values))
    except ExpressionError:  # it goes by what the run measures
        return 0.0
    return found if found and 0 < found < math.inf else 0.0


def _several(job: LabJob, varied: str) -> Sequence[float]:
    values = job.values[varied] if varied else 0.0
    return [float(one) for one in values] if isinstance(values, tuple) else [0.0]


def _cure(job: LabJob, varied: str, values: Sequence[float], least: Sequence[float]) -> str:
    """What would fit, in words that end the sentence."""
    if not varied:
        return translate("choose shorter times or fewer ranks")
    fitting, left = list[int](), job.lab.seconds
    for seconds, place in sorted(zip(least, range(len(values)), strict=True)):
        if seconds <= left:
            fitting.append(place)
            left -= seconds
    parameter = job.lab.parameters[varied]
    if fitting:
        chosen = (parameter.shown(values[place]).replace(" ", "") for place in sorted(fitting))
        return translate("{sizes} would fit", sizes=f"{varied}={','.join(chosen)}")
    smallest = min(values)
    lowest = parameter.number(varied, str(parameter.least))
    for halves in range(1, _HALVES):
        size = smallest / 2**halves
        if size >= lowest and place_seconds(job, varied, size) <= job.lab.seconds:
            shown = parameter.shown(size).replace(" ", "")
            return translate("{sizes} would fit", sizes=f"{varied}={shown}")
    return translate("choose shorter times or fewer ranks")
