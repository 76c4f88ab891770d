"""/measured/traces: where the time of a traced step goes, of a published trace or of one's own."""

from dataclasses import dataclass
from functools import lru_cache

from fastapi import Request, Response

from app.core.errors import InputError, NotFoundError, nearest, sentence
from app.core.measurements.file_reader import Report
from app.core.measurements.packed_files import PACKED_LIMIT
from app.core.measurements.reports import Unread
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.report import TraceReport
from app.core.measurements.trace.samples import SAMPLES, TraceSample
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, spend
from app.site.web.measured.saved_measurement import SaveOffer, save_offer
from app.site.web.measured.trace_view import PredictedTolls, TraceView, predicted_tolls, trace_view
from app.site.web.measured.upload_reader import UploadReader
from app.site.web.measured.views import ADDRESS

TRACES = f"{ADDRESS}/traces"
TITLE = noted("Where a traced step's time goes")
_BY_NAME = {sample.name: sample for sample in SAMPLES}
router = Router(prefix=TRACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesPage:
    """The page: traces that were read, or the form alone."""

    title: str
    sample: TraceSample | None
    samples: tuple[TraceSample, ...]
    views: tuple[SaveOffer[TraceView], ...]
    problems: tuple[str, ...]
    beside: PredictedTolls | None
    limit: str


@router.get("")
def traces(request: Request) -> Response:
    """The form, and the published traces."""
    return _shown_traces(request, _traces_page())


@router.get("/{name}")
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
    return _shown_traces(request, _traces_page(sample, (SaveOffer(view, "", ""),), beside=beside))


@router.post("", dependencies=[FromHere])
async def read_traces(request: Request, site: Here) -> Response:
    """The traces that were sent: read in a process of its own, and not stored."""
    spend(site.allowances.sent_runs, "files")
    reader: UploadReader = request.app.state.upload_reader
    try:
        sent = await reader.read(request)
    except InputError as error:
        return _shown_traces(request, _traces_page(problems=(sentence(str(error)),)), 422)
    beside = await aside(predicted_tolls, sent.fields)
    found = [one for one in sent.reports if isinstance(one, TraceReport)]
    views = tuple([await aside(_offered, site, one, sent.fields, beside) for one in found])
    problems = tuple(_problem(one) for one in sent.reports if not isinstance(one, TraceReport))
    page = _traces_page(None, views, problems, beside)
    return _shown_traces(request, page, 200 if views else 422)


def _offered(
    site: Site, report: TraceReport, fields: dict[str, str], beside: PredictedTolls | None
) -> SaveOffer[TraceView]:
    return save_offer(site, report, trace_view(report, report.name, beside), fields)


def _problem(report: Report) -> str:
    if isinstance(report, Unread):
        return sentence(report.error)
    return translate("A file is not a trace, but a table of nccl-tests or a training log.")


@lru_cache(maxsize=len(SAMPLES))
def _report_of(sample: TraceSample) -> TraceReport:
    return read_trace([sample.path])[0]


def _traces_page(
    sample: TraceSample | None = None,
    views: tuple[SaveOffer[TraceView], ...] = (),
    problems: tuple[str, ...] = (),
    beside: PredictedTolls | None = None,
) -> TracesPage:
    return TracesPage(
        title=sample.title if sample else translate(TITLE),
        sample=sample,
        samples=SAMPLES,
        views=views,
        problems=problems,
        beside=beside,
        limit=f"{PACKED_LIMIT >> 20} MiB",
    )


def _shown_traces(request: Request, page: TracesPage, status: int = 200) -> Response:
    return render("measured/traces.html", frame(request, page.title), page, status)
