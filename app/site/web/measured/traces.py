"""Files that visitors send, each read in a process of its own; and /measured/traces."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Message

from app.core.errors import InputError, NotFoundError, nearest, sentence
from app.core.measurements.file_reader import Report
from app.core.measurements.packed_files import PACKED_LIMIT
from app.core.measurements.reports import Unread
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.report import TraceReport
from app.core.measurements.trace.samples import SAMPLES, TraceSample
from app.core.translation import localized, noted, translate
from app.core.units import in_english
from app.server.aside import aside, current_payer, lift_ceiling
from app.server.aside.jobs import BoundedJobs
from app.server.aside.measured_files import measured_apart
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, spend
from app.site.web.measured.saved_measurement import SaveOffer, save_offer
from app.site.web.measured.trace_view import PredictedTolls, TraceView, predicted_tolls, trace_view
from app.site.web.measured.views import ADDRESS

BODY_LIMIT = PACKED_LIMIT + 64 * 1024  # bytes: the files, and the form around them
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
    """What a form had: the reports of its files, and the other fields."""

    reports: tuple[Report, ...]
    fields: dict[str, str]


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
                raise InputError(translate("paste the output of a test or a log, or choose a file"))
            lift_ceiling()  # reading has one of its own
            return Upload(tuple(await self._jobs.run(lambda: asyncio.to_thread(measured_apart, paths))), fields)

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
                paths.append(await aside(_written, folder / str(len(paths)), _PASTED, value))
            elif name != "text":
                fields[name] = _typed(value[:200])
    return paths, fields


def _typed(text: str) -> str:
    """A field as every page reads it.

    Raises:
        InputError: a number in it may be one or another.
    """
    try:
        return in_english(text)
    except ValueError as error:
        raise InputError(localized(str(error))) from error


async def _spooled(file: UploadFile, folder: Path) -> Path:
    path = _path(folder, file.filename or "a file")
    with path.open("wb") as target:
        while piece := await file.read(_PIECE):
            await aside(target.write, piece)
    return path


def _written(folder: Path, name: str, text: str) -> Path:
    path = _path(folder, name)
    path.write_text(text, encoding="utf-8", errors="replace")
    return path


def _path(folder: Path, name: str) -> Path:
    """A path in *folder*, which is made, for a file that the visitor calls *name*."""
    folder.mkdir()
    return folder / (_NAME.sub("", name).strip(" .")[-_LONGEST:] or "a file")


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
