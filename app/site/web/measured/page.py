"""/measured: what a visitor's own job printed, and published measurements to compare with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fastapi import Request, Response
from markupsafe import Markup

from app.core.charts.axes import Axis
from app.core.charts.plot import Plot, Series
from app.core.charts.style import Color
from app.core.errors import AppError, InputError, NotFoundError, nearest, sentence
from app.core.formulas.presets import Cluster
from app.core.measurements.comparison import compare_test
from app.core.measurements.file_reader import Report
from app.core.measurements.packed_files import PACKED_LIMIT
from app.core.measurements.published import PublishedMeasurement, published_logs, published_tests, text_of
from app.core.measurements.reports import CollectiveTest, TrainingLog
from app.core.translation import language, localized, noted, translate
from app.core.units import BYTE_PER_SECOND, show
from app.labs.results.analysis import own_runs, shipped_runs
from app.server.aside import aside
from app.server.db.measurements import is_measurement_name
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore.figures import BOTH, drawn_on, figure_file
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, spend
from app.site.web.measured.figures import FAMILIES, SIZE, bandwidth_points, family, figures_of_test, neighbors
from app.site.web.measured.saved_measurement import SaveOffer, save_offer, saved_links, saved_page
from app.site.web.measured.trace_view import TraceView
from app.site.web.measured.traces import UploadReader
from app.site.web.measured.views import ADDRESS, NAMES, RECORDS, ReportView, report_view, view_of_log, view_of_test

_COLORS = (Color.BLUE, Color.ORANGE, Color.GREEN, Color.PURPLE, Color.GRAY)
_FEWEST = 5  # sizes of a curve

Found = Sequence[tuple[PublishedMeasurement, CollectiveTest]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTestRow:
    """A published test in the list of its collective."""

    name: Hyperlink
    source: Hyperlink
    hardware: str
    ranks: str
    reached: str
    share: str
    doubtful: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroup:
    """The published tests of a collective, and a figure of the best one on each GPU."""

    title: str
    figure_title: str
    figure: Markup
    rows: tuple[PublishedTestRow, ...]


@cache
def published_hardware() -> tuple[str, ...]:
    """The GPUs of the published tests, the newest first."""
    found = {family(one.hardware) for one in published_tests().values()}
    return tuple(name for name in FAMILIES if name in found)


def published_groups(hardware: str = "") -> tuple[PublishedGroup, ...]:
    """The published tests by collective, or those on *hardware*; the fastest come first."""
    return _listed(language(), hardware if hardware in published_hardware() else "")


@cache
def _listed(spoken: str, hardware: str) -> tuple[PublishedGroup, ...]:
    return tuple(_groups(hardware))


def _groups(hardware: str) -> Iterator[PublishedGroup]:
    for collective, title in NAMES.items():
        found = [
            (one, one.report)
            for one in published_tests().values()
            if isinstance(one.report, CollectiveTest)
            and one.report.collective == collective
            and hardware in {"", family(one.hardware)}
        ]
        found.sort(key=lambda pair: -_best(pair[1]))
        if found:
            figure = _figure(title, found, hardware)
            yield PublishedGroup(
                title=title,
                figure_title=figure.title,
                figure=drawn_on(BOTH, figure),
                rows=tuple(_test_list_row(one, test) for one, test in found),
            )


def _figure(title: str, found: Found, hardware: str) -> Plot:
    """The bus bandwidth by size, of the fastest on each GPU; on one GPU, of the fastest."""
    fastest: dict[str, Series] = {}
    for one, test in found:
        gpu = one.name if hardware else family(one.hardware)
        if gpu in fastest or len(test.rows) < _FEWEST or len(fastest) == len(_COLORS):
            continue
        color = _COLORS[len(fastest)]
        fastest[gpu] = Series(color, one.name, bandwidth_points(test))
    return Plot(
        title=translate("{title}: the fastest on {hardware}", title=title, hardware=hardware)
        if hardware
        else translate("{title}: the fastest on each GPU", title=title),
        summary=translate("Bus bandwidth over the size of the array"),
        x=SIZE,
        y=Axis(translate("bus bandwidth"), BYTE_PER_SECOND, log=True),
        series=tuple(fastest.values()),
    )


def _best(test: CollectiveTest) -> float:
    return max((row.busbw for row in test.rows), default=0.0)


def _test_list_row(one: PublishedMeasurement, test: CollectiveTest) -> PublishedTestRow:
    comparison = compare_test(test)
    return PublishedTestRow(
        name=Hyperlink(f"{ADDRESS}/{one.name}", one.name),
        source=Hyperlink(one.address, "/".join(one.address.split("/")[2:5])),
        hardware=one.hardware,
        ranks=f"{test.ranks:,}" if test.ranks else translate("unknown"),
        reached=show(_best(test), BYTE_PER_SECOND, 3),
        share=f"{100 * comparison.share:.0f} %" if comparison else "",
        doubtful=bool(test.doubts),
    )


router = Router(prefix=ADDRESS)
_TITLE = noted("Your own measurements")
_LEAD = noted(
    "Paste what nccl-tests printed or the log of a training run, and see it beside the "
    "wire, the formulas and the measurements of others."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPage:
    """The form, the reports of what was sent, and the published measurements."""

    reports: tuple[SaveOffer[ReportView], ...] = ()
    traces: tuple[SaveOffer[TraceView], ...] = ()
    problem: str = ""
    fields: dict[str, str]
    hardware: str = ""
    known: tuple[str, ...] = ()
    limit: str = f"{PACKED_LIMIT >> 20} MiB"
    groups: tuple[PublishedGroup, ...] = ()
    logs: tuple[tuple[Hyperlink, str], ...] = ()
    saved: tuple[tuple[Hyperlink, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPage:
    """A published measurement."""

    one: PublishedMeasurement
    view: ReportView
    text: str


@router.get("")
async def show_measured(request: Request, site: Here, visiting: Visiting, hardware: str = "") -> Response:
    """The form, and the lists of saved and of published measurements."""
    saved = await aside(saved_links, site, visiting.learner) if visiting.learner else ()
    return await aside(_measured_page, request, MeasuredPage(fields={}, saved=saved, hardware=hardware))


@router.post("", dependencies=[FromHere])
async def compare_files(request: Request, site: Here) -> Response:
    """Read what was sent; nothing of it is kept."""
    spend(site.allowances.sent_runs, "files")
    reader: UploadReader = request.app.state.upload_reader
    try:
        sent = await reader.read(request)
        cluster = await aside(_cluster, sent.fields)
        views = [await aside(_offered, site, one, sent.fields, cluster) for one in sent.reports]
    except InputError as error:
        return await aside(_measured_page, request, MeasuredPage(fields={}, problem=_says(error)), 422)
    found = MeasuredPage(
        reports=tuple(one for one in views if isinstance(one.view, ReportView)),
        traces=tuple(one for one in views if isinstance(one.view, TraceView)),
        fields={**_said(sent.reports), **{k: text for k, text in sent.fields.items() if text}},
    )
    return await aside(_measured_page, request, found)


@router.get("/{name}/{number}.{form}")
async def download_test_figure(name: str, number: int, form: str) -> Response:
    """A figure of a published test as an SVG file, or its values as CSV."""
    return await aside(_file, name, number, form)


@router.get("/{name}")
async def show_measurement(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One published measurement, or one that was saved."""
    if is_measurement_name(name):
        return await aside(saved_page, request, site, visiting, name)
    return await aside(_published, request, name)


def _offered(site: Site, report: Report, fields: dict[str, str], cluster: Cluster | None) -> SaveOffer[Any]:
    runs = [*own_runs(site.settings.runs), *shipped_runs()]
    return save_offer(site, report, report_view(report, fields, cluster, runs), fields)


def _said(reports: Sequence[Report]) -> dict[str, str]:
    """What the log says of its model, cluster and layout, if there is one log."""
    logs = [one for one in reports if isinstance(one, TrainingLog)]
    return {name: getattr(logs[0], name) for name in RECORDS} if len(logs) == 1 else {}


def _cluster(fields: dict[str, str]) -> Cluster | None:
    given = fields.get("cluster", "").strip()
    try:
        return Cluster.read(given) if given else None
    except ValueError as error:
        raise InputError(localized(str(error))) from error


def _says(error: AppError) -> str:
    return sentence(str(error))


def _measured_page(request: Request, page: MeasuredPage, status: int = 200) -> Response:
    page = replace(
        page,
        fields={name: page.fields.get(name, "") for name in RECORDS},
        groups=published_groups(page.hardware),
        known=published_hardware(),
        logs=tuple((Hyperlink(f"{ADDRESS}/{one.name}", one.name), one.hardware) for one in published_logs().values()),
    )
    return render("measured/measured.html", frame(request, translate(_TITLE), translate(_LEAD), "labs"), page, status)


def _named(name: str) -> PublishedMeasurement:
    known = {**published_tests(), **published_logs()}
    if name not in known:
        raise NotFoundError(
            translate("no published measurement is called {name!r}{near}", name=name, near=nearest(name, known))
        )
    return known[name]


def _published(request: Request, name: str) -> Response:
    one = _named(name)
    match one.report:
        case CollectiveTest():
            view = view_of_test(one.report, None, name)
        case TrainingLog():
            view = view_of_log(one.report, {})
        case _:
            raise NotFoundError(translate("{name} has nothing to show", name=name))
    page = PublishedPage(one=one, view=view, text=text_of(name))
    around = frame(request, f"{view.title}: {name}", f"{view.title}, {one.hardware}", "labs")
    return render("measured/published.html", around, page)


def _file(name: str, number: int, form: str) -> Response:
    report = _named(name).report
    figures: Sequence[object] = ()
    if isinstance(report, CollectiveTest):
        figures = list(figures_of_test(report, compare_test(report), neighbors(report, name)))
    return figure_file(figures, number, form, name)  # type: ignore[arg-type]
