"""/measured/ID: a measurement that its owner saved, at an address that nobody can guess."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.core.errors import InputError, NotFoundError, input_error
from app.core.formulas.presets import Cluster
from app.core.measurements.file_reader import Report, read_stored, saved_report
from app.core.measurements.reports import UnreadFile
from app.core.translation import noted, translate
from app.server.aside import aside
from app.server.db import measurements
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, Visitor, remember, spend, spend_storage, visitor_learner
from app.site.web.measured.trace_view import TraceView
from app.site.web.measured.views import ADDRESS, RECORDS, ReportView, report_view

router = Router(prefix=ADDRESS)
_SERIAL = 16  # bytes, which differ for each page
_SALT = "wallclock.measurement"
_AGE = 24 * 3600  # seconds in which a page that was read can be saved
_STALE = noted("this page is more than a day old, or was changed: read the file again, then save it")
_SEALED = 700_000  # characters of a form's field; a body may have 1 MiB


@dataclass(frozen=True, slots=True)
class SaveOffer:
    """What was read in a file, and the *seal* with which it can be saved; empty if it cannot."""

    view: ReportView | TraceView
    title: str
    seal: str


def save_offer(site: Site, report: Report, view: ReportView | TraceView, fields: Mapping[str, str]) -> SaveOffer:
    """The *report* with what it takes to save it: nothing is stored on the server before."""
    if isinstance(report, UnreadFile):
        return SaveOffer(view, "", "")
    rank = getattr(report, "rank", None)
    title = view.title if isinstance(view, ReportView) else "Trace" if rank is None else f"Trace of rank {rank}"
    given = {name: fields[name] for name in RECORDS if fields.get(name)}
    text = saved_report(report)
    sealed = [title, text, given, secrets.token_urlsafe(_SERIAL)]
    seal = _serializer(site).dumps(sealed) if len(text) <= measurements.REPORT_LIMIT else ""
    return SaveOffer(view, title, str(seal) if len(seal) <= _SEALED else "")


def _serializer(site: Site) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(site.secret, salt=_SALT)


@router.post("/save", dependencies=[FromHere])
async def save(request: Request, site: Here, visiting: Visiting) -> Response:
    """Store what was read, as its page has sealed it: once, however often it is sent; its last title counts."""
    spend(site.allowances.sent_runs, "files")
    form = await request.form(max_files=0, max_fields=4, max_part_size=_SEALED)
    learner = visitor_learner(visiting)
    row = _saved_measurement_row(site, str(form.get("seal") or ""), str(form.get("title") or ""), learner)
    response = RedirectResponse(f"{ADDRESS}/{row.name}", 303)
    if known := await aside(measurements.saved_measurement, site.engine, row.name):
        if known.title != row.title:
            await aside(measurements.rename_measurement, site.engine, row.name, learner, row.title)
        return response
    spend_storage(site, len(row.report))
    await aside(measurements.save_measurement, site.engine, row)
    remember(request, response, learner, site.secret)
    return response


@router.post("/{name}/delete", dependencies=[FromHere])
async def discard_measurement(site: Here, visiting: Visiting, name: str) -> Response:
    """Delete a measurement; only its owner may."""
    own = visiting.learner
    if not own or not await aside(measurements.delete_measurement, site.engine, name, own):
        raise NotFoundError(translate("you have no measurement at that address, so you cannot delete it"))
    return RedirectResponse(ADDRESS, 303)


def _saved_measurement_row(site: Site, seal: str, title: str, learner: str) -> measurements.MeasurementRow:
    try:
        first, text, given, serial = _serializer(site).loads(seal, max_age=_AGE)
    except (BadSignature, ValueError):  # or an old one, or one of an earlier version
        raise input_error(_STALE) from None
    name = "".join(filter(str.isprintable, title)).strip()[:NAME_LIMIT] or first[:NAME_LIMIT]
    return measurements.MeasurementRow(
        name=measurements.measurement_name(site.secret, serial),
        learner=learner,
        title=name,
        report=text,
        given=json.dumps(given),
    )


def saved_links(site: Site, learner: str) -> tuple[tuple[Hyperlink, str], ...]:
    """The measurements of *learner*, and when they were saved."""
    rows: Sequence[measurements.MeasurementRow] = measurements.titles_of_measurements(site.engine, learner)
    return tuple((Hyperlink(f"{ADDRESS}/{row.name}", row.title), _day(row)) for row in rows)


def _day(row: measurements.MeasurementRow) -> str:
    return row.at.date().isoformat()


def saved_page(request: Request, site: Site, visiting: Visitor, name: str) -> Response:
    """The page of a measurement that was saved.

    Raises:
        NotFoundError: there is none at that address.
    """
    row = measurements.saved_measurement(site.engine, name)
    if row is None:
        raise NotFoundError(translate("no measurement is saved at this address; its owner may have deleted it"))
    view = view_of_row(row)
    has_trace = isinstance(view, TraceView)
    own = bool(visiting.learner) and visiting.learner == row.learner
    around = frame(request, row.title, translate("A measurement that was saved"), "labs")
    response = render("measured/saved.html", around, row, at=_day(row), own=own, view=view, has_trace=has_trace)
    response.headers["X-Robots-Tag"] = "noindex"
    return response


def view_of_row(row: measurements.MeasurementRow) -> ReportView | TraceView:
    """What a page shows of *row*.

    Raises:
        NotFoundError: this version cannot show it.
    """
    try:
        given = {name: str(text) for name, text in json.loads(row.given).items()}
        cluster = Cluster.read(given["cluster"]) if given.get("cluster") else None
        return report_view(read_stored(row.report), given, cluster)
    except (ValueError, ArithmeticError, LookupError, AttributeError, InputError) as error:
        raise NotFoundError(translate("this measurement cannot be shown by this version")) from error
