"""Rosters and grades as files: first what one would change, then the change."""

import re
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from app.classes.pages import ROSTER_LIMIT
from app.classes.pages.class_router import ClassHead, Membership, class_head, class_url, in_class
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import Role
from app.classes.people.csv_grades import (
    FORMATS,
    Format,
    PointsDifference,
    class_grades_file,
    difference_in,
    store_difference,
)
from app.classes.people.csv_rosters import (
    COLUMN_WORDS,
    SYSTEMS,
    ReadRoster,
    RosterLayout,
    UnknownTitlesError,
    read_roster,
)
from app.classes.people.csv_text import MOST_LINES, CsvRow, decode_csv, read_csv
from app.classes.people.gradebook import grades_of
from app.classes.people.members import hold, students_in
from app.classes.people.rosters import RosterChanges, import_roster, roster_changes
from app.core.errors import InputError, NotFoundError, nearest, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, spend_storage

router = Router(prefix="/classes/{class_id:int}/people/roster")
_SHOWN = 50  # of a group
_FIRST = 8  # lines that show how a file is read
_COLUMNS = 100  # that are offered
_FIELDS = 20  # of the form
_DIGITS = 6  # of a line
_TITLE = 60  # characters of one


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRoster:
    """A roster as text, and which column is what, if a person has said it."""

    text: str = ""
    columns: tuple[str, ...] = ()
    first_line: int = 0
    digest: str = ""
    removes: bool = False

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """The number of the column of each word."""
        return tuple((word, int(number)) for word, _, number in (one.partition(":") for one in self.columns))

    def read(self) -> ReadRoster:
        """Who is on it."""
        return read_roster(self.text, self.columns, self.first_line)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsForm:
    """Which column of a file is what, as a person said or as it was read, and the first lines as they are.

    *words* of columns come with what they mean and the number of a column, 0 for none; *system*: of whose titles it is.
    """

    words: tuple[tuple[str, str, int], ...]
    columns: tuple[tuple[int, str], ...]
    rows: tuple[CsvRow, ...]
    first_line: int
    system: str = ""

    @classmethod
    def of(cls, sent: SentRoster, layout: RosterLayout | None = None) -> "ColumnsForm":
        """The form for what was *sent*, which was read by a *layout* if it could be."""
        rows = read_csv(sent.text).rows
        untitled = bool(layout and not layout.titles)
        first_line = sent.first_line or (1 if untitled else 2)
        above = [row for row in rows if row.number < first_line]
        width = min(_COLUMNS, max(len(row.cells) for row in rows))
        titles = [above[-1].cell(place)[:_TITLE] if above else "" for place in range(width)]
        numbers = {word: place + 1 for word, place in layout.places.items()} if layout else dict(sent.numbers)
        return cls(
            words=tuple((word, translate(says), numbers.get(word, 0)) for word, says in COLUMN_WORDS.items()),
            columns=tuple(enumerate(titles, 1)),
            rows=rows[:_FIRST],
            first_line=first_line,
            system=layout.format.system if layout and layout.format else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterPage:
    """The form for a roster, and once one was sent, what it would change."""

    head: ClassHead
    sent: SentRoster = SentRoster()
    form: ColumnsForm | None = None
    read: ReadRoster | None = None
    found: RosterChanges | None = None
    shown: int = _SHOWN
    first: int = _FIRST
    most: int = MOST_LINES
    systems: str = SYSTEMS
    problem: str = ""
    moved: bool = False
    closes: bool = False


@router.get("")
async def show_roster_form(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The form for a roster."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return _shown_roster_import(request, member, RosterPage(head=class_head(member, "People")))


@router.post("", dependencies=[FromHere])
async def compare_roster(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """What a roster would change, or which of its columns a person has to name; nothing is changed yet."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=1, max_fields=_FIELDS, max_part_size=ROSTER_LIMIT) as form:
        file = form.get("file")
        content = await file.read() if isinstance(file, UploadFile) else b""
        sent = _sent(form)
    return await aside(_compared, request, site, member, sent, content)


@router.post("/apply", dependencies=[FromHere])
async def apply_roster(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the class as was shown; if the difference is another by now, it is shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=0, max_fields=_FIELDS, max_part_size=ROSTER_LIMIT) as form:
        sent = _sent(form)
    spend_storage(site, len(sent.text))
    if not await aside(_taken, site, class_id, sent):
        return await aside(_compared, request, site, member, sent, moved=True)
    return RedirectResponse(f"{class_url(class_id)}/people", 303)


def _sent(form: FormData) -> SentRoster:
    line = str(form.get("first_line", ""))
    numbers = ((word, str(form.get(f"column-{word}", ""))) for word in COLUMN_WORDS)
    return SentRoster(
        text=str(form.get("text", "")),
        columns=tuple(f"{word}:{number}" for word, number in numbers if number.isascii() and number.isdecimal()),
        first_line=int(line) if line.isascii() and line.isdecimal() and len(line) <= _DIGITS else 0,
        digest=str(form.get("digest", "")),
        removes=form.get("remove") == "yes",
    )


def _compared(
    request: Request, site: Site, member: Membership, sent: SentRoster, content: bytes = b"", *, moved: bool = False
) -> Response:
    page = RosterPage(head=class_head(member, "People"), sent=sent, moved=moved)
    try:
        if content:
            sent = replace(sent, text=decode_csv(content))
            page = replace(page, sent=sent)
        read = sent.read()
        with open_session(site.engine) as session:
            found = roster_changes(session, member.class_id, read.entries)
        closes = member.row.joining == "open" and bool(found.added or found.known)
        page = replace(page, read=read, found=found, form=ColumnsForm.of(sent, read.layout), closes=closes)
    except UnknownTitlesError:
        page = replace(page, form=ColumnsForm.of(sent))
    except InputError as error:
        form = ColumnsForm.of(sent) if sent.columns else None
        page = replace(page, problem=sentence(str(error)), form=form)
    return _shown_roster_import(request, member, page)


def _taken(site: Site, class_id: int, sent: SentRoster) -> bool:
    """Whether the class was changed: only if the difference is still the one that was shown."""
    with open_writing_session(site.engine) as session:
        hold(session, class_id)
        found = roster_changes(session, class_id, sent.read().entries)
        if found.digest != sent.digest:
            return False
        import_roster(session, class_id, found, remove_missing=sent.removes)
        session.commit()
    return True


def _shown_roster_import(request: Request, member: Membership, page: RosterPage) -> Response:
    around = frame(request, translate("Roster of {name}", name=member.row.name), here="classes")
    return render("people/roster.html", around, page, 422 if page.problem else 200)


_grade_files_router = Router(prefix="/classes/{class_id:int}")
_GRADE_FILES_SHOWN = 100  # of a list
_GRADE_FILES_DIGITS = 18  # of the number of an assignment
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
    shown: int = _GRADE_FILES_SHOWN
    problem: str = ""
    moved: bool = False


@dataclass(frozen=True, slots=True)
class _SentGrades:
    text: str
    why: str
    digest: str = ""


@_grade_files_router.get("/grades.csv")
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
    text = await aside(_class_file, site, class_id, chosen, assignment)
    stem = re.sub(r"[^A-Za-z0-9]+", "-", member.row.name).strip("-") or "class"
    return Response(
        (_BOM if chosen in ("ours", "excel") else "") + text,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{stem}-{chosen}.csv"'},
    )


@_grade_files_router.get("/grades/files")
async def files(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The files of grades."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    return await aside(_shown_grade_files, request, site, member, _SentGrades("", ""))


@_grade_files_router.post("/grades/files", dependencies=[FromHere])
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


@_grade_files_router.post("/grades/files/apply", dependencies=[FromHere])
async def apply_grades(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the points as was shown; if the difference is another by now, it is shown again."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    limit = site.settings.body_limit
    async with request.form(max_files=0, max_fields=4, max_part_size=limit) as form:
        sent = _SentGrades(*(str(form.get(name, "")) for name in ("text", "why", "digest")))
    spend_storage(site, len(sent.text))
    try:
        if await aside(_grade_files_taken, site, member, sent):
            return RedirectResponse(f"/classes/{class_id}/grades", 303)
    except InputError as error:
        return await aside(_shown_grade_files, request, site, member, sent, sentence(str(error)))
    return await aside(_shown_grade_files, request, site, member, sent, moved=True)


def _class_file(site: Site, class_id: int, form: Format, wanted: str) -> str:
    known = wanted.isascii() and wanted.isdecimal() and len(wanted) <= _GRADE_FILES_DIGITS
    number = int(wanted) if known else 0
    if wanted and not number:
        raise NotFoundError(translate("this assignment does not exist"))
    with open_session(site.engine) as session:
        found = grades_of(session, site.secret, class_id)
    return class_grades_file(found, form, number)


def _grade_files_taken(site: Site, member: Membership, sent: _SentGrades) -> bool:
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


router.routes += _grade_files_router.routes
