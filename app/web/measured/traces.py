"""/measured/traces: where the time of a traced step goes, of a published trace or of one's own."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from app.errors import InputError, NotFoundError, nearest, sentence
from app.measurements.apart import measured_apart
from app.measurements.opening import PACKED_LIMIT
from app.measurements.reading import Report
from app.measurements.reports import Unread
from app.measurements.trace.reading import read_trace
from app.measurements.trace.report import TraceReport
from app.measurements.trace.samples import SAMPLES, TraceSample
from app.site import Here
from app.web.frame.aside import aside
from app.web.frame.rendering import frame, render
from app.web.frame.visitor import FromHere, spend
from app.web.measured.trace_view import ASKED, Predicted, TraceView, predicted, trace_view

TRACES = "/measured/traces"
BODY_LIMIT = PACKED_LIMIT + 64 * 1024  # bytes: the files, and the form around them
MOST_FILES = 64
TITLE = "Where a traced step's time goes"
_COST = 60  # of an answer: reading may take a minute
_BUSY = "other traces are being read; try again in a minute"
_HERE = ThreadPoolExecutor(1, thread_name_prefix="traces")  # one at a time on this server
_waiting = asyncio.Semaphore(4)
_BY_NAME = {sample.name: sample for sample in SAMPLES}
router = APIRouter(prefix=TRACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesPage:
    """The page: traces that were read, or the form alone."""

    title: str
    sample: TraceSample | None
    samples: tuple[TraceSample, ...]
    views: tuple[TraceView, ...]
    problems: tuple[str, ...]
    beside: Predicted | None
    limit: str


@router.get("")
async def traces(request: Request) -> Response:
    """The form, and the published traces."""
    return _shown(request, _page())


@router.get("/{name}")
async def published(request: Request, name: str) -> Response:
    """A published trace."""
    sample = _BY_NAME.get(name)
    if sample is None:
        raise NotFoundError(f"no trace is called {name[:60]!r}{nearest(name[:60], _BY_NAME)}")
    beside = await aside(predicted, request.query_params)
    report = await aside(_report_of, sample)
    view = await aside(trace_view, report, sample.title, beside)
    return _shown(request, _page(sample, (view,), beside=beside))


@router.post("", dependencies=[FromHere])
async def read(request: Request, site: Here) -> Response:
    """The traces that were sent: read in a process of its own, and not stored."""
    spend(request, site.allowances.answers, "traces", _COST)
    async with request.form(max_files=MOST_FILES, max_fields=len(ASKED)) as form:
        given = {name: str(form.get(name) or "") for name in ASKED}
        beside = await aside(predicted, given)
        found = await _read(form)
    reports = [one for one in found if isinstance(one, TraceReport)]
    views = tuple([await aside(trace_view, one, one.name, beside) for one in reports])
    problems = tuple(_problem(one) for one in found if not isinstance(one, TraceReport))
    return _shown(request, _page(None, views, problems, beside), 200 if views else 422)


async def _read(form: FormData) -> list[Report]:
    """What is in the files of the *form*."""
    files = [one for one in form.getlist("file") if isinstance(one, UploadFile) and one.size]
    if not files:
        return [Unread("choose a trace: the file that the PyTorch profiler exported")]
    if _waiting.locked():
        raise HTTPException(503, _BUSY, {"Retry-After": "60"})
    async with _waiting:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(_HERE, _read_apart, files)
        except InputError as error:
            return [Unread(str(error))]


def _read_apart(files: list[UploadFile]) -> list[Report]:
    with TemporaryDirectory(prefix="wallclock-") as folder:
        paths = []
        for number, file in enumerate(files):
            name = PurePath((file.filename or "trace").replace("\\", "/")).name or "trace"
            paths.append(Path(folder, str(number), name[-100:].replace("\0", "")))
            paths[-1].parent.mkdir()
            with paths[-1].open("wb") as target:
                copyfileobj(file.file, target)
        return measured_apart(paths)


def _problem(report: Report) -> str:
    if isinstance(report, Unread):
        return sentence(report.error)
    return "A file is not a trace, but a table of nccl-tests or a training log."


@lru_cache(maxsize=len(SAMPLES))
def _report_of(sample: TraceSample) -> TraceReport:
    return read_trace([sample.path])[0]


def _page(
    sample: TraceSample | None = None,
    views: tuple[TraceView, ...] = (),
    problems: tuple[str, ...] = (),
    beside: Predicted | None = None,
) -> TracesPage:
    return TracesPage(
        title=sample.title if sample else TITLE,
        sample=sample,
        samples=SAMPLES,
        views=views,
        problems=problems,
        beside=beside,
        limit=f"{PACKED_LIMIT >> 20} MiB",
    )


def _shown(request: Request, page: TracesPage, status: int = 200) -> Response:
    return render("measured/traces.html", frame(request, page.title), page, status)
