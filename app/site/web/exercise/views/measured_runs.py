"""The measurements beside a prediction: runs of the lab, and tests taken instead of one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.core.translation import translate
from app.course.kinds.lab import LabExercise
from app.labs.results.match import BORROWING, MatchedResult, find_result, is_of, is_same_job
from app.labs.results.report import Report, ratio_shown
from app.labs.spec import LabJob
from app.site.web.exercise.lab_tests import OWN
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import FormInput
from app.site.web.frame.renderer import Hyperlink
from app.site.web.labs.predictions import machine_of
from app.site.web.labs.results import RunResult
from app.site.web.urls import run_url

TAKEN = "taken"  # the field with the name of the test that is taken for the measurement
_MEASURED = "/measured"
_SHORT = 24  # characters of a title
_SHOWN = 3  # tests, where there are no runs


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """The measurement of one prediction in one run."""

    value: str
    spread: str
    ratios: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with the same parameters."""

    machine: Hyperlink
    origin: str
    measured: tuple[MeasuredView, ...]
    taken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowable:
    """A test that may be taken for the measurement, and whose it is; *short*: for a narrow list."""

    name: str
    short: str
    says: str
    whose: str
    chosen: bool
    report: Report


def borrowables(exercise: LabExercise, filled: FormInput, job: LabJob) -> Iterator[Borrowable]:
    """The published and the learner's own tests that have everything that is asked."""
    if job.lab.name != BORROWING:
        return
    chosen = first_value(filled.given, TAKEN)
    for name, (report, says, whose) in filled.context.lab.tests.items():
        if is_same_job(report, job, any_ranks=exercise.any_ranks) and all(
            _found(exercise, one, filled.seed, report) for one in exercise.predict
        ):
            short = f"yours: {says[:_SHORT]}" if whose == OWN else f"{name}, {report.ranks} ranks"
            yield Borrowable(name=name, short=short, says=says, whose=whose, chosen=name == chosen, report=report)


def runs_of(exercise: LabExercise, filled: FormInput, job: LabJob, locked: Mapping[str, str]) -> Iterator[RunView]:
    """Runs with the same parameters, the newest of each machine: the learner's own come first.

    Ahead of them is the test that was taken for the measurement; where there are no runs, a few
    tests that could be.
    """
    others = list(borrowables(exercise, filled, job))
    runs = list(_of_the_lab(exercise, filled, job, locked))
    taken = [one for one in others if one.chosen]
    for one in taken or (others[:_SHOWN] if not runs else ()):
        link = Hyperlink(f"{_MEASURED}/{one.name}", one.says)
        measured = tuple(
            _measured(exercise, name, filled.seed, one.report, locked.get(name, "")) for name in exercise.predict
        )
        origin = translate("taken as your measurement; {whose}", whose=one.whose) if one.chosen else one.whose
        yield RunView(link, origin, measured, taken=one.chosen)
    yield from runs


def _of_the_lab(exercise: LabExercise, filled: FormInput, job: LabJob, locked: Mapping[str, str]) -> Iterator[RunView]:
    fitting = [run for run in filled.context.lab.runs if run.report and _is_of(run.report, job, exercise)]
    fitting.sort(key=lambda kept: not _is_own(kept, filled.learner))
    seen: set[tuple[str, str]] = set()
    for kept in fitting:
        report = kept.report
        if report is None or (where := (_origin(kept, filled.learner), machine_of(report))) in seen:
            continue
        seen.add(where)
        measured = tuple(
            _measured(exercise, name, filled.seed, report, locked.get(name, "")) for name in exercise.predict
        )
        if any(one.value for one in measured):
            link = Hyperlink(run_url(report.lab, report.id), machine_of(report))
            origin = f"{where[0]}, {report.backend}, {report.at[:10]}"
            if report.doubts:
                origin = translate("{origin}, disturbed", origin=origin)
            yield RunView(link, origin, measured)


def _is_of(report: Report, job: LabJob, exercise: LabExercise) -> bool:
    return is_of(report, job) and (exercise.backend == "gloo" or report.backend == "nccl")


def _found(exercise: LabExercise, name: str, seed: int, report: Report) -> MatchedResult | None:
    return find_result(report, exercise.predict[name].measured, *exercise.places(name, seed))


def _measured(exercise: LabExercise, name: str, seed: int, report: Report, typed: str) -> MeasuredView:
    asked, found = exercise.predict[name], _found(exercise, name, seed, report)
    if found is None:
        return MeasuredView("", "", "")
    spread = ""
    if found.count > 1 and found.least != found.p90:
        low, high = asked.shown(found.least), asked.shown(found.p90)
        spread = translate(
            "{held} of {count}; min to p90: {low} to {high}", held=found.held, count=found.count, low=low, high=high
        )
    others = (
        (translate("yours"), asked.read(typed).value if typed else 0.0),
        (translate("the formula"), exercise.keys(seed)[name].right),
    )
    compared = () if report.doubts else others
    ratios = (f"{ratio_shown(found.value / value)} × {word}" for word, value in compared if value)
    return MeasuredView(asked.shown(found.value), spread, ", ".join(ratios))


def _origin(kept: RunResult, learner: str) -> str:
    return translate("yours") if _is_own(kept, learner) else kept.origin


def _is_own(kept: RunResult, learner: str) -> bool:
    return bool(kept.row and learner and kept.row.learner == learner)
