"""/labs/LAB: the page of one lab, with its form for a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from app.core.errors import InputError, UnavailableError, input_error, sentence
from app.core.translation import Numeral, foreign, noted, plural, translate, translate_known
from app.course.content.errata import mark
from app.labs.launch.base import plan_job, ranks_on
from app.labs.machines.devices import Devices
from app.labs.run import new_name
from app.labs.spec import NODES, RANKS, Lab, lab_called
from app.server.aside import aside, current_payer
from app.server.db.lab_runs import enqueue, keep_sent
from app.server.db.tables import LabRunRow
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.labs.match import BORROWING
from app.site.labs.upload import FILE_LIMIT, read_sent_file, sent_row
from app.site.labs.words import localized_note, translate_lab
from app.site.markdown import html
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.labs import predictions
from app.site.web.labs.results import RunResult, list_finished_runs
from app.site.web.urls import exercise_url, lab_url, run_url

_PROCESSORS = noted("Processors, over gloo")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabParameterField:
    """A parameter in the form."""

    name: str
    says: str
    value: str
    bounds: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """A *lab* as it would run over *backend*, which is empty where there is no choice of one.

    *notes* say why it would run like that.
    """

    lab: Lab
    backend: str
    choices: tuple[tuple[Hyperlink, bool], ...]  # a form for each backend, and whether it is chosen
    notes: tuple[str, ...]
    fields: tuple[LabParameterField, ...]


def run_form(site: Site, lab: Lab, values: Mapping[str, str]) -> RunForm:
    """The form for *lab* with the *values* that were typed or are in the address."""
    devices = site.labs.devices() if lab.gpu else Devices()
    if lab.gpu is None or devices.usable < lab.gpu.ranks[0]:
        notes = () if site.labs.trouble else plan_job(lab, {}, "auto", lambda: devices).notes
        fields = tuple(_fields(site, lab, values, lab.ranks))
        return RunForm(lab=lab, backend="", choices=(), notes=tuple(map(localized_note, notes)), fields=fields)
    on_gpus = values.get(predictions.BACKEND) != "gloo"
    form = lab.gpu if on_gpus else lab
    ranks = (form.ranks[0], min(form.ranks[1], devices.usable), ranks_on(form, devices))
    return RunForm(
        lab=form,
        backend="nccl" if on_gpus else "gloo",
        choices=_choices(lab, lab.gpu, devices, on_gpus=on_gpus),
        notes=tuple(map(localized_note, plan_job(lab, {}, "nccl", lambda: devices).notes)) if on_gpus else (),
        fields=tuple(_fields(site, form, values, ranks if on_gpus else form.ranks, on_gpus=on_gpus)),
    )


def _choices(lab: Lab, form: Lab, devices: Devices, *, on_gpus: bool) -> tuple[tuple[Hyperlink, bool], ...]:
    most = min(form.ranks[1], devices.usable)
    gpus = plural("{number} GPU", "{number} GPUs", most)
    if most != form.ranks[0]:
        gpus = translate("Up to {gpus}", gpus=gpus)
    nccl = Hyperlink(f"{lab_url(lab.name)}?{predictions.BACKEND}=nccl", translate("{gpus}, over NCCL", gpus=gpus))
    gloo = Hyperlink(f"{lab_url(lab.name)}?{predictions.BACKEND}=gloo", translate(_PROCESSORS))
    return (nccl, on_gpus), (gloo, not on_gpus)


def _fields(
    site: Site, lab: Lab, values: Mapping[str, str], ranks: tuple[int, int, int], *, on_gpus: bool = False
) -> Iterator[LabParameterField]:
    least, most, start = ranks
    if most > least:
        yield LabParameterField(
            name=RANKS,
            says=translate("ranks, one GPU each") if on_gpus else translate("processes"),
            value=values.get(RANKS, str(start)),
            bounds=translate("{least} to {most}", least=least, most=most),
            options=(),
        )
    nodes = min(most, site.labs.launcher.most_nodes)
    if nodes > 1 and lab.links != "emulated":
        yield LabParameterField(
            name=NODES,
            says=translate("nodes"),
            value=values.get(NODES, ""),
            bounds=translate("1 to {nodes}; empty: as few as have room for the ranks", nodes=nodes),
            options=(),
        )
    for name, one in lab.parameters.items():
        bounds = "" if one.one_of else translate("{least} to {most}", least=one.least, most=one.most)
        text = str(one.start)
        first = text if one.several or one.one_of else Numeral(text)  # as the page writes numbers
        several = translate("; several with commas, or a range as in A..B") if one.several else ""
        yield LabParameterField(
            name=name, says=one.says, value=values.get(name, first), bounds=f"{bounds}{several}", options=one.one_of
        )


router = Router(prefix="/labs")
_PARAMETER = "run."  # before a parameter's name in a form
_GLOO = " --backend gloo"  # nccl is the default where there is a choice
_RUN = 50_000  # bytes of a run and its results
_LONGEST = 200  # characters of a field


@dataclass(frozen=True, slots=True, kw_only=True)
class RunItem:
    """A run in a list."""

    href: str
    machine: str
    what: str
    result: str
    at: str
    origin: str


@router.get("/{name}")
def lab_page(request: Request, site: Here, name: str) -> Response:
    """Show one lab; parameters in the query string are filled in."""
    lab = translate_lab(lab_called(name))
    return _shown_lab(request, site, lab, request.query_params)


@router.post("/{name}", dependencies=[FromHere])
async def start(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """Put a run into the queue, with the learner's prediction for it."""
    lab = translate_lab(lab_called(name))
    form = await request.form(max_files=0, max_fields=60)
    fields = {key: value[:_LONGEST] for key, value in form.items() if isinstance(value, str)}
    learner = visitor_learner(visiting)
    spend(site.allowances.runs, "lab runs")
    spend_storage(site, _RUN)
    nearby = site.labs.runs_of(current_payer().site)
    try:
        row = await aside(_row_of, site, lab, fields, learner)
        nearby.append(row.name)
        await aside(enqueue, site.engine, row, site.labs.most, tuple(nearby))
    except (InputError, UnavailableError) as error:
        values = {key.removeprefix(_PARAMETER): text for key, text in fields.items()}
        return await aside(_shown_lab, request, site, lab, values, error)
    site.labs.wake()
    response = Response(status_code=303, headers={"Location": run_url(lab.name, row.name)})
    remember(request, response, learner, site.secret)
    return response


def _shown_lab(
    request: Request,
    site: Site,
    lab: Lab,
    values: Mapping[str, str],
    error: InputError | UnavailableError | None = None,
    *,
    of_file: bool = False,
) -> Response:
    """The page of *lab*, with the *values* in its form, and the *error* in them or *of_file* that was sent."""
    if isinstance(error, UnavailableError):
        note_trouble(request, error, error.cause)
    problem = sentence(str(error)) if error else ""
    form = run_form(site, lab, {} if site.labs.trouble else values)  # then it lists the defaults
    shown = form.lab
    asked = shown.asked_of(shown.starts)
    results = list_finished_runs(site, lab.name)
    reports = [one.report for one in results if one.report]
    return render(
        "labs/lab.html",
        frame(request, lab.title, lab.summary, "labs", lab_url(lab.name)),
        shown,
        200 if error is None else 422 if isinstance(error, InputError) else 503,
        kind=translate(predictions.KINDS[shown.links]),
        how=translate(predictions.LINKS_SAY[shown.links]),
        question=mark(html(shown.question)),
        explains=mark(html(shown.explains)),
        form=form,
        asks=predictions.guess_label(shown, asked),
        unit=shown.measures[asked].unit,
        guess=values.get("guess", ""),
        trouble=site.labs.trouble,
        problem="" if of_file else problem,
        command=f"wallclock lab run {lab.name}{_GLOO if form.backend == 'gloo' else ''}",
        runs=tuple(_run_items(lab, results)),
        recorded=predictions.recorded_run(lab, reports) if site.labs.trouble else None,
        limit=f"{FILE_LIMIT // 1024} KiB",
        refused=problem if of_file else "",
        sources=tuple(Hyperlink(url, url.split("//", 1)[1]) for url in shown.sources),
        # Those for which tests of others can be taken.
        exercises=tuple(
            Hyperlink(exercise_url(one.id), one.title, foreign(one.language))
            for one in site.catalog.exercises
            if lab.name == one.runs_lab == BORROWING
        ),
    )


def _run_items(lab: Lab, runs: Sequence[RunResult]) -> Iterator[RunItem]:
    for result in runs:
        if report := result.report:
            what = " ".join(f"{name}={text}" for name, text in report.given.items())
            short = what if len(what) <= _LONGEST else f"{what[: _LONGEST - 1]}…"
            href = run_url(report.lab, report.id)
            yield RunItem(
                href=href,
                machine=predictions.machine_of(report),
                what=short,
                result=predictions.measured_beside_formula(lab, report),
                at=report.at[:10],
                origin=translate_known(result.origin),
            )


def _row_of(site: Site, lab: Lab, fields: dict[str, str], learner: str) -> LabRunRow:
    """The row of the run that a learner requests.

    Raises:
        InputError: a parameter or the prediction cannot be read, or it cannot run like that.
        UnavailableError: nothing can be run here.
    """
    if site.labs.trouble:
        raise UnavailableError(site.labs.trouble)
    plan = site.labs.plan(lab, _given(lab, fields), _backend(fields))
    job = plan.job
    predicted = predictions.read_run_prediction(job.lab, job.lab.asked_of(job.given), fields.get("guess", ""))
    origin = fields.get("origin", "")  # the exercise that it is for, as "ID?seed=N"
    exercise, _, seed = origin.partition("?seed=")
    is_known = any(one.id == exercise for one in site.catalog.exercises) and (seed.isdigit() or not seed)
    name = new_name(lab.name)
    return LabRunRow(
        name=name,
        lab=lab.name,
        given=json.dumps(dict(job.given)),
        backend=plan.backend,
        host=site.labs.launcher.host,
        pool=site.labs.launcher.pool_of(name, plan.backend),
        notes=json.dumps(plan.notes),
        learner=learner,
        origin=origin if is_known else "",
        predicted=predicted,
    )


def _given(lab: Lab, fields: Mapping[str, str]) -> dict[str, str]:
    """The parameters that were typed, as every page and command reads them.

    Raises:
        InputError: one may be one number or another.
    """
    typed = {
        key.removeprefix(_PARAMETER): text.strip()
        for key, text in fields.items()
        if key.startswith(_PARAMETER) and text.strip()
    }
    return {name: predictions.read_typed_parameter(lab, name, text) for name, text in typed.items()}


def _backend(fields: Mapping[str, str]) -> str:
    """The backend that a form asks for; a form without the choice leaves it to the server."""
    asked = fields.get(predictions.BACKEND, "auto")
    if asked not in ("auto", "nccl", "gloo"):
        raise input_error("no backend is called {asked!r}; there are nccl and gloo", asked=asked[:60])
    return asked


@router.post("/{name}/board", dependencies=[FromHere])
async def take_run(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """Store a run of another machine; further runs in the file are of other labs."""
    lab, learner = translate_lab(lab_called(name)), visitor_learner(visiting)
    spend(site.allowances.sent_runs, "sent runs")
    try:
        text = await _sent_text(request)
        rows = await aside(_sent_rows, lab, text, learner)
        spend_storage(site, len(text))
        if len(rows) > 1:
            spend(site.allowances.sent_runs, "sent runs", len(rows) - 1)
        for row in rows:
            await aside(keep_sent, site.engine, row)
    except (InputError, UnavailableError) as error:
        return await aside(_shown_lab, request, site, lab, {}, error, of_file=True)
    response = Response(status_code=303, headers={"Location": run_url(lab.name, rows[0].name)})
    remember(request, response, learner, site.secret)
    return response


async def _sent_text(request: Request) -> str:
    async with request.form(max_files=1, max_fields=2) as form:
        file = form.get("run")
        sent = await file.read() if isinstance(file, UploadFile) else str(file or "").encode()
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        raise input_error("this file is not UTF-8 text") from None
    if not text.strip():
        raise input_error("choose a file written by `wallclock lab run ... --json`")
    return text


def _sent_rows(lab: Lab, text: str, learner: str) -> Sequence[LabRunRow]:
    """The runs in a file, those of *lab* first."""
    reports = sorted(read_sent_file(text), key=lambda report: report.lab != lab.name)
    if reports[0].lab != lab.name:
        raise input_error("this is a run of {lab}, but this is the page of {name}", lab=reports[0].lab, name=lab.name)
    return [sent_row(report, new_name(report.lab), learner) for report in reports]
