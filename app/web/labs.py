"""/labs: what can be measured, and what was, beside what was predicted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from app.errors import NotFoundError, nearest
from app.glossary import mark
from app.labs import Lab, Report, known_labs, lab_called
from app.labs.reading import amount
from app.labs.recording import own_runs, recorded
from app.markdown import html
from app.site import Here, Site
from app.units import scale_of
from app.web.figures import FigureView, figure_file, figure_view
from app.web.measured import figures_of, table_of
from app.web.rendering import Link, frame, render

router = APIRouter(prefix="/labs")
_KINDS = {
    "real": "real links",
    "emulated": "an emulated link",
    "counted": "counted",
}
_LINKS_SAY = {
    "real": "What this machine's links really do, with the spread of the samples.",
    "emulated": "Real messages between real processes, each held for latency + bytes over "
    "bandwidth: the timing of links that this machine need not have.",
    "counted": "Counted, not timed: it must be what the formula says, on any machine.",
}


@dataclass(frozen=True, slots=True)
class LabCard:
    """A lab in the list."""

    name: str
    title: str
    summary: str
    kind: str
    runs: int


@dataclass(frozen=True, slots=True)
class LabList:
    """All labs."""

    cards: tuple[LabCard, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list."""

    href: str
    machine: str
    what: str
    at: str
    own: bool


@dataclass(frozen=True, slots=True)
class LabPage:
    """One lab, and its runs."""

    lab: Lab
    kind: str
    links: str
    question: Markup
    explains: Markup
    parameters: tuple[tuple[str, str, str], ...]
    command: str
    runs: tuple[RunRow, ...]
    sources: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run: predicted and measured side by side."""

    lab: Link
    title: str
    kind: str
    links: str
    question: Markup
    explains: Markup
    report: Report
    machine: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: str
    figures: tuple[FigureView, ...]


@router.get("")
async def lab_list(request: Request, site: Here) -> Response:
    """Every lab."""
    runs = _runs(site)
    cards = tuple(
        LabCard(
            lab.name, lab.title, lab.summary, _KINDS[lab.links],
            sum(report.lab == lab.name for report in runs),
        )
        for lab in known_labs().values()
    )  # fmt: skip
    says = "Predict a number of distributed training, then measure it with PyTorch."
    return render("labs.html", frame(request, "Labs", says, "labs"), LabList(cards))


@router.get("/{name}")
async def lab_page(request: Request, site: Here, name: str) -> Response:
    """One lab."""
    lab = lab_called(name)
    runs = [report for report in _runs(site) if report.lab == lab.name]
    own = {report.id for report in recorded()}
    least, most, start = lab.ranks
    parameters = [("ranks", f"{least} to {most}", str(start))] if most > 1 else []
    parameters += [
        (key, one.says + (f": {', '.join(one.one_of)}" if one.one_of else ""), str(one.start))
        for key, one in lab.parameters.items()
    ]
    page = LabPage(
        lab,
        _KINDS[lab.links],
        _LINKS_SAY[lab.links],
        mark(html(lab.question)),
        mark(html(lab.explains)),
        tuple(parameters),
        f"wallclock lab run {lab.name}",
        tuple(_row(report, own=report.id not in own) for report in runs),
        tuple(Link(url, url.split("//", 1)[1]) for url in lab.sources),
    )
    return render("lab.html", frame(request, lab.title, lab.summary, "labs"), page)


@router.get("/{name}/{run}")
async def run_page(request: Request, site: Here, name: str, run: str) -> Response:
    """One run of a lab."""
    lab, report = lab_called(name), _run(site, name, run)
    header, *rows = table_of(lab, report)
    page = RunPage(
        Link(f"/labs/{lab.name}", lab.title),
        f"{lab.title}, {_place(report)}",
        _KINDS[lab.links],
        _LINKS_SAY[lab.links],
        mark(html(lab.question)),
        mark(html(lab.explains)),
        report,
        tuple(_machine(report)),
        header,
        tuple(rows),
        _line(report),
        tuple(
            figure_view(figure, f"/labs/{lab.name}/{report.id}", number)
            for number, figure in enumerate(figures_of(lab, report))
        ),
    )
    return render("run.html", frame(request, page.title, lab.summary, "labs"), page)


@router.get("/{name}/{run}/samples.json")
async def samples(site: Here, name: str, run: str) -> Response:
    """Everything that is known of a run."""
    file = f'attachment; filename="{run}.json"'
    text = _run(site, name, run).as_json()
    return Response(text, media_type="application/json", headers={"Content-Disposition": file})


@router.get("/{name}/{run}/{number}.{form}")
async def download(site: Here, name: str, run: str, number: int, form: str) -> Response:
    """A figure of a run as a picture that stands alone, or its values."""
    lab, report = lab_called(name), _run(site, name, run)
    return figure_file(list(figures_of(lab, report)), number, form, run)


def _runs(site: Site) -> Sequence[Report]:
    """Recorded ones and those of this machine."""
    return [*own_runs(site.settings.runs), *recorded()]


def _run(site: Site, name: str, run: str) -> Report:
    known = {report.id: report for report in _runs(site) if report.lab == name}
    if run not in known:
        raise NotFoundError(f"{name} has no run {run[:80]!r}{nearest(run[:80], known)}")
    return known[run]


def _row(report: Report, *, own: bool) -> RunRow:
    what = report.command.removeprefix(f"wallclock lab run {report.lab} ")
    return RunRow(f"/labs/{report.lab}/{report.id}", _place(report), what, report.at[:10], own)


def _place(report: Report) -> str:
    """The machine of a run, in a few words."""
    gpus = report.machine.get("gpus")
    if report.backend == "nccl" and isinstance(gpus, list) and gpus:
        return f"{report.ranks} × {gpus[0]}"
    return f"{report.machine.get('processor')}, {report.machine.get('cores')} cores"


def _machine(report: Report) -> Iterator[tuple[str, str]]:
    yield "machine", _place(report)
    yield "backend", f"{report.backend}, {report.world or report.ranks} ranks"
    yield "system", str(report.machine.get("system"))
    yield from ((name, version) for name, version in report.versions.items())
    yield "load before", str(report.machine.get("load"))


def _line(report: Report) -> str:
    if report.line is None:
        return ""
    second, speed = scale_of("s").unit, scale_of("B/s").unit
    return (
        f"The line that fits best: {amount(report.line.latency, second)} + size / "
        f"{amount(report.line.bandwidth, speed)}, off by {100 * report.line.median_error:.2g} % "
        "in the median."
    )
