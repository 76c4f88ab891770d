"""A prediction for a run beside what it measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.charts.axes import Axis
from app.core.errors import InputError, input_error
from app.core.expressions import read_answer
from app.core.translation import localize, noted, plural, translate
from app.core.units import BYTE, Unit, check_clear, in_english, list_in_english, scale_of, show_size
from app.labs.results.report import Held, Measure, Report, held_in, ratio_shown, show_measure
from app.labs.spec import Lab
from app.server.db.run_state import RunState
from app.site.web.labs.results import RunResult
from app.site.web.urls import run_url

BACKEND = "backend"  # the field of a form for a run
KINDS = {"real": noted("real links"), "emulated": noted("an emulated link"), "counted": noted("counted")}
LINKS_SAY = {
    "real": noted("This machine's own links, timed, with the spread of the samples."),
    "emulated": noted(
        "Real messages between real processes, each delayed by latency + bytes / "
        "bandwidth: the timing of links that this machine does not have."
    ),
    "counted": noted("Counted, not timed: on any machine the count must equal the formula."),
}
STATES = {
    RunState.QUEUED: noted("Waiting in the queue"),
    RunState.RUNNING: noted("Running"),
    RunState.DONE: noted("Finished"),
    RunState.FAILED: noted("Failed"),
    RunState.CANCELED: noted("Canceled"),
    RunState.TIMEOUT: noted("Timed out"),
    RunState.LOST: noted("Lost"),
}
HELD: Mapping[Held, str] = {"min": noted("Min"), "median": noted("Median")}


CURES = {
    RunState.FAILED: noted(
        "The cause is above, and what the processes printed is below. If the cause is a "
        "parameter, change it; if it is the machine, running it again may be enough."
    ),
    RunState.TIMEOUT: noted(
        "Nothing is wrong with your prediction: the run did not finish in time. Use fewer "
        "or smaller values, or fewer processes."
    ),
    RunState.LOST: noted("Your parameters are fine: start it again."),
    RunState.CANCELED: noted("Your parameters are still there: start it again, or change them."),
}
_CLOSE, _TWICE = 0.05, 2.0
_OFF = {  # by whether it was too high, and far
    (True, True): noted("Your prediction was {times:.2g}× too high."),
    (False, True): noted("Your prediction was {times:.2g}× too low."),
    (True, False): noted("Your prediction was {percent:.0f} % too high."),
    (False, False): noted("Your prediction was {percent:.0f} % too low."),
}


def gap(lab: Lab, one: Measure) -> str:
    """How far a measurement is from its formula; empty if it has none."""
    if not one.ratio or one.ratio < 0:
        return ""
    if one.right:
        return translate("exactly the formula")
    if abs(one.ratio - 1) < _CLOSE:
        return translate("within {percent:g} % of the formula", percent=100 * _CLOSE)
    slower = lab.measures[one.name].unit == "s"
    if slower and one.ratio > 1:
        return translate("{ratio:.2g}× slower than the formula", ratio=one.ratio)
    if slower:
        return translate("{ratio:.2g}× faster than the formula", ratio=1 / one.ratio)
    return translate("{ratio:.2g}× what the formula says", ratio=one.ratio)


def guess_verdict(guess: float, held: float) -> str:
    """How far a prediction was from what was measured."""
    if held == guess:
        return translate("Spot on: your prediction is exactly what was measured.")
    if not (held > 0 and guess > 0):
        return ""
    off = guess / held
    if abs(off - 1) < _CLOSE:
        return translate("Well predicted: within {percent:g} % of what was measured.", percent=100 * _CLOSE)
    form = _OFF[off > 1, off >= _TWICE or off <= 1 / _TWICE]
    return translate(form, times=max(off, 1 / off), percent=100 * abs(off - 1))


def held_over(held: Held, other: str) -> str:
    """The heading of a ratio: the two columns that it compares."""
    return f"{translate(HELD[held])} / {translate(other)}"


def machine_of(report: Report) -> str:
    """The machine of a run, in a few words."""
    machine = report.machine
    if machine.gpus and report.gpus:
        return report.gpus
    return translate("{processor}, {cores} cores", processor=machine.processor, cores=machine.cores)


def size_label(report: Report) -> str:
    """The number of ranks, and of nodes if there are several, in words."""
    ranks = plural("{number} rank", "{number} ranks", report.ranks)
    if report.nodes == 1:
        return ranks
    return translate("{ranks} on {nodes} nodes", ranks=ranks, nodes=report.nodes)


def guess_label(lab: Lab, measure: str) -> str:
    """The label of a prediction: the measure, at the last of several values."""
    several = [name for name, one in lab.parameters.items() if one.several]
    says = lab.measures[measure].says
    if not several:
        return says
    return translate("{says}, at the last of the {values}", says=says, values=several[0])


def axis_of(says: str, unit: Unit, values: Iterable[float], *, log: bool = False) -> Axis:
    """An axis for *values*, with sizes in the unit that they have in texts and tables."""
    binary = unit is BYTE and any("iB" in show_size(value) for value in values)
    return Axis(says, unit, log=log, base=2 if binary else 10)


def measured_in_words(lab: Lab, given: Mapping[str, str]) -> str:
    """What a run measures, and in which unit."""
    try:
        says = lab.measures[lab.asked_of({**lab.starts, **given})]
    except (KeyError, ValueError):  # of a version that had other measures
        return ""
    unit = translate("in {unit}", unit=says.unit) if says.unit else translate("a number without a unit")
    return translate("Measured: {says}, {unit}.", says=says.says, unit=unit)


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
        raise input_error("your prediction: {error}", error=localize(str(error))) from None


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
        raise InputError(f"{name}: {localize(str(error))}") from None


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
        tuple(_given_rows(lab, report)),
        lab.measures[_asked_measure(of, report)].says,
    )


def _given_rows(lab: Lab, report: Report) -> Iterator[tuple[str, str]]:
    """What a prediction of *report* needs to know: the ranks, what the lab fixes, and each parameter, in its unit.

    Of several values, it is the last one that is asked for.
    """
    if report.ranks > 1:
        yield translate("ranks"), str(report.ranks)
    yield from lab.constants.items()
    for name, text in report.given.items():
        if (one := lab.parameters.get(name)) is not None:
            value = one.read(name, text)
            last = value[-1] if isinstance(value, tuple) else value
            yield one.says, last.replace("_", "-") if isinstance(last, str) else one.shown(last)


def measured_beside_formula(of: Lab, report: Report) -> str:
    """What a run measured of what was asked, and what the formula says; empty if something disturbed it."""
    asked, lab = _asked_measure(of, report), of.run_over(report.backend)
    if not asked or report.doubts:
        return ""
    one = next(one for one in reversed(report.measures) if one.name == asked)
    measured = show_measure(lab, asked, one.held)
    if one.predicted is None:
        return measured
    return translate("{shown}, formula {formula}", shown=measured, formula=show_measure(lab, asked, one.predicted))


def _asked_measure(of: Lab, report: Report) -> str:
    """What is asked of a run like *report*, if it was measured."""
    lab = of.run_over(report.backend)
    try:
        asked = lab.asked_of({**lab.starts, **report.given})
    except (KeyError, ValueError):  # of a version that had other measures
        return ""
    return asked if any(one.name == asked for one in report.measures) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessTable:
    """The learner's prediction beside the formula and the measurement, with their ratios."""

    what: str
    header: tuple[str, ...]
    cells: tuple[str, ...]
    spread: str
    verdict: str


def guess_afterwards(of: Lab, result: RunResult, guess: str) -> GuessTable | None:
    """A prediction for a run that was recorded before, beside what it measured."""
    report = result.report
    if not report or result.state != RunState.DONE:
        return None
    lab = of.run_over(report.backend)
    measure = lab.asked_of({**lab.starts, **report.given})
    found = [one for one in report.measures if one.name == measure]
    predicted = read_run_prediction(lab, measure, guess)
    if not found or predicted is None:
        return None
    return _measured_beside(lab, found[-1], predicted, is_disturbed=bool(report.doubts))


def guess_beside_run(lab: Lab, result: RunResult) -> GuessTable | None:
    """The prediction that a run was started with, beside what it measured by now."""
    row, report = result.row, result.report
    if not row or row.predicted is None or not report:
        return None
    measure = lab.asked_of(row.parameters)
    found = [one for one in report.measures if one.name == measure]
    known = [(translate("Your prediction"), show_measure(lab, measure, row.predicted))]
    if not found or result.state != RunState.DONE:
        return _guess_table(lab, measure, known)
    return _measured_beside(lab, found[-1], row.predicted, is_disturbed=bool(report.doubts))


def _measured_beside(lab: Lab, one: Measure, predicted: float, *, is_disturbed: bool) -> GuessTable:
    """The table of a finished run; one that something disturbed judges no prediction."""
    measure = one.name
    known = [(translate("Your prediction"), show_measure(lab, measure, predicted))]
    known += _beside(lab, one, 0.0 if is_disturbed else predicted)
    low, high = show_measure(lab, measure, one.least), show_measure(lab, measure, one.p90)
    spread = ""
    if one.least != one.p90:
        spread = translate("Min to p90: {low} to {high}, n = {count}.", low=low, high=high, count=one.count)
    verdict = "" if is_disturbed else guess_verdict(predicted, one.held)
    return _guess_table(lab, measure, known, spread, verdict)


def _beside(lab: Lab, one: Measure, predicted: float) -> Iterator[tuple[str, str]]:
    """The formula and the measurement, with the ratios of the latter to each prediction."""
    held = held_in(lab, one.name)
    if one.predicted is not None:
        yield translate("Formula"), show_measure(lab, one.name, one.predicted)
    yield translate(HELD[held]), show_measure(lab, one.name, one.held)
    if predicted:
        yield held_over(held, noted("yours")), ratio_shown(one.held / predicted)
    if one.ratio is not None:
        yield held_over(held, noted("formula")), ratio_shown(one.ratio)


def _guess_table(
    lab: Lab, measure: str, known: Sequence[tuple[str, str]], spread: str = "", verdict: str = ""
) -> GuessTable:
    return GuessTable(
        what=guess_label(lab, measure),
        header=tuple(heading for heading, _ in known),
        cells=tuple(cell for _, cell in known),
        spread=spread,
        verdict=verdict,
    )
