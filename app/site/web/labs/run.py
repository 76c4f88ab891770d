"""/labs/LAB/RUN: one run, in the queue, running or finished; and its cancellation."""

import time
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from fastapi import Request, Response
from markupsafe import Markup

from app.core.errors import InputError, NotFoundError, sentence
from app.core.translation import translate
from app.course.content.errata import mark
from app.labs.results.report import WHAT_TO_DO, Report
from app.labs.spec import Lab, known_labs, lab_called, read_job
from app.server.aside import aside
from app.server.db.lab_runs import ahead_of, request_cancel
from app.server.db.run_state import UNFINISHED, RunState
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.labs.words import localized_note, translate_lab
from app.site.markdown import html
from app.site.web.explore.figures import FigureView, figure_file, figure_view
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting
from app.site.web.labs import predictions
from app.site.web.labs import tables as lab_tables
from app.site.web.labs.results import RunResult, report_called, run_called
from app.site.web.urls import exercise_url, lab_url, run_url

router = Router(prefix="/labs")
_LONGEST = 200  # characters of a prediction
_TIMES = "\N{NO-BREAK SPACE}×"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """One run, whatever its state."""

    lab: Hyperlink
    address: str
    title: str
    kind: str
    links: str
    measures: str
    question: Markup
    explains: Markup
    state: RunState
    says: str
    cure: str
    underway: lab_tables.UnderwayView | None
    ahead: int
    waits: bool
    own: bool
    log: str
    again: str
    back: Hyperlink | None
    report: Report | None
    doubts: tuple[str, ...]
    what_to_do: str
    notes: tuple[str, ...]
    compared: predictions.GuessTable | None
    machine: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tables: tuple[lab_tables.MeasuredTable, ...]
    line: str
    figures: tuple[FigureView, ...]


@router.post("/{name}/{run}/cancel", dependencies=[FromHere])
async def cancel(site: Here, visiting: Visiting, name: str, run: str) -> Response:
    """Cancel a run; only the learner who started it may."""
    result = await aside(run_called, site, lab_called(name).name, run)
    if not result.row or not visiting.learner or result.row.learner != visiting.learner:
        raise NotFoundError(translate("you did not start a run of that name, so you cannot cancel it"))
    await aside(request_cancel, site.engine, run)
    site.labs.wake()
    return Response(status_code=303, headers={"Location": run_url(name, run)})


@router.get("/{name}/{run}")
def run_page(request: Request, site: Here, visiting: Visiting, name: str, run: str) -> Response:
    """Show one run of a lab."""
    lab = translate_lab(lab_called(name))
    guess = request.query_params.get("guess", "")[:_LONGEST]
    result = run_called(site, lab.name, run)
    page = _labs_run_page(site, lab, result, run, visiting.learner)
    if guess.strip() and not page.compared:
        try:
            page = replace(page, compared=predictions.guess_afterwards(lab, result, guess))
        except InputError as error:
            page = replace(page, notes=(*page.notes, sentence(str(error))))
    fragment = request.headers.get("x-fragment") == "1"
    path = page.address if page.report and page.report.measures else lab_url(lab.name)
    around = frame(request, page.title, lab.summary, "labs", path)
    return render("labs/run_state.html" if fragment else "labs/run.html", around, page)


@router.get("/{name}/{run}/samples.json")
async def samples(site: Here, name: str, run: str) -> Response:
    """The report of a run, with every sample."""
    file = f'attachment; filename="{run}.json"'
    text = (await aside(report_called, site, lab_called(name).name, run)).as_json()
    return Response(text, media_type="application/json", headers={"Content-Disposition": file})


@router.get("/{name}/{run}/{number}.{form}")
def download_run_figure(site: Here, name: str, run: str, number: int, form: str) -> Response:
    """A figure of a run as an SVG file, or its values as CSV."""
    report = report_called(site, lab_called(name).name, run)
    figures = lab_tables.lab_figures(translate_lab(lab_called(name)).run_over(report.backend), report)
    return figure_file(list(figures), number, form, run)


def _labs_run_page(site: Site, of: Lab, result: RunResult, name: str, learner: str) -> RunPage:
    report, row = result.report, result.row
    lab = of.run_over(report.backend if report else row.backend if row else "")
    measured = report is not None and bool(report.measures)
    header, *rows = lab_tables.lab_table(lab, report) if report and measured and not report.pairs else ((),)
    address = run_url(lab.name, name)
    given = row.parameters if row else report.given if report else lab.starts
    guess = lab_tables.LabGuess(lab.asked_of(given), row.predicted) if row and row.predicted is not None else None
    backend = {predictions.BACKEND: row.backend} if row and known_labs()[lab.name].gpu else {}
    return RunPage(
        lab=Hyperlink(lab_url(lab.name), lab.title),
        address=address,
        title=f"{lab.title}, {predictions.machine_of(report).replace(' ×', _TIMES)}" if report else lab.title,
        kind=translate(predictions.KINDS[lab.links]),
        links=translate(predictions.LINKS_SAY[lab.links]),
        measures=predictions.measured_in_words(lab, given),
        question=mark(html(lab.question)),
        explains=mark(html(lab.explains)),
        state=result.state,
        says=translate(predictions.STATES[result.state]) + (f": {result.cause}." if result.cause else "."),
        cure=translate(predictions.CURES[result.state]) if result.state in predictions.CURES else "",
        underway=lab_tables.underway_view(read_job(lab, given), report, time.time())
        if row and result.state is RunState.RUNNING
        else None,
        ahead=_ahead(site, row),
        waits=result.state in UNFINISHED,
        own=bool(row and learner and row.learner == learner),
        log=result.log,
        again=f"{lab_url(lab.name)}?{urlencode({**row.parameters, **backend})}" if row else "",
        back=_back(site, row),
        report=report,
        doubts=tuple(map(localized_note, report.doubts)) if report else (),
        what_to_do=translate(WHAT_TO_DO),
        notes=tuple(map(localized_note, report.notes if report else row.sentences if row else ())),
        compared=predictions.guess_beside_run(lab, result),
        machine=tuple(lab_tables.what_matters(report)) if report else (),
        header=header,
        rows=tuple(rows),
        tables=tuple(lab_tables.more_tables(report)) if report else (),
        line=lab_tables.line_in_words(report) if report else "",
        figures=tuple(
            figure_view(figure, address, number)
            for number, figure in enumerate(lab_tables.lab_figures(lab, report, guess))
        )
        if report and measured and result.state == RunState.DONE
        else (),
    )


def _ahead(site: Site, row: LabRunRow | None) -> int:
    if row is None or row.state != RunState.QUEUED:
        return 0
    with open_session(site.engine) as session:
        return ahead_of(session, row)


def _back(site: Site, row: LabRunRow | None) -> Hyperlink | None:
    """The exercise that the run was made for."""
    if not row or not row.origin:
        return None
    exercise = row.origin.partition("?")[0]
    return Hyperlink(f"{exercise_url(row.origin)}#result", site.catalog.exercise(exercise).title)
