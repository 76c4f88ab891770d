"""Runs of one lab compared: groups with the same parameters, one run per machine."""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.color import Color
from app.charts.plot import Plot, Series
from app.charts.svg import Figure
from app.labs.results.report import Held, Measure, Report, held_in, ratio_shown, shown
from app.labs.spec import Lab
from app.site import Site
from app.units import RATIO, scale_of
from app.web.frame.rendering import Hyperlink
from app.web.labs.results import RunResult, finished
from app.web.labs.wording import place_of
from app.web.urls import run_url

LETTERS = string.ascii_uppercase  # one per machine of a group; the others are not shown
_COLORS = tuple(color for color in Color if color is not Color.PALE)
_PLACES = ("size", "side", "length")
_POINTS = 24  # of a curve: no parameter has more values
_ORIGINS = ("recorded", "this server")  # ahead of runs that were sent in


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs with the same parameters; *asked* is the measure that is compared."""

    parameters: str
    asked: str
    held: Held
    runs: tuple[tuple[RunResult, Report], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """One machine of a group."""

    letter: str
    machine: Hyperlink
    what: str
    origin: str
    predicted: str
    measured: str
    spread: str
    ratio: str


def groups_of(site: Site, lab: Lab) -> Sequence[RunGroup]:
    """Groups of runs: those with runs of this server first, then those with most machines."""
    found: dict[str, dict[str, tuple[RunResult, Report]]] = {}
    for result in finished(site, lab.name):
        report = result.report
        if report is None or not (asked := _asked_of(lab, report)) or not _last(report, asked):
            continue
        parameters = lab.run_over(report.backend).parameters
        varied = {name for name, one in parameters.items() if one.several}
        what = " ".join(f"{k}={text}" for k, text in report.given.items() if k not in varied)
        machine = f"{place_of(report)}, {report.backend}"
        known = found.setdefault(what, {}).get(machine)
        if known is None or _worth(*known) < _worth(result, report):
            found[what][machine] = (result, report)
    groups = [_group(lab, what, list(runs.values())) for what, runs in found.items()]
    return sorted(groups, key=lambda group: (_rank(group.runs[0][0]) > 1, -len(group.runs)))


def entries_of(lab: Lab, group: RunGroup) -> Iterator[MachineRow]:
    """The machines of *group*."""
    for letter, (result, report) in zip(LETTERS, group.runs, strict=False):
        one = _last(report, group.asked)
        if one is None:
            continue
        form = lab.run_over(report.backend)
        at = {name: value for name, value in one.where.items() if name != "late"}
        yield MachineRow(
            letter=letter,
            machine=Hyperlink(
                run_url(lab.name, report.id), f"{place_of(report)}, {report.backend}"
            ),
            what=", ".join(f"{name} {form.shown_at(name, value)}" for name, value in at.items()),
            origin=f"{result.origin}, {report.at[:10]}",
            predicted="" if one.predicted is None else shown(form, one.name, one.predicted),
            measured=shown(form, one.name, one.held),
            spread=f"{shown(form, one.name, one.least)} to {shown(form, one.name, one.p90)}",
            ratio=ratio_shown(one.ratio),
        )


def figure_of(lab: Lab, group: RunGroup) -> Figure:
    """Curves over what is varied, or one bar per machine."""
    lab = lab.run_over(group.runs[0][1].backend)
    says, count = lab.measures[group.asked], min(len(group.runs), len(LETTERS))
    axis = Axis(says.says, scale_of(says.unit).unit if says.unit else RATIO)
    place = next((p for p in _PLACES if f"{p}s" in lab.parameters), "")
    title = f"{group.parameters}: {count} {'machine' if count == 1 else 'machines'}"
    lettered = dict(zip(LETTERS, (report for _, report in group.runs), strict=False))
    if not place:
        return Bars(
            title=title, summary=says.says, axis=axis, bars=tuple(_bars(group.asked, lettered))
        )
    parameter = lab.parameters[f"{place}s"]
    series = [
        Series(_COLORS[number % len(_COLORS)], letter, _points(report, group.asked, place))
        for number, (letter, report) in enumerate(lettered.items())
    ]
    return Plot(
        title=title,
        summary=f"{says.says} over {parameter.says}, by machine",
        x=Axis(parameter.says, parameter.measured_in, log=True),
        y=replace(axis, log=True),
        series=tuple(series),
    )


def _group(lab: Lab, what: str, runs: list[tuple[RunResult, Report]]) -> RunGroup:
    runs.sort(key=lambda run: _rank(run[0]))
    first = runs[0][1]
    asked, form = _asked_of(lab, first), lab.run_over(first.backend)
    return RunGroup(parameters=what, asked=asked, held=held_in(form, asked), runs=tuple(runs))


def _rank(result: RunResult) -> int:
    return _ORIGINS.index(result.origin) if result.origin in _ORIGINS else len(_ORIGINS)


def _worth(result: RunResult, report: Report) -> tuple[bool, int, str]:
    """Of a machine, prefer a run of this server, then more points, then the newer run."""
    return (_rank(result) < len(_ORIGINS), len(report.measures), report.at)


def _asked_of(lab: Lab, report: Report) -> str:
    """The measure that *report* was made for; empty if this version has no such measure."""
    try:
        return lab.run_over(report.backend).asked_of(report.given)
    except (KeyError, ValueError):
        return ""


def _last(report: Report, name: str) -> Measure | None:
    """The measure *name* at the last of several places."""
    return next((one for one in reversed(report.measures) if one.name == name), None)


def _bars(name: str, lettered: Mapping[str, Report]) -> Iterator[Bar]:
    for letter, report in lettered.items():
        one = _last(report, name)
        if one is None:
            continue
        if letter == LETTERS[0] and one.predicted is not None:
            yield Bar("formula", (Part(Color.ORANGE, "", one.predicted),))
        yield Bar(letter, (Part(Color.BLUE, "", one.held),))


def _points(report: Report, name: str, place: str) -> tuple[tuple[float, float], ...]:
    found = [one for one in report.measures if one.name == name and place in one.where]
    return tuple((float(one.where[place]), one.held) for one in found[:_POINTS])
