"""/labs/LAB/board: the same lab on different machines, on one plot; runs can be sent in."""

import json
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.drawn import Figure
from app.charts.plot import Plot, Series
from app.db.lab_runs import SENT, keep_sent
from app.db.tables import LabRunRow
from app.errors import AppError, InputError, UnavailableError
from app.labs import Lab, Measure, Report, lab_called
from app.labs.reading import given_in
from app.labs.reporting import shown
from app.labs.runs import named
from app.labs.sent import read_sent
from app.site import Here, Site
from app.units import RATIO, scale_of
from app.web.figures import FigureView, figure_file, figure_view
from app.web.kept_runs import Kept, finished
from app.web.lab_words import KINDS, guess_label, place_of
from app.web.rendering import Link, frame, render
from app.web.visitor import FromHere, Visiting, learner_of, remember

router = APIRouter(prefix="/labs")
_COLOURS = "fbwci"
_PLACES = ("size", "side", "length")


@dataclass(frozen=True, slots=True)
class Entry:
    """A machine in a group."""

    letter: str
    machine: Link
    what: str
    origin: str
    predicted: str
    measured: str
    spread: str
    ratio: str


@dataclass(frozen=True, slots=True)
class Group:
    """Runs with the same parameters, a machine each."""

    parameters: str
    figure: FigureView
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class BoardPage:
    """A lab on all machines that have run it."""

    lab: Link
    kind: str
    asks: str
    groups: tuple[Group, ...]
    command: str
    problem: str


@router.get("/{name}/board")
async def board(request: Request, site: Here, name: str) -> Response:
    """One lab on different machines."""
    return _page(request, site, lab_called(name))


@router.post("/{name}/board", dependencies=[FromHere])
async def send(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """Add a run of another machine."""
    lab, learner = lab_called(name), learner_of(visiting)
    try:
        text = await _sent_text(request)
        row = _row(lab, text, learner)
        keep_sent(site.engine, row)
    except (InputError, UnavailableError) as error:
        return _page(request, site, lab, error)
    response = Response(status_code=303, headers={"Location": f"/labs/{lab.name}/{row.name}"})
    remember(request, response, learner, site.secret)
    return response


@router.get("/{name}/board/{number}.{form}")
async def download(site: Here, name: str, number: int, form: str) -> Response:
    """A figure of the board as a picture that stands alone, or its values."""
    lab = lab_called(name)
    figures = [_figure(lab, what, runs) for what, runs in _groups(site, lab)]
    return figure_file(figures, number, form, f"{lab.name}-board")


async def _sent_text(request: Request) -> str:
    async with request.form(max_files=1, max_fields=2) as form:
        file = form.get("run")
        try:
            text = (await file.read()).decode() if isinstance(file, UploadFile) else str(file or "")
        except UnicodeDecodeError:
            raise InputError("this file is no text") from None
    if not text.strip():
        raise InputError("choose the file that `wallclock lab run ... --json` has written")
    return text


def _row(lab: Lab, text: str, learner: str) -> LabRunRow:
    report = read_sent(text)
    if report.lab != lab.name:
        raise InputError(f"this is a run of {report.lab}, and the board here is of {lab.name}")
    name = named(lab.name)
    return LabRunRow(
        name=name,
        lab=lab.name,
        given=json.dumps(dict(given_in(report.command))),
        backend=report.backend[:20],
        host=SENT,
        pool=name,
        learner=learner,
        state="done",
        report=replace(report, id=name).as_json(),
    )


def _page(request: Request, site: Site, lab: Lab, error: AppError | None = None) -> Response:
    groups = tuple(
        Group(
            what,
            figure_view(_figure(lab, what, runs), f"/labs/{lab.name}/board", number),
            tuple(_entries(lab, runs)),
        )
        for number, (what, runs) in enumerate(_groups(site, lab))
    )
    problem = f"{str(error)[:1].upper()}{str(error)[1:]}." if error else ""
    page = BoardPage(
        Link(f"/labs/{lab.name}", lab.title),
        KINDS[lab.links],
        guess_label(lab, lab.asked_of({k: str(one.start) for k, one in lab.parameters.items()})),
        groups,
        f"wallclock lab run {lab.name} --json > run.json",
        problem,
    )
    status = 200 if error is None else 422 if isinstance(error, InputError) else 503
    title = f"{lab.title}: all machines"
    return render("board.html", frame(request, title, lab.summary, "labs"), page, status)


def _groups(site: Site, lab: Lab) -> Sequence[tuple[str, Sequence[Kept]]]:
    """Runs by what was set, one of each machine; those with most machines come first."""
    found: dict[str, dict[str, Kept]] = {}
    for kept in finished(site, lab.name):
        report = kept.report
        if report is None or _asked(lab, report) is None:
            continue
        set_to = given_in(report.command)
        varied = {name for name, one in lab.parameters.items() if one.several}
        what = " ".join(f"{key}={text}" for key, text in set_to.items() if key not in varied)
        machine = f"{place_of(report)}, {report.backend}"
        known = found.setdefault(what, {}).get(machine)
        if known is None or _worth(known) < _worth(kept):
            found[what][machine] = kept
    groups = [(what, list(runs.values())) for what, runs in found.items()]
    return sorted(groups, key=lambda group: -len(group[1]))


def _worth(kept: Kept) -> tuple[int, str]:
    """The run with more points is shown, then the newer one."""
    return (len(kept.report.measures), kept.report.at) if kept.report else (0, "")


def _asked(lab: Lab, report: Report) -> Measure | None:
    """The measure that the lab asks for, at the last of several places."""
    name = lab.asked_of(given_in(report.command))
    return next((one for one in reversed(report.measures) if one.name == name), None)


def _entries(lab: Lab, runs: Sequence[Kept]) -> Iterator[Entry]:
    for letter, kept in zip(string.ascii_uppercase, runs, strict=False):
        report = kept.report
        one = _asked(lab, report) if report else None
        if report is None or one is None:
            continue
        yield Entry(
            letter,
            Link(f"/labs/{lab.name}/{report.id}", f"{place_of(report)}, {report.backend}"),
            ", ".join(f"{k} {lab.shown_at(k, v)}" for k, v in one.where.items() if k != "late"),
            f"{kept.origin}, {report.at[:10]}",
            "" if one.predicted is None else shown(lab, one.name, one.predicted),
            shown(lab, one.name, one.median),
            f"{shown(lab, one.name, one.least)} to {shown(lab, one.name, one.p90)}",
            "" if one.ratio is None else f"{one.ratio:.3f}",
        )


def _figure(lab: Lab, what: str, runs: Sequence[Kept]) -> Figure:
    """Curves over what is varied, or a bar a machine."""
    reports = [kept.report for kept in runs if kept.report][: len(string.ascii_uppercase)]
    name = lab.asked_of(given_in(reports[0].command))
    says = lab.measures[name]
    axis = Axis(says.says, scale_of(says.unit).unit if says.unit else RATIO)
    place = next((p for p in _PLACES if f"{p}s" in lab.parameters), "")
    title = f"{what}: {len(reports)} {'machine' if len(reports) == 1 else 'machines'}"
    lettered = dict(zip(string.ascii_uppercase, reports, strict=False))
    if not place:
        return Bars(title, says.says, axis, tuple(_bars(lab, name, lettered)))
    parameter = lab.parameters[f"{place}s"]
    series = [
        Series(_COLOURS[number % len(_COLOURS)], letter, _points(report, name, place))
        for number, (letter, report) in enumerate(lettered.items())
    ]
    return Plot(
        title,
        f"{says.says} over {parameter.says}, by machine",
        Axis(parameter.says, parameter.measured_in, log=True),
        replace(axis, log=True),
        tuple(series),
    )


def _bars(lab: Lab, name: str, lettered: Mapping[str, Report]) -> Iterator[Bar]:
    for letter, report in lettered.items():
        one = _asked(lab, report)
        if one is None:
            continue
        if letter == "A" and one.predicted is not None:
            yield Bar("predicted", (Part("b", "", one.predicted),))
        yield Bar(letter, (Part("f", "", one.least if lab.measures[name].least else one.median),))


def _points(report: Report, name: str, place: str) -> tuple[tuple[float, float], ...]:
    found = [one for one in report.measures if one.name == name and place in one.where]
    return tuple((float(one.where[place]), one.median) for one in found)
