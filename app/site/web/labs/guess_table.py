"""A learner's prediction beside the formula and what a run measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.translation import noted, translate
from app.labs.results.report import Measure, held_in, ratio_shown, show_measure
from app.labs.spec import Lab
from app.server.db.run_state import RunState
from app.site.web.labs.labels import HELD, guess_label, guess_verdict, held_over
from app.site.web.labs.predictions import read_run_prediction
from app.site.web.labs.results import RunResult


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
