"""Runs of one lab compared: groups that differ in their choices, one run per choice and machine."""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.core.charts.axes import Color
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import Plot, Series
from app.core.charts.svg import Figure
from app.core.translation import noted, plural, translate, translate_known
from app.core.units import RATIO, scale_of
from app.labs.results.report import Held, Measure, Report, held_in, ratio_shown, show_measure
from app.labs.spec import Lab
from app.site import Site
from app.site.web.frame.renderer import Hyperlink
from app.site.web.labs.predictions import axis_of, machine_of
from app.site.web.labs.results import RunResult, list_finished_runs
from app.site.web.measured.figures import family
from app.site.web.urls import run_url

LETTERS = string.ascii_uppercase  # one per machine of a group; the others are not shown
_COLORS = tuple(color for color in Color if color is not Color.PALE)
_PLACES = ("size", "side", "length")
PROCESSORS = "processors"
_POINTS = 24  # of a curve: no parameter has more values
_ORIGINS = (noted("recorded"), noted("this server"))  # ahead of runs that were sent in


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A run, the machine that it ran on, the *choice* that was made, and the measure to compare."""

    result: RunResult
    report: Report
    machine: str
    choice: str
    asked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs with the same parameters but for their choices, such as the algorithm."""

    parameters: str
    held: Held
    runs: tuple[ComparedRun, ...]

    @property
    def varies(self) -> bool:
        """Whether the runs differ in their choices."""
        return len({one.choice for one in self.runs}) > 1

    @property
    def has_formula(self) -> bool:
        """Whether any of the runs has a prediction for what is compared."""
        found = (_last(one.report, one.asked) for one in self.runs)
        return any(one and one.predicted is not None for one in found)

    @property
    def names(self) -> Sequence[str]:
        """The name of each run in figures: its choice on a single machine, else a letter."""
        places = {one.machine for one in self.runs}
        if self.varies and len(places) == 1:
            return [one.choice for one in self.runs][: len(LETTERS)]
        return LETTERS[: len(self.runs)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """One machine of a group."""

    letter: str
    choice: str
    machine: Hyperlink
    what: str
    origin: str
    predicted: str
    measured: str
    spread: str
    ratio: str


def groups_of(site: Site, lab: Lab) -> Sequence[RunGroup]:
    """Groups of runs: those with runs of this server first, then those with most machines."""
    found: dict[str, dict[tuple[str, str], ComparedRun]] = {}
    for result in list_finished_runs(site, lab.name):
        report = result.report
        if report is None or report.doubts:  # what was disturbed is compared with nothing
            continue
        if not (asked := _asked_of(lab, report)) or not _last(report, asked):
            continue
        one = ComparedRun(
            result=result,
            report=report,
            machine=f"{machine_of(report)}, {report.backend}",
            choice=_choice(lab, report),
            asked=asked,
        )
        group = found.setdefault(_parameters(lab, report), {})
        known = group.get((one.choice, one.machine))
        if known is None or _worth(known) < _worth(one):
            group[one.choice, one.machine] = one
    groups = [_group(lab, what, list(runs.values())) for what, runs in found.items()]
    return sorted(groups, key=lambda group: (_rank(group.runs[0].result) > 1, -len(group.runs)))


def _parameters(lab: Lab, report: Report) -> str:
    """The parameters that the runs of a group share."""
    own = lab.run_over(report.backend).parameters
    left_out = {name for name, one in own.items() if one.several or one.one_of}
    return " ".join(f"{k}={text}" for k, text in report.given.items() if k not in left_out)


def _choice(lab: Lab, report: Report) -> str:
    """What was chosen from a list: the algorithm, the schedule; a number with its name."""
    own = lab.run_over(report.backend).parameters
    chosen = ((k, text) for k, text in report.given.items() if k in own and own[k].one_of)
    return " ".join(f"{k}={text}" if text.isdigit() else text for k, text in chosen)


def hardware_of(report: Report) -> str:
    """The GPU that *report* ran on, by its short name; or that it ran on processors."""
    if not report.gpus:
        return PROCESSORS
    return family(report.gpus) or report.gpus


def runs_on(group: RunGroup, hardware: str) -> bool:
    """Whether a run of *group* is on *hardware*; if none is asked for, any is."""
    return not hardware or any(hardware_of(run.report) == hardware for run in group.runs)


def entries_of(lab: Lab, group: RunGroup, hardware: str = "") -> Iterator[MachineRow]:
    """The machines of *group*, or those that are the *hardware* asked for."""
    for name, run in zip(group.names, group.runs, strict=False):
        report, one = run.report, _last(run.report, run.asked)
        if one is None or hardware not in ("", hardware_of(report)):
            continue
        form = lab.run_over(report.backend)
        at = {place: value for place, value in one.where.items() if place != "late"}
        yield MachineRow(
            letter=name if name in LETTERS else "",
            choice=run.choice if group.varies else "",
            machine=Hyperlink(run_url(lab.name, report.id), run.machine),
            what=", ".join(f"{place} {form.shown_at(place, value)}" for place, value in at.items()),
            origin=f"{translate_known(run.result.origin)}, {report.at[:10]}",
            predicted="" if one.predicted is None else show_measure(form, one.name, one.predicted),
            measured=show_measure(form, one.name, one.held),
            spread=translate(
                "{shown} to {shown_2}",
                shown=show_measure(form, one.name, one.least),
                shown_2=show_measure(form, one.name, one.p90),
            ),
            ratio=ratio_shown(one.ratio),
        )


def figure_of(lab: Lab, group: RunGroup) -> Figure:
    """Curves over what is varied, or one bar per run."""
    first = group.runs[0]
    lab = lab.run_over(first.report.backend)
    says, count = lab.measures[first.asked], min(len(group.runs), len(LETTERS))
    unit = scale_of(says.unit).unit if says.unit else RATIO
    measured = [one.held for run in group.runs for one in run.report.measures if one.name == run.asked]
    place = next((p for p in _PLACES if f"{p}s" in lab.parameters), "")
    counted = (
        plural("{number} run", "{number} runs", count)
        if group.varies
        else plural("{number} machine", "{number} machines", count)
    )
    title = f"{group.parameters}: {counted}"
    if not place:
        return Bars(
            title=title, summary=says.says, axis=axis_of(says.says, unit, measured), bars=tuple(_run_bars(lab, group))
        )
    parameter = lab.parameters[f"{place}s"]
    series = [
        Series(_COLORS[number % len(_COLORS)], name, _points(run.report, run.asked, place))
        for number, (name, run) in enumerate(zip(group.names, group.runs, strict=False))
    ]
    return Plot(
        title=title,
        summary=(
            translate("{says} over {parameter}, by run", says=says.says, parameter=parameter.says)
            if group.varies
            else translate("{says} over {parameter}, by machine", says=says.says, parameter=parameter.says)
        ),
        x=axis_of(parameter.says, parameter.measured_in, (x for one in series for x, _ in one.points), log=True),
        y=axis_of(says.says, unit, measured, log=True),
        series=tuple(series),
    )


def _group(lab: Lab, what: str, runs: list[ComparedRun]) -> RunGroup:
    runs.sort(key=lambda run: _rank(run.result))
    first = runs[0]
    form = lab.run_over(first.report.backend)
    group = RunGroup(parameters=what, held=held_in(form, first.asked), runs=tuple(runs))
    if group.varies or not first.choice:
        return group
    return replace(group, parameters=f"{what} {first.choice}")


def _rank(result: RunResult) -> int:
    return _ORIGINS.index(result.origin) if result.origin in _ORIGINS else len(_ORIGINS)


def _worth(run: ComparedRun) -> tuple[bool, int, str]:
    """Of a machine, prefer a run of this server, then more points, then the newer run."""
    return (_rank(run.result) < len(_ORIGINS), len(run.report.measures), run.report.at)


def _asked_of(lab: Lab, report: Report) -> str:
    """The measure that *report* was made for; empty if this version has no such measure."""
    try:
        return lab.run_over(report.backend).asked_of(report.given)
    except (KeyError, ValueError):
        return ""


def _last(report: Report, name: str) -> Measure | None:
    """The measure *name* at the last of several places."""
    return next((one for one in reversed(report.measures) if one.name == name), None)


def _run_bars(lab: Lab, group: RunGroup) -> Iterator[Bar]:
    """One per run, with its formula beside it; where all have the same formula, as a bar."""
    for number, (name, run) in enumerate(zip(group.names, group.runs, strict=False)):
        one = _last(run.report, run.asked)
        if one is None:
            continue
        note = ""
        if one.predicted is not None and group.varies:
            formula = show_measure(lab, one.name, one.predicted)
            note = translate("{shown}, formula {formula}", shown=show_measure(lab, one.name, one.held), formula=formula)
        elif one.predicted is not None and not number:
            yield Bar(translate("formula"), (Part(Color.ORANGE, "", one.predicted),))
        yield Bar(name, (Part(Color.BLUE, "", one.held),), note)


def _points(report: Report, name: str, place: str) -> tuple[tuple[float, float], ...]:
    found = [one for one in report.measures if one.name == name and place in one.where]
    return tuple((float(one.where[place]), one.held) for one in found[:_POINTS])
