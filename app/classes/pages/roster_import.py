"""Rosters and grades as files: first what one would change, then the change."""

from dataclasses import dataclass
from typing import Self

from fastapi import Response
from starlette.datastructures import FormData

from app.classes.pages.class_router import BOM, ClassRouter, ClassVisit, FileForm, csv_response
from app.classes.people import csv_rosters
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import Role
from app.classes.people.csv_grades import FORMATS, PointsDifference, class_grades_file, difference_in, store_difference
from app.classes.people.csv_text import MOST_LINES, CsvRow, read_csv
from app.classes.people.gradebook import grades_of
from app.classes.people.members import students_in
from app.classes.people.rosters import RosterChanges, import_roster, roster_changes
from app.core.errors import NotFoundError, input_error, nearest
from app.core.translation import noted, translate
from app.site.web.frame.renderer import Hyperlink
from app.site.web.frame.visitor import spend_storage

router = ClassRouter("/classes/{class_id:int}/people/roster", "People")
_SHOWN = 50  # of a group
_FIRST = 8  # lines that show how a file is read
_COLUMNS = 100  # that are offered
_DIGITS = 6  # of a line
_TITLE = 60  # characters of one


class RosterForm(FileForm):
    """A roster, and which column is what, if a person has said it."""

    columns: tuple[str, ...] = ()
    first_line: int = 0
    digest: str = ""
    remove: str = ""

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        line = str(sent.get("first_line", ""))
        numbers = ((word, str(sent.get(f"column-{word}", ""))) for word in csv_rosters.COLUMN_WORDS)
        more = {
            "columns": tuple(f"{word}:{number}" for word, number in numbers if number.isascii() and number.isdecimal()),
            "first_line": int(line) if line.isascii() and line.isdecimal() and len(line) <= _DIGITS else 0,
        }
        given = FormData([(name, value) for name, value in sent.multi_items() if name != "first_line"])
        return super().read(given).model_copy(update=more)

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """The number of the column of each word."""
        return tuple((word, int(number)) for word, _, number in (one.partition(":") for one in self.columns))

    def roster(self) -> csv_rosters.ReadRoster:
        """Who is on it."""
        return csv_rosters.read_roster(self.text, self.columns, self.first_line)


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
    def of(cls, sent: RosterForm, layout: csv_rosters.RosterLayout | None = None) -> "ColumnsForm":
        """The form for what was *sent*, which was read by a *layout* if it could be."""
        rows = read_csv(sent.text).rows
        untitled = bool(layout and not layout.titles)
        first_line = sent.first_line or (1 if untitled else 2)
        above = [row for row in rows if row.number < first_line]
        width = min(_COLUMNS, max(len(row.cells) for row in rows))
        titles = [above[-1].cell(place)[:_TITLE] if above else "" for place in range(width)]
        numbers = {word: place + 1 for word, place in layout.places.items()} if layout else dict(sent.numbers)
        return cls(
            words=tuple(
                (word, translate(says), numbers.get(word, 0)) for word, says in csv_rosters.COLUMN_WORDS.items()
            ),
            columns=tuple(enumerate(titles, 1)),
            rows=rows[:_FIRST],
            first_line=first_line,
            system=layout.format.system if layout and layout.format else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterPage:
    """The form for a roster, and once one was sent, what it would change."""

    sent: RosterForm
    form: ColumnsForm | None = None
    read: csv_rosters.ReadRoster | None = None
    found: RosterChanges | None = None
    shown: int = _SHOWN
    first: int = _FIRST
    most: int = MOST_LINES
    systems: str = csv_rosters.SYSTEMS
    moved: bool = False
    closes: bool = False


@router.page("", "roster", noted("Roster of {name}"))
def roster_page(visit: ClassVisit, sent: RosterForm | None = None, *, moved: bool = False) -> RosterPage:
    """The form for a roster; with one, what it would change, or which of its columns a person has to name."""
    if sent is None:
        return RosterPage(sent=RosterForm())
    sent = sent.decoded(visit.error)
    if visit.error:
        return RosterPage(sent=sent, form=ColumnsForm.of(sent) if sent.columns else None)
    try:
        read = sent.roster()
    except csv_rosters.UnknownTitlesError:
        return RosterPage(sent=sent, form=ColumnsForm.of(sent))
    found = roster_changes(visit.session, visit.class_id, read.entries)
    closes = visit.row.joining == "open" and bool(found.added or found.known)
    return RosterPage(
        sent=sent, form=ColumnsForm.of(sent, read.layout), read=read, found=found, moved=moved, closes=closes
    )


router.preview("", roster_page)


@router.form("/apply", roster_page)
def apply_roster(visit: ClassVisit, sent: RosterForm) -> str | RosterPage:
    """Change the class as was shown; if the difference is another by now, it is shown again."""
    spend_storage(visit.site, len(sent.text))
    found = roster_changes(visit.session, visit.class_id, sent.roster().entries)
    if found.digest != sent.digest:
        return roster_page(visit, sent, moved=True)
    import_roster(visit.session, visit.class_id, found, remove_missing=sent.remove == "yes")
    return f"{visit.class_href}/people"


_grade_files_router = ClassRouter("/classes/{class_id:int}", "Grades", least=Role.ASSISTANT)
_GRADE_FILES_SHOWN = 100  # of a list
_GRADE_FILES_DIGITS = 18  # of the number of an assignment


class GradesForm(FileForm):
    """A file of grades, and why its points are given; the *digest* is that of what was shown."""

    why: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeFilesPage:
    """The files of grades: to take along, and to change points with."""

    files: tuple[Hyperlink, ...]
    assignments: tuple[Hyperlink, ...]
    without_id: int
    sent: GradesForm
    found: PointsDifference | None
    shown: int = _GRADE_FILES_SHOWN
    moved: bool = False


@_grade_files_router.page("/grades.csv", "grade_files")
def grades_csv(visit: ClassVisit, format: str = "ours", assignment: str = "") -> Response:
    """The points of the class, by assignment; or of one *assignment*, by exercise."""
    chosen = next((one for one in FORMATS if one == format), None)
    if chosen is None:
        raise input_error(
            "format must be {formats} or {last}, not {given!r}{near}",
            formats=", ".join(FORMATS[:-1]),
            last=FORMATS[-1],
            given=format[:40],
            near=nearest(format, FORMATS),
        )
    known = assignment.isascii() and assignment.isdecimal() and len(assignment) <= _GRADE_FILES_DIGITS
    number = int(assignment) if known else 0
    if assignment and not number:
        raise NotFoundError(translate("this assignment does not exist"))
    text = class_grades_file(grades_of(visit.session, visit.site.secret, visit.class_id), chosen, number)
    return csv_response(visit, (BOM if chosen in ("ours", "excel") else "") + text, chosen)


@_grade_files_router.page("/grades/files", "grade_files", noted("Grades of {name} as files"))
def grade_files_page(visit: ClassVisit, sent: GradesForm | None = None, *, moved: bool = False) -> GradeFilesPage:
    """The files of grades; with one, what it would change."""
    sent, found = (sent or GradesForm()).decoded(visit.error), None
    if sent.text and not visit.error:
        found = difference_in(visit.session, visit.site.secret, visit.class_id, sent.text)
    href = f"{visit.class_href}/grades.csv?format="
    assignments = assignments_of(visit.session, visit.class_id)
    return GradeFilesPage(
        files=(
            Hyperlink(f"{href}ours", translate("For a spreadsheet")),
            Hyperlink(f"{href}excel", translate("For a spreadsheet with decimal commas")),
            Hyperlink(f"{href}canvas", translate("For Canvas")),
            Hyperlink(f"{href}moodle", translate("For Moodle")),
        ),
        assignments=tuple(Hyperlink(f"{href}ours&assignment={one.id}", one.title) for one in assignments),
        without_id=sum(not one.outside_id for one in students_in(visit.session, visit.class_id)),
        sent=sent,
        found=found,
        moved=moved,
    )


_grade_files_router.preview("/grades/files", grade_files_page, least=Role.TEACHER)


@_grade_files_router.form("/grades/files/apply", grade_files_page, least=Role.TEACHER)
def apply_grades(visit: ClassVisit, sent: GradesForm) -> str | GradeFilesPage:
    """Change the points as was shown; if the difference is another by now, it is shown again."""
    spend_storage(visit.site, len(sent.text))
    found = difference_in(visit.session, visit.site.secret, visit.class_id, sent.text)
    if found.digest != sent.digest:
        return grade_files_page(visit, sent, moved=True)
    store_difference(visit.session, found, visit.member.person.name or "the teacher", sent.why)
    return f"{visit.class_href}/grades"


router.routes += _grade_files_router.routes
