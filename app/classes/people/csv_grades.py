"""Points as CSV files: as Wallclock, Canvas, Moodle and spreadsheets write them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.classes.people.csv_files import SAMPLE, limited, refuse_lines
from app.classes.people.csv_grade_table import GradeLine, GradeTable
from app.classes.people.csv_heads import Head, find_head, fitting_row
from app.classes.people.csv_text import csv_rows, csv_text
from app.core.errors import InputError
from app.core.translation import translate

Format = Literal["ours", "canvas", "moodle", "excel"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class GradeColumn:
    """A column of points: what it is called, and the most points; none: it is a sum."""

    name: str
    possible: float | None = None


@dataclass(frozen=True, slots=True)
class Graded:
    """The points of a person, one for each column; none: no answer."""

    number: int
    outside_id: str
    name: str
    points: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ReadGrades:
    """What a file of grades says; *left* are columns that the class does not have.

    *decimals* is how precise each column is, *most* the points that the file has as its maximum.
    *left_out* says which lines and cells are not used.
    """

    columns: tuple[str, ...]
    lines: tuple[GradeLine, ...]
    left: tuple[str, ...]
    decimals: Mapping[str, int]
    left_out: tuple[str, ...]
    most: Mapping[str, float]


def write_grades(columns: Sequence[GradeColumn], rows: Iterable[Graded], form: Format) -> str:
    """The points of a class in a *form* that `read_grades` reads.

    Canvas and Moodle add up by themselves: they get no sums. They find students by id, and one
    line without stops the import of all others: see `is_taken`.
    """
    heads, identity = _WRITTEN[form]
    rows = (row for row in rows if is_taken(form, row.outside_id))
    kept = [place for place, column in enumerate(columns) if form in ("ours", "excel") or column.possible is not None]
    own = [columns[place] for place in kept]
    table = [[*heads, *(column.name for column in own)]]
    if form == "canvas":
        blank = [""] * (len(heads) - 1)
        possible = [_number(column.possible) for column in own]
        table.append(["    Points Possible", *blank, *possible])
    write = _with_comma if form == "excel" else _number
    table.extend([*identity(row), *(write(row.points[place]) for place in kept)] for row in rows)
    return csv_text(table, ";" if form == "excel" else ",")


def is_taken(form: Format, outside_id: str) -> bool:
    """Whether the system that reads a *form* takes a line of a student with that id, or without."""
    return form in ("ours", "excel") or bool(outside_id)


def read_grades(content: bytes | str, known: Collection[str]) -> ReadGrades:
    """The points in a file of grades, in the columns whose names are *known*.

    An empty cell, and Moodle's hyphen, say nothing.

    Raises:
        InputError: it is not such a file; the message names up to five lines.
    """
    rows = list(limited(csv_rows(content)))
    if not rows:
        raise InputError(translate("this file is empty"))
    at = find_head(rows)
    if at is None:
        raise InputError(
            translate(
                "line {count}: no column says whose points these are; {sample}",
                count=rows[0].number,
                sample=translate(SAMPLE),
            )
        )
    cells, rows = rows[at].cells, rows[at + 1 :]
    head = Head(cells)
    head.look_at(rows)
    if head.open_edx:
        raise InputError(translate("grades of Open edX are shares from 0 to 1, not points; they are not read"))
    table = GradeTable(cells, rows, head, known)
    left_out: list[str] = []
    lines = []
    for row in filter(head.is_person, rows):
        try:
            lines.append(table.line(fitting_row(row, head), left_out))
        except InputError as error:
            left_out.append(translate("line {line}: {error}", line=row.number, error=error))
    if not any(line.points for line in lines):
        refuse_lines(left_out)
    return ReadGrades(
        tuple(table.columns.values()), tuple(lines), table.unread(), table.decimals, tuple(left_out), table.most
    )


def _number(points: float | None) -> str:
    """*points* in full, without the noise of sums in binary."""
    return "" if points is None else f"{round(points, 6):.12g}"


def _with_comma(points: float | None) -> str:
    """*points* as a spreadsheet in German or French reads them."""
    return _number(points).replace(".", ",")


def _ours(row: Graded) -> Sequence[str]:
    return str(row.number), row.outside_id, row.name


def _canvas(row: Graded) -> Sequence[str]:
    first, _, last = row.name.rpartition(" ")
    return f"{last}, {first}" if first else last, "", row.outside_id, "", ""


def _moodle(row: Graded) -> Sequence[str]:
    first, _, last = row.name.rpartition(" ")
    return first or last, last if first else "", row.outside_id


_WRITTEN: Mapping[Format, tuple[Sequence[str], Callable[[Graded], Sequence[str]]]] = {
    "ours": (("number", "id", "name"), _ours),
    "canvas": (("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), _canvas),
    "moodle": (("First name", "Last name", "ID number"), _moodle),
    "excel": (("number", "id", "name"), _ours),
}
