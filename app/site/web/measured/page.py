"""/measured: what a visitor's own job printed or recorded, beside what others measured."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Message

from app.core.charts.axes import Axis, Color
from app.core.charts.plot import Plot, Series
from app.core.errors import InputError, NotFoundError, input_error, nearest, sentence
from app.core.formulas.configurations import CONFIGURATION_LIMIT, is_configuration
from app.core.formulas.presets import Cluster
from app.core.measurements import published
from app.core.measurements.file_reader import Report
from app.core.measurements.packed_files import PACKED_LIMIT
from app.core.measurements.pieces import compare_test
from app.core.measurements.reports import CollectiveTest, MemoryShortage, TrainingLog
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.report import TraceReport
from app.core.translation import language, localize, noted, translate
from app.core.units import BYTE_PER_SECOND, in_english, show
from app.course.explorers.placements import model_value
from app.course.explorers.states import ConfiguredState
from app.server.aside import aside, current_payer, lift_ceiling
from app.server.aside.jobs import BoundedJobs
from app.server.aside.measured_files import measured_apart
from app.server.db.measurements import is_measurement_name
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.explore.explorer_page import render_run
from app.site.web.explore.figures import BOTH, drawn_on, figure_file
from app.site.web.explore.layouts import read_pasted
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, spend
from app.site.web.measured import views
from app.site.web.measured.figures import SIZE, bandwidth_points, family, figures_of_test, neighbors
from app.site.web.measured.saved_measurement import SaveOffer, save_offer, saved_links, saved_page
from app.site.web.measured.trace_view import TraceView, predicted_tolls, trace_view
from app.site.web.urls import explorer_url

_AT_ONCE = 2
_WAITING = 5  # requests of one payer
_MOST_OF_ONE, _MOST_NEARBY, _MOST_OF_ALL = 256 << 20, 1 << 30, 2 << 30  # bytes on the disk: of a payer, a site, all
_AGAIN = 10  # seconds after which to ask again
_BUSY = noted("other files are being read; send yours again in a moment")
_MOST_FILES = 64
_MOST_TEXT = 4 << 20  # bytes that are pasted
_PIECE = 1 << 20
_NAME = re.compile(r"[^\w.+ -]+")
_LONGEST = 60  # characters of a file's name
_PASTED = "what you pasted"


@dataclass(frozen=True, slots=True)
class Upload:
    """What a form had: the reports of its files, the other fields, and the *text* of a first short file."""

    reports: tuple[Report, ...]
    fields: dict[str, str]
    text: str = ""


class UploadReader:
    """Reads what visitors send, once all of it has arrived; nothing is stored."""

    def __init__(self) -> None:
        self._jobs = BoundedJobs[None, list[Report]](_BUSY, at_once=_AT_ONCE, waiting=_WAITING)
        self._arriving: Counter[str] = Counter()  # bytes, by the site that they come from
        self._of_one: Counter[str] = Counter()  # bytes, by the lane of the payer

    async def read(self, request: Request) -> Upload:
        """The reports of the files and the text in the form of *request*.

        Raises:
            InputError: nothing was sent, or reading takes too much.
            HTTPException: 503, if too much of the same payer, or of all, arrives or waits.
        """
        with TemporaryDirectory(prefix="wallclock-") as folder, self._counting() as counted:
            paths, fields = await _received(counted(request), Path(folder))
            if not paths:
                raise input_error("paste the output of a test or a log, or choose a file")
            lift_ceiling()  # reading has one of its own
            text = await aside(_short_text, paths[0])
            return Upload(tuple(await self._jobs.run(lambda: asyncio.to_thread(measured_apart, paths))), fields, text)

    @contextmanager
    def _counting(self) -> Iterator[Callable[[Request], Request]]:
        """A request whose body is counted as it arrives, until all of it has been read."""
        site, lane, arrived = current_payer().site, current_payer().lane.name, 0

        def counted(request: Request) -> Request:
            async def receive() -> Message:
                nonlocal arrived
                message = await request.receive()
                size = len(message.get("body", b""))
                arrived += size
                self._arriving[site] += size
                self._of_one[lane] += size
                nearby, total = self._arriving[site], self._arriving.total()
                if self._of_one[lane] > _MOST_OF_ONE or nearby > _MOST_NEARBY or total > _MOST_OF_ALL:
                    raise HTTPException(503, translate(_BUSY), {"Retry-After": str(_AGAIN)})
                return message

            return Request(request.scope, receive)

        try:
            yield counted
        finally:
            self._arriving[site] -= arrived
            self._of_one[lane] -= arrived
            self._arriving, self._of_one = +self._arriving, +self._of_one


def _upload_reader(request: Request) -> UploadReader:
    """What reads the uploads of this server."""
    state = request.app.state
    if not hasattr(state, "upload_reader"):
        state.upload_reader = UploadReader()
    reader: UploadReader = state.upload_reader
    return reader


async def _received(request: Request, folder: Path) -> tuple[list[Path], dict[str, str]]:
    """The files that were sent, in *folder*, and the short fields."""
    paths: list[Path] = []
    fields: dict[str, str] = {}
    form = request.form(max_files=_MOST_FILES, max_fields=8, max_part_size=_MOST_TEXT)
    async with form as sent:
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile):
                if value.filename or value.size:
                    paths.append(await _spooled(value, folder / str(len(paths))))
            elif name == "text" and value.strip():
                paths.append(_path(folder / str(len(paths)), _PASTED))
                await aside(paths[-1].write_text, value, encoding="utf-8", errors="replace")
            elif name != "text":
                fields[name] = _typed(value[:200])
    return paths, fields


def _short_text(path: Path) -> str:
    """The file at *path* as text, if it may be a configuration."""
    if path.stat().st_size > CONFIGURATION_LIMIT:
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def _typed(text: str) -> str:
    """A field as every page reads it.

    Raises:
        InputError: a number in it may be one or another.
    """
    try:
        return in_english(text)
    except ValueError as error:
        raise InputError(localize(str(error))) from error


async def _spooled(file: UploadFile, folder: Path) -> Path:
    path = _path(folder, file.filename or "a file")
    with path.open("wb") as target:
        while piece := await file.read(_PIECE):
            await aside(target.write, piece)
    return path


def _path(folder: Path, name: str) -> Path:
    """A path in *folder*, which is made, for a file that the visitor calls *name*."""
    folder.mkdir()
    return folder / (_NAME.sub("", name).strip(" .")[-_LONGEST:] or "a file")


TRACES = f"{views.ADDRESS}/traces"
_BY_NAME = {sample.name: sample for sample in published.SAMPLES}
router = Router(prefix=views.ADDRESS)


@router.get("/traces/{name}")
async def show_published_trace(request: Request, name: str) -> Response:
    """A published trace."""
    sample = _BY_NAME.get(name)
    if sample is None:
        raise NotFoundError(
            translate("no trace is called {name!r}{near}", name=name[:60], near=nearest(name[:60], _BY_NAME))
        )
    beside = await aside(predicted_tolls, request.query_params)
    report = await aside(_report_of, sample)
    view = await aside(trace_view, report, sample.title, beside)
    given = beside.given if beside else dict.fromkeys(views.RECORDS, "")
    return render("measured/published_trace.html", frame(request, sample.title), sample, view=view, given=given)


@lru_cache(maxsize=len(published.SAMPLES))
def _report_of(sample: published.TraceSample) -> TraceReport:
    return read_trace([sample.path])[0]


_COLORS = (Color.BLUE, Color.ORANGE, Color.GREEN, Color.PURPLE, Color.GRAY)
_FEWEST = 5  # sizes of a curve

Found = Sequence[tuple[published.PublishedMeasurement, CollectiveTest]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTestRow:
    """A published test in the list of its collective."""

    name: Hyperlink
    hardware: str
    ranks: str
    reached: str
    share: str
    doubtful: bool


@dataclass(frozen=True, slots=True)
class PublishedGroup:
    """The published tests of a collective, and a figure of the best one on each GPU."""

    title: str
    figure_title: str
    figure: Markup
    rows: tuple[PublishedTestRow, ...]


@cache
def published_groups(spoken: str) -> tuple[PublishedGroup, ...]:
    """The published tests by collective, in the language *spoken*; the fastest come first."""
    groups = []
    for collective, title in views.NAMES.items():
        found = [
            (one, one.report)
            for one in published.published_tests().values()
            if isinstance(one.report, CollectiveTest) and one.report.collective == collective
        ]
        found.sort(key=lambda pair: -_best(pair[1]))
        if found:
            figure = _figure(title, found)
            rows = tuple(_test_list_row(one, test) for one, test in found)
            groups.append(PublishedGroup(title, figure.title, drawn_on(BOTH, figure), rows))
    return tuple(groups)


def _figure(title: str, found: Found) -> Plot:
    """The bus bandwidth by size, of the fastest on each GPU."""
    fastest: dict[str, Series] = {}
    for one, test in found:
        gpu = family(one.hardware)
        if gpu in fastest or len(test.rows) < _FEWEST or len(fastest) == len(_COLORS):
            continue
        color = _COLORS[len(fastest)]
        fastest[gpu] = Series(color, one.name, bandwidth_points(test))
    return Plot(
        title=translate("{title}: the fastest on each GPU", title=title),
        summary=translate("Bus bandwidth over the size of the array"),
        x=SIZE,
        y=Axis(translate("bus bandwidth"), BYTE_PER_SECOND, log=True),
        series=tuple(fastest.values()),
    )


def _best(test: CollectiveTest) -> float:
    return max((row.busbw for row in test.rows), default=0.0)


def _test_list_row(one: published.PublishedMeasurement, test: CollectiveTest) -> PublishedTestRow:
    comparison = compare_test(test)
    return PublishedTestRow(
        name=Hyperlink(f"{views.ADDRESS}/{one.name}", one.name),
        hardware=one.hardware,
        ranks=f"{test.ranks:,}" if test.ranks else translate("unknown"),
        reached=show(_best(test), BYTE_PER_SECOND, 3),
        share=localize(comparison.share_in_words) if comparison else "",
        doubtful=bool(test.doubts),
    )


_TITLE = noted("Your own measurements")
_LEAD = noted(
    "Paste what nccl-tests printed, the log of a training run or an out-of-memory error, and see it beside the "
    "wire, the formulas and the measurements of others."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPage:
    """The form, the reports of what was sent, and the published measurements."""

    reports: tuple[SaveOffer, ...] = ()
    traces: tuple[SaveOffer, ...] = ()
    problem: str = ""
    fields: dict[str, str]
    limit: str = f"{PACKED_LIMIT >> 20} MiB"
    groups: tuple[PublishedGroup, ...] = ()
    logs: tuple[tuple[Hyperlink, str], ...] = ()
    samples: tuple[published.TraceSample, ...] = published.SAMPLES
    saved: tuple[tuple[Hyperlink, str], ...] = ()


@router.get("")
async def show_measured(request: Request, site: Here, visiting: Visiting) -> Response:
    """The form, and the lists of saved and of published measurements."""
    saved = await aside(saved_links, site, visiting.learner) if visiting.learner else ()
    return await aside(_measured_page, request, MeasuredPage(fields={}, saved=saved))


@router.post("", dependencies=[FromHere])
@router.post("/traces", dependencies=[FromHere])  # where traces were sent before
async def compare_files(request: Request, site: Here) -> Response:
    """Read what was sent; nothing of it is kept. What came from the page of a *run* leads back to it, if it can."""
    spend(site.allowances.sent_runs, "files")
    reader = _upload_reader(request)
    try:
        sent = await reader.read(request)
        if "run" in sent.fields and (run := await aside(_run_state, sent)).controls:
            if run.doubts:  # which an address does not hold
                return await render_run(request, site, run.controls, tuple(map(localize, run.doubts)))
            return RedirectResponse(explorer_url("fit", run.controls), 303)
        cluster = await aside(_cluster, sent.fields)
        offers = [await aside(_offered, site, one, sent.fields, cluster) for one in sent.reports]
    except InputError as error:
        return await aside(_measured_page, request, MeasuredPage(fields={}, problem=sentence(str(error))), 422)
    found = MeasuredPage(
        reports=tuple(one for one in offers if isinstance(one.view, views.ReportView)),
        traces=tuple(one for one in offers if isinstance(one.view, TraceView)),
        fields={**_said(sent.reports), **{k: text for k, text in sent.fields.items() if text}},
    )
    return await aside(_measured_page, request, found)


@router.get("/{name}/{number}.{form}")
def download_test_figure(name: str, number: int, form: str) -> Response:
    """A figure of a published test as an SVG file, or its values as CSV."""
    report = _named(name).report
    figures: Sequence[object] = ()
    if isinstance(report, CollectiveTest):
        figures = list(figures_of_test(report, compare_test(report), neighbors(report, name)))
    return figure_file(figures, number, form, name)  # type: ignore[arg-type]


@router.get("/{name}")
def show_measurement(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One published measurement, or one that was saved."""
    if is_measurement_name(name):
        return saved_page(request, site, visiting, name)
    one = _named(name)
    match one.report:
        case CollectiveTest():
            view = views.view_of_test(one.report, None, name)
        case TrainingLog():
            view = views.view_of_log(one.report, {})
        case _:
            raise NotFoundError(translate("{name} has nothing to show", name=name))
    around = frame(request, f"{view.title}: {name}", f"{view.title}, {one.hardware}", "labs")
    return render("measured/published.html", around, one, view=view, text=published.text_of(name))


def _run_state(sent: Upload) -> ConfiguredState:
    """What the first file of *sent* that says something of a run says of it; empty if none does.

    Raises:
        InputError: a configuration cannot be read.
    """
    if not is_configuration(sent.text):
        return ConfiguredState(next(filter(None, map(_state_of_report, sent.reports)), {}), ())
    try:
        found = read_pasted(sent.text, sent.fields.get("gpus", ""))
    except ValueError as error:
        raise InputError(localize(str(error))) from error
    machine = {name: sent.fields[name] for name in ("gpu", "gpus") if sent.fields.get(name)}
    return found._replace(controls={**machine, **found.controls})


def _state_of_report(report: Report) -> Mapping[str, str]:
    """The state of the page that the report leads to, or its model alone."""
    address, model = "", ""
    if isinstance(report, TrainingLog):
        found, model = views.predict_log(report, {}), report.model
        address = found.explorer if found else ""
    elif isinstance(report, MemoryShortage):
        onward, model = views.memory_view(report, {}).onward, report.model
        address = onward.href if onward else ""
    state = dict(parse_qsl(urlsplit(address).query))
    with suppress(ValueError):  # it may be called as no model is
        return state or ({"model": model_value(model)} if model else {})
    return {}


def _offered(site: Site, report: Report, fields: dict[str, str], cluster: Cluster | None) -> SaveOffer:
    return save_offer(site, report, views.report_view(report, fields, cluster), fields)


def _said(reports: Sequence[Report]) -> dict[str, str]:
    """What the log says of its model, cluster and layout, if there is one log; of an error, its model."""
    logs = [one for one in reports if isinstance(one, TrainingLog)]
    errors = [{"model": one.model} for one in reports if isinstance(one, MemoryShortage) and one.model]
    return {name: getattr(logs[0], name) for name in views.RECORDS} if len(logs) == 1 else next(iter(errors), {})


def _cluster(fields: dict[str, str]) -> Cluster | None:
    given = fields.get("cluster", "").strip()
    try:
        return Cluster.read(given) if given else None
    except ValueError as error:
        raise InputError(localize(str(error))) from error


def _measured_page(request: Request, page: MeasuredPage, status: int = 200) -> Response:
    page = replace(
        page,
        fields={name: page.fields.get(name, "") for name in views.RECORDS},
        groups=published_groups(language()),
        logs=tuple(
            (Hyperlink(f"{views.ADDRESS}/{one.name}", one.name), one.hardware)
            for one in published.published_logs().values()
        ),
    )
    return render("measured/measured.html", frame(request, translate(_TITLE), translate(_LEAD), "labs"), page, status)


def _named(name: str) -> published.PublishedMeasurement:
    known = {**published.published_tests(), **published.published_logs()}
    if name not in known:
        raise NotFoundError(
            translate("no published measurement is called {name!r}{near}", name=name, near=nearest(name, known))
        )
    return known[name]
