"""Which runs answer a question, and what they say."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import InputError
from app.labs.report import Held, Measure, Report, held_in
from app.labs.spec import Job, lab_called


@dataclass(frozen=True, slots=True)
class Found:
    """What a run measured at one place, in base units; *least* and *p90* tell its spread.

    *value* is what is held against a prediction; *held* says which number that is.
    """

    value: float
    least: float
    p90: float
    count: int
    predicted: float | None
    held: Held


def is_of(report: Report, job: Job) -> bool:
    """Whether *report* comes of the same lab with the same parameters.

    Parameters with several values need not agree: each value has its own samples.
    """
    if report.lab != job.lab.name or report.ranks != job.ranks:
        return False
    single = {name: one for name, one in job.lab.parameters.items() if not one.several}
    try:
        return all(
            one.read(name, report.given.get(name, str(one.start))) == job.values[name]
            for name, one in single.items()
        )
    except InputError:
        return False  # recorded by another version


def found_in(
    report: Report, measured: str, at: Mapping[str, str], over: Mapping[str, str]
) -> Found | None:
    """What *report* says of *measured*, MEASURE or MEASURE/DERIVED; None where it says nothing.

    It is taken at the place *at*, and divided by what there is at *over*, if that is a place.

    Raises:
        InputError: a place cannot be read.
    """
    above, below = _at(report, measured, at), _at(report, measured, over) if over else None
    if not over or above is None:
        return above
    if below is None:
        return None
    if not below.least:
        return None
    ratio = above.value / below.value
    low, high = above.least / below.p90, above.p90 / below.least
    return Found(ratio, low, high, above.count, None, above.held)


def _at(report: Report, measured: str, at: Mapping[str, str]) -> Found | None:
    name, _, derived = measured.partition("/")
    lab = lab_called(report.lab)
    place = {key: parameter.read(key, text) for key, text in at.items()
             if (parameter := lab.parameter_of(key))}  # fmt: skip
    places = {key: value[0] if isinstance(value, tuple) else value for key, value in place.items()}
    fitting = [
        one
        for one in report.measures
        if one.name == name and all(one.where.get(key) == places[key] for key in places)
    ]
    if not fitting or (derived and derived not in fitting[-1].derived):
        return None
    return _derived(fitting[-1], derived) if derived else _plain(report, fitting[-1])


def _derived(one: Measure, name: str) -> Found:
    value = one.derived[name].value
    return Found(value, value, value, one.count, None, "median")


def _plain(report: Report, one: Measure) -> Found:
    which = held_in(lab_called(report.lab), one.name)
    return Found(one.held, one.least, one.p90, one.count, one.predicted, which)
