"""/labs/LAB/RUN: a run that is in the queue, running or finished; and canceling it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from app.content.glossary import mark
from app.db.lab_runs import QUEUED, WAITING, ahead_of, request_cancel
from app.db.session import open_session
from app.db.tables import LabRunRow
from app.errors import NotFoundError
from app.labs import Lab, Measure, Report, lab_called
from app.labs.report import held_in, ratio_shown, shown
from app.labs.spec import amount
from app.markdown import html
from app.site import Here, Site
from app.units import scale_of
from app.web.explore.figures import FigureView, figure_file, figure_view
from app.web.frame.aside import aside
from app.web.frame.rendering import Link, frame, render
from app.web.frame.visitor import FromHere, Visiting
from app.web.labs.results import Kept, run_called
from app.web.labs.tables import figures_of, table_of
from app.web.labs.wording import (
    HELD,
    KINDS,
    LINKS_SAY,
    STATES,
    guess_label,
    held_over,
    place_of,
    query_of,
)

router = APIRouter(prefix="/labs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was predicted, beside the formula and the measurement; each ratio names its columns."""

    what: str
    header: tuple[str, ...]
    cells: tuple[str, ...]
    spread: str


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run."""

    lab: Link
    address: str
    title: str
    kind: str
    links: str
    question: Markup
    explains: Markup
    state: str
    says: str
    ahead: int
    waits: bool
    own: bool
    log: str
    again: str
    back: Link | None
    report: Report | None
    compared: Compared | None
    machine: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: str
    figures: tuple[FigureView, ...]


@router.post("/{name}/{run}/cancel", dependencies=[FromHere])
async def cancel(site: Here, visiting: Visiting, name: str, run: str) -> Response:
    """Cancel a run; only the learner who started it may."""
    kept = await aside(run_called, site, lab_called(name).name, run)
    if not kept.row or not visiting.learner or kept.row.learner != visiting.learner:
        raise NotFoundError("you did not start a run of that name, so you cannot cancel it")
    request_cancel(site.engine, run)
    site.labs.wake()
    return Response(status_code=303, headers={"Location": f"/labs/{name}/{run}"})


@router.get("/{name}/{run}")
async def run_page(
    request: Request, site: Here, visiting: Visiting, name: str, run: str
) -> Response:
    """One run of a lab."""
    lab = lab_called(name)
    page = await aside(_page_of, site, lab, run, visiting.learner)
    fragment = request.headers.get("x-fragment") == "1"
    around = frame(request, page.title, lab.summary, "labs")
    return render("run_state.html" if fragment else "run.html", around, page)


@router.get("/{name}/{run}/samples.json")
async def samples(site: Here, name: str, run: str) -> Response:
    """Everything that is known of a run."""
    file = f'attachment; filename="{run}.json"'
    text = (await aside(_report, site, name, run)).as_json()
    return Response(text, media_type="application/json", headers={"Content-Disposition": file})


@router.get("/{name}/{run}/{number}.{form}")
async def download(site: Here, name: str, run: str, number: int, form: str) -> Response:
    """A figure of a run as a picture that stands alone, or its values."""
    return await aside(_file, site, name, run, number, form)


def _file(site: Site, name: str, run: str, number: int, form: str) -> Response:
    figures = figures_of(lab_called(name), _report(site, name, run))
    return figure_file(list(figures), number, form, run)


def _report(site: Site, name: str, run: str) -> Report:
    report = run_called(site, lab_called(name).name, run).report
    if report is None:
        raise NotFoundError("this run has measured nothing")
    return report


def _page_of(site: Site, lab: Lab, name: str, learner: str) -> RunPage:
    return _page(site, lab, run_called(site, lab.name, name), name, learner)


def _page(site: Site, lab: Lab, kept: Kept, name: str, learner: str) -> RunPage:
    report, row = kept.report, kept.row
    measured = report is not None and bool(report.measures)
    header, *rows = table_of(lab, report) if report and measured else ((),)
    address = f"/labs/{lab.name}/{name}"
    return RunPage(
        lab=Link(f"/labs/{lab.name}", lab.title),
        address=address,
        title=f"{lab.title}, {place_of(report)}" if report else lab.title,
        kind=KINDS[lab.links],
        links=LINKS_SAY[lab.links],
        question=mark(html(lab.question)),
        explains=mark(html(lab.explains)),
        state=kept.state,
        says=_says(kept),
        ahead=_ahead(site, row),
        waits=kept.state in WAITING,
        own=bool(row and learner and row.learner == learner),
        log=kept.log,
        again=f"/labs/{lab.name}?{query_of(json.loads(row.given))}" if row else "",
        back=_back(site, row),
        report=report,
        compared=_compared(lab, kept),
        machine=tuple(_machine(report)) if report else (),
        header=header,
        rows=tuple(rows),
        line=_line(report) if report else "",
        figures=tuple(
            figure_view(figure, address, number)
            for number, figure in enumerate(figures_of(lab, report))
        )
        if report and measured and kept.state == "done"
        else (),
    )


def _says(kept: Kept) -> str:
    """How a run goes, in a sentence or two."""
    cause = kept.cause
    words = STATES.get(kept.state, kept.state)
    return f"{words}: {cause}." if cause else f"{words}."


def _ahead(site: Site, row: LabRunRow | None) -> int:
    if row is None or row.state != QUEUED:
        return 0
    with open_session(site.engine) as session:
        return ahead_of(session, row)


def _back(site: Site, row: LabRunRow | None) -> Link | None:
    """The exercise that the run was made for."""
    if not row or not row.origin:
        return None
    exercise = row.origin.partition("?")[0]
    return Link(f"/exercises/{row.origin}#result", site.catalog.exercise(exercise).title)


def _compared(lab: Lab, kept: Kept) -> Compared | None:
    row, report = kept.row, kept.report
    if not row or row.predicted is None or not report:
        return None
    measure = lab.asked_of(json.loads(row.given))
    found = [one for one in report.measures if one.name == measure]
    known = [("Your prediction", shown(lab, measure, row.predicted))]
    if not found or kept.state != "done":
        return _as_compared(lab, measure, known, "")
    one = found[-1]
    known += _beside(lab, one, row.predicted)
    low, high = shown(lab, measure, one.least), shown(lab, measure, one.p90)
    spread = f"Fastest to p90: {low} to {high}, n = {one.count}." if one.least != one.p90 else ""
    return _as_compared(lab, measure, known, spread)


def _beside(lab: Lab, one: Measure, predicted: float) -> Iterator[tuple[str, str]]:
    """The measurement and the formula, with what each is over the other."""
    held = held_in(lab, one.name)
    if one.predicted is not None:
        yield "Formula", shown(lab, one.name, one.predicted)
    yield HELD[held], shown(lab, one.name, one.held)
    if predicted:
        yield held_over(held, "yours"), ratio_shown(one.held / predicted)
    if one.ratio is not None:
        yield held_over(held, "formula"), ratio_shown(one.ratio)


def _as_compared(lab: Lab, measure: str, known: Sequence[tuple[str, str]], spread: str) -> Compared:
    return Compared(
        what=guess_label(lab, measure),
        header=tuple(heading for heading, _ in known),
        cells=tuple(cell for _, cell in known),
        spread=spread,
    )


def _machine(report: Report) -> Iterator[tuple[str, str]]:
    yield "machine", place_of(report)
    yield "backend", f"{report.backend}, {report.world or report.ranks} ranks"
    yield "system", str(report.machine.get("system"))
    yield from ((name, version) for name, version in report.versions.items())
    yield "load before", str(report.machine.get("load"))


def _line(report: Report) -> str:
    if report.line is None:
        return ""
    second, speed = scale_of("s").unit, scale_of("B/s").unit
    return (
        f"The line that fits the medians best: {amount(report.line.latency, second)} + size / "
        f"{amount(report.line.bandwidth, speed)}, off by {100 * report.line.median_error:.2g} % "
        "in the median."
    )
