"""/progress: what a learner has done; it can be exported, imported and deleted."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile

from app.core.errors import InputError, UnavailableError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.records import MergeResult, PersonalRows
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import COOKIE, FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.labs.results import finished
from app.site.web.progress.file import FILE_LIMIT, FileError, imported_run_name, progress_file, read_file, without_runs
from app.site.web.progress.view import LOOKED_AT, ProgressPage, ProgressRecord, first_day, progress_page, wrong_ideas
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import chosen_route
from app.site.web.standing.records import open_records

router = Router(prefix="/progress")
IMPORT = "/progress/import"
BODY_LIMIT = FILE_LIMIT + 64 * 1024  # bytes: the file, and the form around it
_PART = 16_384  # bytes of a file that count as one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What became of an import or a deletion."""

    deleted: bool = False
    copies: str = ""  # the day on which the last copy of the database is removed
    merged: MergeResult | None = None
    left: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """The progress, and the notice above it."""

    progress: ProgressPage
    notice: Notice
    limit: str
    person: str


@router.get("")
async def show_progress(
    request: Request,
    site: Here,
    visiting: Visiting,
    deleted: str = "",
    added: str = "",
    known: str = "",
    left: str = "",
) -> Response:
    """The progress page."""
    merged = MergeResult(_count(added), _count(known)) if added else None
    copies = copies_until(site.settings.database) if deleted == "1" else ""
    notice = Notice(deleted=deleted == "1", copies=copies, merged=merged, left=_count(left))
    return await aside(_shown_progress, request, site, visiting.learner, notice)


@router.get("/export")
async def export_progress_file(site: Here, visiting: Visiting) -> Response:
    """Everything that is stored about the learner, as JSON."""
    if visiting.person:
        return RedirectResponse("/me/export", 303)
    content = await aside(_exported, site, visiting.learner)
    name = 'attachment; filename="wallclock.json"'
    return Response(content, media_type="application/json", headers={"Content-Disposition": name})


@router.post("/import", dependencies=[FromHere])
async def import_progress_file(request: Request, site: Here, visiting: Visiting) -> Response:
    """Merge a file with what is stored about the learner."""
    learner = visitor_learner(visiting)
    try:
        content = await _content(request)
        spend(site.allowances.answers, "imports", 1 + len(content) / _PART)
        spend_storage(site, len(content))
        found = await aside(read_file, content, learner)
        if found.rows.runs:
            spend(site.allowances.sent_runs, "sent runs", len(found.rows.runs))
        merged = await aside(_merge, site, learner, found.rows)
    except FileError as error:
        notice = Notice(problems=tuple(sentence(one) for one in error.problems))
        return await aside(_shown_progress, request, site, visiting.learner, notice, 422)
    except (InputError, UnavailableError) as error:
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
        status = 422 if isinstance(error, InputError) else 503
        notice = Notice(problems=(sentence(str(error)),))
        return await aside(_shown_progress, request, site, visiting.learner, notice, status)
    counts = f"added={merged.added}&known={merged.known}&left={found.left}"
    response = RedirectResponse(f"/progress?{counts}#notice", 303)
    remember(request, response, learner, site.secret)
    return response


@router.post("/delete", dependencies=[FromHere])
async def delete_progress(site: Here, visiting: Visiting, sure: Annotated[str, Form()] = "") -> Response:
    """Delete everything that is stored about the learner."""
    if sure != "yes":
        raise InputError(translate("nothing was deleted: tick the box to confirm, then delete again"))
    if visiting.person:
        raise InputError(translate("you are signed in: on your page you can delete yourself, and all of this"))
    if visiting.learner:
        await aside(_delete, site, visiting.learner)
    response = RedirectResponse("/progress?deleted=1", 303)
    response.delete_cookie(COOKIE)
    return response


def _shown_progress(request: Request, site: Site, learner: str, notice: Notice, status: int = 200) -> Response:
    around = frame(request, translate("Progress"), here="progress")
    today = site.clock().date()
    record = _read_progress(site, learner, today, chosen_route(request))
    found = progress_page(site.catalog, record, today)
    page = Shown(found, notice, f"{FILE_LIMIT >> 20} MiB", around.person)
    return render("progress/progress.html", around, page, status)


def _read_progress(site: Site, learner: str, today: date, route: str) -> ProgressRecord:
    """What *learner*, who has started *route*, has done until *today*."""
    if not learner:
        return ProgressRecord()
    past = read_learner_history(site, learner, route)
    with open_records(site, learner) as records:
        wrong = records.wrong_attempts(LOOKED_AT)
        return ProgressRecord(
            past=past,
            guesses=records.count_of_guesses(),
            days=records.attempts_by_day(first_day(today)),
            efforts=records.efforts(),
            latest=records.latest_attempts(),
            ideas=wrong_ideas(site.catalog, site.runner, wrong, past.answers),
        )


def _delete(site: Site, learner: str) -> None:
    with open_records(site, learner) as records:
        records.delete_everything()


def _exported(site: Site, learner: str) -> str:
    with open_records(site, learner) as records:
        return progress_file(records.everything())


async def _content(request: Request) -> bytes:
    async with request.form(max_files=1, max_fields=2, max_part_size=FILE_LIMIT) as form:
        file = form.get("file")
        return await file.read() if isinstance(file, UploadFile) else str(file or "").encode()


def _merge(site: Site, learner: str, rows: PersonalRows) -> MergeResult:
    """Merge *rows*; a lab run that is on its board already is known, of any learner."""
    labs = {row.lab for row in rows.runs}
    here = {imported_run_name(run.report) for lab in labs for run in finished(site, lab) if run.report}
    with open_records(site, learner) as records:
        merged = records.merge(without_runs(rows, here))
    return MergeResult(merged.added, rows.count - merged.added)


def _count(text: str) -> int:
    """A number in the address."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len("999999") else 0
