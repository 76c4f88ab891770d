"""/classes/ID/grades.csv, and grades from a file: first what it would change, then the change."""

import re
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile

from app.classes.pages.class_head import ClassHead, class_head
from app.classes.pages.grades import assignment_numbered
from app.classes.pages.guard import Membership, in_class
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import Role
from app.classes.people.csv_grades import (
    FORMATS,
    Format,
    PointsDifference,
    columns_of,
    difference_in,
    grades_file,
    store_difference,
)
from app.classes.people.csv_text import decode_csv
from app.classes.people.gradebook import gradebook_of
from app.classes.people.groups import students_in
from app.core.errors import InputError, nearest, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, spend_storage

router = Router(prefix="/classes/{class_id:int}")
_SHOWN = 100  # of a list
_DIGITS = 18  # of the number of an assignment
_BOM = "\ufeff"  # a spreadsheet would read UTF-8 as something else without it


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeFilesPage:
    """The files of grades: to take along, and to change points with."""

    head: ClassHead
    teaches: bool
    files: tuple[Hyperlink, ...]
    assignments: tuple[Hyperlink, ...]
    without_id: int = 0
    text: str = ""
    why: str = ""
    found: PointsDifference | None = None
    shown: int = _SHOWN
    problem: str = ""
    moved: bool = False


@dataclass(frozen=True, slots=True)
class _SentGrades:
    text: str
    why: str
    digest: str = ""


@router.get("/grades.csv")
async def grades_csv(
    request: Request, site: Here, visiting: Visiting, class_id: int, form: str = "ours", assignment: str = ""
) -> Response:
    """The points of the class, by assignment; or of one *assignment*, by exercise."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    given = request.query_params.get("format", form)
    chosen = next((one for one in FORMATS if one == given), None)
    if chosen is None:
        raise InputError(
            translate(
                "format must be {formats} or {last}, not {given!r}{near}",
                formats=", ".join(FORMATS[:-1]),
                last=FORMATS[-1],
                given=given[:40],
                near=nearest(given, FORMATS),
            )
        )
    text = await aside(_written, site, member, chosen, assignment)
    stem = re.sub(r"[^A-Za-z0-9]+", "-", member.row.name).strip("-") or "class"
    return Response(
        (_BOM if chosen in ("ours", "excel") else "") + text,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{stem}-{chosen}.csv"'},
    )


@router.get("/grades/files")
async def files(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The files of grades."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    return await aside(_shown_grade_files, request, site, member, _SentGrades("", ""))


@router.post("/grades/files", dependencies=[FromHere])
async def compare_grades(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """What a file would change; nothing is changed yet."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    limit = site.settings.body_limit
    async with request.form(max_files=1, max_fields=4, max_part_size=limit) as sent:
        file = sent.get("file")
        content = await file.read() if isinstance(file, UploadFile) else b""
        text = str(sent.get("text", "")).encode("utf-8", "replace")
        why = str(sent.get("why", ""))
    try:
        grades = _SentGrades(decode_csv(content or text), why)
    except InputError as error:
        return await aside(_shown_grade_files, request, site, member, _SentGrades("", why), sentence(str(error)))
    return await aside(_shown_grade_files, request, site, member, grades)


@router.post("/grades/files/apply", dependencies=[FromHere])
async def apply_grades(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the points as was shown; if the difference is another by now, it is shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    limit = site.settings.body_limit
    async with request.form(max_files=0, max_fields=4, max_part_size=limit) as form:
        sent = _SentGrades(*(str(form.get(name, "")) for name in ("text", "why", "digest")))
    spend_storage(site, len(sent.text))
    try:
        if await aside(_taken, site, member, sent):
            return RedirectResponse(f"/classes/{class_id}/grades", 303)
    except InputError as error:
        return await aside(_shown_grade_files, request, site, member, sent, sentence(str(error)))
    return await aside(_shown_grade_files, request, site, member, sent, moved=True)


def _written(site: Site, member: Membership, form: Format, wanted: str) -> str:
    with open_session(site.engine) as session:
        assignments = assignments_of(session, member.class_id)
        students = students_in(session, member.class_id)
        known = wanted.isascii() and wanted.isdecimal() and len(wanted) <= _DIGITS
        number = int(wanted) if known else 0
        one = assignment_numbered(assignments, number) if wanted else None
        those = [one] if one else assignments
        book = gradebook_of(session, site.secret, those, students)
    lowest = None if one else member.row.lowest
    return grades_file(columns_of(assignments, one), students, book, form, lowest)


def _taken(site: Site, member: Membership, sent: _SentGrades) -> bool:
    """Whether the points were changed: only if the difference is still the one that was shown."""
    with open_writing_session(site.engine) as session:
        found = difference_in(session, site.secret, member.class_id, sent.text)
        if found.digest != sent.digest:
            return False
        store_difference(session, found, member.person.name or "the teacher", sent.why)
        session.commit()
    return True


def _shown_grade_files(
    request: Request, site: Site, member: Membership, sent: _SentGrades, problem: str = "", *, moved: bool = False
) -> Response:
    found = None
    with open_session(site.engine) as session:
        assignments = assignments_of(session, member.class_id)
        students = students_in(session, member.class_id)
        if sent.text and not problem:
            try:
                found = difference_in(session, site.secret, member.class_id, sent.text)
            except InputError as error:
                problem = sentence(str(error))
    href = f"/classes/{member.class_id}/grades.csv?format="
    page = GradeFilesPage(
        head=class_head(member, "Grades"),
        teaches=member.teaches,
        files=(
            Hyperlink(f"{href}ours", translate("For a spreadsheet")),
            Hyperlink(f"{href}excel", translate("For a spreadsheet with decimal commas")),
            Hyperlink(f"{href}canvas", translate("For Canvas")),
            Hyperlink(f"{href}moodle", translate("For Moodle")),
        ),
        assignments=tuple(Hyperlink(f"{href}ours&assignment={one.id}", one.title) for one in assignments),
        without_id=sum(not one.outside_id for one in students),
        text=sent.text,
        why=sent.why,
        found=found,
        problem=problem,
        moved=moved,
    )
    around = frame(request, translate("Grades of {name} as files", name=member.row.name), here="classes")
    return render("people/grade_files.html", around, page, 422 if problem else 200)
