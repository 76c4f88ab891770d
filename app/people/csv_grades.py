"""Points as CSV files: as Wallclock, Canvas, Moodle and spreadsheets write them."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.errors import InputError, nearest
from app.people.csv_files import SAMPLE, limited, refuse_lines
from app.people.csv_heads import Head, first_of, plain_head
from app.people.csv_text import CsvRow, csv_rows, csv_text
from app.translation import translate

Format = Literal["ours", "canvas", "moodle", "excel"]
FORMATS: tuple[Format, ...] = get_args(Format)
# What Canvas, Moodle and Blackboard add to the title of a column of points.
_ADDED = re.compile(r" ?(\(\d+\)|\((real|points|punkte|réel|puntos)\)|\[[^\]]*pts[^\]]*\] ?\|\d+)$")
_LEAST_DECIMALS = 2  # at which points are compared: nobody means 9 by 9.33


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
class GradeLine:
    """A line of a file of grades; an empty cell is not among the *points*."""

    line: int
    number: int | None
    outside_id: str
    name: str
    points: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ReadGrades:
    """What a file of grades says; *left* are columns that the class does not have.

    *decimals* is how precise each column is. *left_out* says which lines and cells are not used.
    """

    columns: tuple[str, ...]
    lines: tuple[GradeLine, ...]
    left: tuple[str, ...]
    decimals: Mapping[str, int]
    left_out: tuple[str, ...]


def write_grades(columns: Sequence[GradeColumn], rows: Iterable[Graded], form: Format) -> str:
    """The points of a class in a *form* that `read_grades` reads.

    Canvas and Moodle add up by themselves: they get no sums. They find students by id, and one
    line without stops the import of all others: see `is_taken`.
    """
    heads, identity = _WRITTEN[form]
    rows = (row for row in rows if is_taken(form, row.outside_id))
    kept = [
        place
        for place, column in enumerate(columns)
        if form in ("ours", "excel") or column.possible is not None
    ]
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
    rows = limited(csv_rows(content))
    first = next(rows, None)
    if first is None:
        raise InputError(translate("this file is empty"))
    head = Head(first.cells)
    if not head:
        raise InputError(
            translate(
                "line {count}: no column says whose points these are; {sample}",
                count=first.number,
                sample=translate(SAMPLE),
            )
        )
    columns = _known_columns(first.cells, known)
    if not columns:
        heads = [cell for place, cell in enumerate(first.cells) if place not in head.places]
        near = next((says for cell in heads if (says := nearest(cell, known))), "")
        raise InputError(
            translate("no column is an assignment or exercise of this class{near}", near=near)
        )
    left_out: list[str] = []
    lines, decimals = [], dict.fromkeys(columns.values(), _LEAST_DECIMALS)
    for row in (one for one in rows if head.is_person(one)):
        try:
            lines.append(_grade_line(row, head, columns, decimals, left_out))
        except InputError as error:
            left_out.append(translate("line {line}: {error}", line=row.number, error=error))
    if not any(line.points for line in lines):
        refuse_lines(left_out)
    own = set(columns.values())
    left = tuple(cell for cell in head.unused if _title(cell) not in {plain_head(n) for n in own})
    return ReadGrades(tuple(columns.values()), tuple(lines), left, decimals, tuple(left_out))


def _known_columns(cells: Sequence[str], known: Collection[str]) -> dict[int, str]:
    """The names of the columns that are *known*, by place."""
    names = {plain_head(name): name for name in known}
    found: dict[int, str] = {}
    for place, cell in enumerate(cells):
        name = names.get(plain_head(cell)) or names.get(_title(cell))
        name = name or names.get(_title(cell).partition(":")[2].strip())
        if name and name in found.values():
            raise InputError(translate("two columns are called {name!r}", name=name[:60]))
        if name:
            found[place] = name
    return found


def _title(cell: str) -> str:
    """The title of a column of points, without what Canvas, Moodle and Blackboard add.

    >>> _title("Week 1 (4711)"), _title("Week 1 (Punkte)")
    ('week 1', 'week 1')
    >>> _title("Week 1 [Total Pts: 10 Score] |574283")
    'week 1'
    """
    return _ADDED.sub("", plain_head(cell)).strip()


def _grade_line(
    row: CsvRow,
    head: Head,
    columns: Mapping[int, str],
    decimals: dict[str, int],
    left_out: list[str],
) -> GradeLine:
    """The points of a line; what is not a number is *left_out*, with the reason."""
    number = first_of(row, head.numbers)
    if number and not number.isdecimal():
        raise InputError(
            translate("number is {text!r}, and a whole number is expected", text=number[:40])
        )
    points = {}
    for place, name in columns.items():
        cell = row.cells[place] if place < len(row.cells) else ""
        if cell in ("", "-"):
            continue
        if (value := _points(cell)) is None:
            left_out.append(
                translate(
                    "line {line}: {name} is {cell!r}; points are a number such as 7.5, or empty",
                    line=row.number,
                    name=name[:60],
                    cell=cell[:40],
                )
            )
            continue
        points[name] = value
        decimals[name] = max(decimals[name], len(re.split("[.,]", cell)[-1]) if value % 1 else 0)
    return GradeLine(
        row.number,
        int(number[:18]) if number else None,
        head.outside_id(row),
        head.name(row),
        points,
    )


def _points(cell: str) -> float | None:
    """Points as people write them; None if *cell* is not a number.

    >>> _points("7,5"), _points("EX")
    (7.5, None)
    """
    if not re.fullmatch(r"[+-]?\d{1,9}([.,]\d{0,12})?", cell):
        return None
    return float(cell.replace(",", "."))


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
