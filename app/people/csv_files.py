"""Rosters and grades as CSV files: as Wallclock, Canvas and Moodle write them.

A cell that a spreadsheet would run gets an apostrophe, which is taken off when it is read.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, get_args

from app.errors import InputError, nearest
from app.people.classes import Member, Role
from app.people.csv_text import Line, lines_of, written
from app.people.persons import clean_name

Format = Literal["ours", "canvas", "moodle"]
FORMATS: tuple[Format, ...] = get_args(Format)
MOST_LINES = 10_000
_SHOWN = 5  # problems that are reported
_LONGEST_ID = 255

_NAME = ("name", "full name", "student", "student name", "vollständiger name", "nom complet")
_FIRST = ("first name", "firstname", "given name", "vorname", "prénom", "nombre")
_LAST = ("last name", "lastname", "surname", "family name", "nachname", "nom", "apellido(s)")
# Of several, the first that is filled holds: in Canvas's files, ID is a number of Canvas.
_ID = (
    "sis user id", "id number", "student id", "student number", "outside id", "outside_id",
    "matriculation number", "matrikelnummer", "id-nummer", "numéro d'identification",
    "número de id", "id", "sis login id", "username", "email address", "email", "e-mail",
)  # fmt: skip
_ROLE = ("role", "roles", "rolle", "rôle", "rol")
_NUMBER = ("number",)
_OTHERS = (
    "section", "institution", "department", "total", "course total",
    "last downloaded from this course", "groups", "root account",
)  # fmt: skip
_POSSIBLE = "points possible"
_SAMPLE = "name the columns in the first line, such as id,name or name alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A person on a roster, and the *line* of it; without a *role*, a new one is a student."""

    line: int
    name: str
    outside_id: str = ""
    role: Role | None = None


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
    """What a file of grades says; *left* are columns that the class does not have."""

    columns: tuple[str, ...]
    lines: tuple[GradeLine, ...]
    left: tuple[str, ...]


def write_roster(members: Iterable[Member]) -> str:
    """The roster of a class, as `read_roster` reads it."""
    rows = ((one.outside_id, one.name, one.role.word) for one in members)
    return written(chain([("id", "name", "role")], rows))


def read_roster(content: bytes | str) -> Sequence[Listed]:
    """Everyone on a roster: a CSV file in any usual encoding, an export of Canvas or Moodle, or
    names pasted one per line.

    Raises:
        InputError: it is not a roster; the message names up to five lines.
    """
    lines = _limited(lines_of(content))
    head, rows = _head(lines)
    problems: list[str] = []
    found = []
    for row in rows:
        try:
            found.append(_listed(row, head))
        except InputError as error:
            problems.append(f"line {row.number}: {error}")
    _refuse(problems)
    if not found:
        raise InputError("this roster has no lines below its head; nobody is on it")
    return found


def write_grades(columns: Sequence[GradeColumn], rows: Iterable[Graded], form: Format) -> str:
    """The points of a class in a *form* that `read_grades` reads.

    Canvas and Moodle add up by themselves: they get no sums.
    """
    heads, identity = _WRITTEN[form]
    kept = [
        place
        for place, column in enumerate(columns)
        if form == "ours" or column.possible is not None
    ]
    own = [columns[place] for place in kept]
    table = [[*heads, *(column.name for column in own)]]
    if form == "canvas":
        blank = [""] * (len(heads) - 1)
        possible = [_number(column.possible) for column in own]
        table.append(["    Points Possible", *blank, *possible])
    table.extend([*identity(row), *(_number(row.points[place]) for place in kept)] for row in rows)
    return written(table)


def read_grades(content: bytes | str, known: Collection[str]) -> ReadGrades:
    """The points in a file of grades, in the columns whose names are *known*.

    An empty cell, and Moodle's hyphen, say nothing.

    Raises:
        InputError: it is not such a file; the message names up to five lines.
    """
    rows = _limited(lines_of(content))
    first = next(rows, None)
    if first is None:
        raise InputError("this file is empty")
    head = _Head(first.cells)
    if not head:
        raise InputError(f"line {first.number}: no column says whose points these are; {_SAMPLE}")
    columns = _known_columns(first.cells, known)
    if not columns:
        heads = [cell for place, cell in enumerate(first.cells) if place not in head.places]
        near = next((says for cell in heads if (says := nearest(cell, known))), "")
        raise InputError(f"no column is an assignment or exercise of this class{near}")
    problems: list[str] = []
    lines = []
    for row in rows:
        if row.cells[0].casefold() == _POSSIBLE:
            continue
        try:
            lines.append(_grade_line(row, head, columns))
        except InputError as error:
            problems.append(f"line {row.number}: {error}")
    _refuse(problems)
    left = [
        cell
        for place, cell in enumerate(first.cells)
        if cell and place not in columns and place not in head.places
        and cell.casefold() not in _OTHERS
    ]  # fmt: skip
    return ReadGrades(tuple(columns.values()), tuple(lines), tuple(left))


class _Head:
    """Which column says what about a person."""

    def __init__(self, cells: Sequence[str]) -> None:
        names = [" ".join(cell.casefold().split()) for cell in cells]

        def places(known: Sequence[str]) -> list[int]:
            return [names.index(name) for name in known if name in names]

        self.names = places(_NAME)
        self.first, self.last = places(_FIRST), places(_LAST)
        self.ids, self.roles, self.numbers = places(_ID), places(_ROLE), places(_NUMBER)
        self.places = {
            *self.names, *self.first, *self.last, *self.ids, *self.roles, *self.numbers
        }  # fmt: skip
        self.canvas = "student" in names and "sis user id" in names

    def __bool__(self) -> bool:
        return bool(self.names or self.first or self.last or self.ids)

    def name(self, row: Line) -> str:
        """The name of the person of *row*; Canvas writes the last name first."""
        if whole := _first_of(row, self.names):
            last, comma, first = whole.partition(", ")
            return f"{first} {last}" if comma and self.canvas else whole
        return f"{_first_of(row, self.first)} {_first_of(row, self.last)}".strip()

    def outside_id(self, row: Line) -> str:
        """The first id that *row* has."""
        found = _first_of(row, self.ids)
        if len(found) > _LONGEST_ID or not found.isprintable():
            raise InputError(f"an id has at most {_LONGEST_ID} printable characters")
        return found


def _first_of(row: Line, places: Iterable[int]) -> str:
    """The first cell of *row* that is filled, of those at *places*."""
    cells = (row.cells[place] for place in places if place < len(row.cells))
    return next((cell for cell in cells if cell), "")


def _limited(lines: Iterable[Line]) -> Iterator[Line]:
    for count, line in enumerate(lines):
        if count > MOST_LINES:  # besides the head
            raise InputError(f"this file has more than {MOST_LINES:,} lines, the limit")
        yield line


def _head(lines: Iterator[Line]) -> tuple[_Head, Iterator[Line]]:
    """The head of a roster and its rows; without a head, where the columns are not in doubt."""
    rows = list(lines)
    if not rows:
        raise InputError("this roster is empty")
    if head := _Head(rows[0].cells):
        return head, (row for row in rows[1:] if row.cells[0].casefold() != _POSSIBLE)
    width = max(len(row.cells) for row in rows)
    if width == 1:
        return _Head(["name"]), iter(rows)
    numeric = [
        place
        for place in range(width)
        if all(len(row.cells) == width and re.search(r"\d", row.cells[place]) for row in rows)
    ]
    if width == 2 and len(numeric) == 1:  # noqa: PLR2004
        return _Head(["id", "name"] if numeric == [0] else ["name", "id"]), iter(rows)
    raise InputError(f"line {rows[0].number}: found {', '.join(rows[0].cells)[:80]!r}; {_SAMPLE}")


def _listed(row: Line, head: _Head) -> Listed:
    role = _first_of(row, head.roles).casefold()
    return Listed(
        line=row.number,
        name=clean_name(head.name(row) or head.outside_id(row)),
        outside_id=head.outside_id(row),
        role=Role.read(role) if role else None,
    )


def _known_columns(cells: Sequence[str], known: Collection[str]) -> dict[int, str]:
    """The names of the columns that are *known*, by place."""
    names = {" ".join(name.casefold().split()): name for name in known}
    found: dict[int, str] = {}
    for place, cell in enumerate(cells):
        plain = " ".join(cell.casefold().split())
        shorter = re.sub(r" \((\d+|real)\)$", "", plain)  # as Canvas and Moodle export them
        name = names.get(plain) or names.get(shorter) or names.get(shorter.partition(":")[2][1:])
        if name and name in found.values():
            raise InputError(f"two columns are called {name[:60]!r}")
        if name:
            found[place] = name
    return found


def _grade_line(row: Line, head: _Head, columns: Mapping[int, str]) -> GradeLine:
    number = _first_of(row, head.numbers)
    if number and not number.isdecimal():
        raise InputError(f"number is {number[:40]!r}, and a whole number is expected")
    points = {
        name: _points(row.cells[place], name)
        for place, name in columns.items()
        if place < len(row.cells) and row.cells[place] not in ("", "-")
    }
    return GradeLine(
        row.number,
        int(number[:18]) if number else None,
        head.outside_id(row),
        head.name(row),
        points,
    )


def _points(cell: str, name: str) -> float:
    """The points in *cell*, with a point or a comma before the decimals.

    >>> _points("7,5", "ring")
    7.5
    """
    if not re.fullmatch(r"[+-]?\d{1,9}([.,]\d{0,12})?", cell):
        raise InputError(f"{name} is {cell[:40]!r}; points are a number such as 7.5, or empty")
    return float(cell.replace(",", "."))


def _number(points: float | None) -> str:
    """*points* in full, without the noise of sums in binary."""
    return "" if points is None else f"{round(points, 6):.12g}"


def _ours(row: Graded) -> Sequence[str]:
    return str(row.number), row.outside_id, row.name


def _canvas(row: Graded) -> Sequence[str]:
    first, _, last = row.name.rpartition(" ")
    return f"{last}, {first}" if first else last, "", row.outside_id, "", ""


def _moodle(row: Graded) -> Sequence[str]:
    first, _, last = row.name.rpartition(" ")
    return first or last, last if first else "", row.outside_id


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        more = len(problems) - _SHOWN
        rest = [f"and {more:,} more"] if more > 0 else []
        raise InputError("; ".join([*problems[:_SHOWN], *rest]))


_WRITTEN: Mapping[Format, tuple[Sequence[str], Callable[[Graded], Sequence[str]]]] = {
    "ours": (("number", "id", "name"), _ours),
    "canvas": (("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), _canvas),
    "moodle": (("First name", "Last name", "ID number"), _moodle),
}
