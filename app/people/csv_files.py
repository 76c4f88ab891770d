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
from app.people.csv_heads import Head, first_of
from app.people.csv_text import CsvRow, csv_rows, csv_text
from app.people.persons import clean_name
from app.translation import noted, translate

Format = Literal["ours", "canvas", "moodle"]
FORMATS: tuple[Format, ...] = get_args(Format)
MOST_LINES = 10_000
_SHOWN = 5  # problems that are reported

_POSSIBLE = "points possible"
_SAMPLE = noted("name the columns in the first line, such as id,name or name alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
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
    return csv_text(chain([("id", "name", "role")], rows))


def read_roster(content: bytes | str) -> Sequence[RosterEntry]:
    """Everyone on a roster: a CSV file in any usual encoding, an export of Canvas or Moodle, or
    names pasted one per line.

    Raises:
        InputError: it is not a roster; the message names up to five lines.
    """
    lines = _limited(csv_rows(content))
    head, rows = _head(lines)
    problems: list[str] = []
    found = []
    for row in rows:
        try:
            found.append(_listed(row, head))
        except InputError as error:
            problems.append(translate("line {line}: {error}", line=row.number, error=error))
    _refuse(problems)
    if not found:
        raise InputError(translate("this roster has no lines below its head; nobody is on it"))
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
    return csv_text(table)


def read_grades(content: bytes | str, known: Collection[str]) -> ReadGrades:
    """The points in a file of grades, in the columns whose names are *known*.

    An empty cell, and Moodle's hyphen, say nothing.

    Raises:
        InputError: it is not such a file; the message names up to five lines.
    """
    rows = _limited(csv_rows(content))
    first = next(rows, None)
    if first is None:
        raise InputError(translate("this file is empty"))
    head = Head(first.cells)
    if not head:
        raise InputError(
            translate(
                "line {count}: no column says whose points these are; {sample}",
                count=first.number,
                sample=translate(_SAMPLE),
            )
        )
    columns = _known_columns(first.cells, known)
    if not columns:
        heads = [cell for place, cell in enumerate(first.cells) if place not in head.places]
        near = next((says for cell in heads if (says := nearest(cell, known))), "")
        raise InputError(
            translate("no column is an assignment or exercise of this class{near}", near=near)
        )
    problems: list[str] = []
    lines = []
    for row in rows:
        if row.cells[0].casefold() == _POSSIBLE:
            continue
        try:
            lines.append(_grade_line(row, head, columns))
        except InputError as error:
            problems.append(translate("line {line}: {error}", line=row.number, error=error))
    _refuse(problems)
    left = [
        cell
        for place, cell in enumerate(first.cells)
        if cell and place not in columns and place not in head.places
    ]  # fmt: skip
    return ReadGrades(tuple(columns.values()), tuple(lines), tuple(left))


def _limited(lines: Iterable[CsvRow]) -> Iterator[CsvRow]:
    for count, line in enumerate(lines):
        if count > MOST_LINES:  # besides the head
            most = f"{MOST_LINES:,}"
            raise InputError(
                translate("this file has more than {most} lines, the limit", most=most)
            )
        yield line


def _head(lines: Iterator[CsvRow]) -> tuple[Head, Iterator[CsvRow]]:
    """The head of a roster and its rows; without a head, where the columns are not in doubt."""
    rows = list(lines)
    if not rows:
        raise InputError(translate("this roster is empty"))
    if head := Head(rows[0].cells):
        return head, (row for row in rows[1:] if row.cells[0].casefold() != _POSSIBLE)
    width = max(len(row.cells) for row in rows)
    if width == 1:
        return Head(["name"]), iter(rows)
    numeric = [
        place
        for place in range(width)
        if all(len(row.cells) == width and re.search(r"\d", row.cells[place]) for row in rows)
    ]
    if width == 2 and len(numeric) == 1:  # noqa: PLR2004
        return Head(["id", "name"] if numeric == [0] else ["name", "id"]), iter(rows)
    raise InputError(
        translate(
            "line {count}: found {cells!r}; {sample}",
            count=rows[0].number,
            cells=", ".join(rows[0].cells)[:80],
            sample=translate(_SAMPLE),
        )
    )


def _listed(row: CsvRow, head: Head) -> RosterEntry:
    role = first_of(row, head.roles).casefold()
    return RosterEntry(
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
            raise InputError(translate("two columns are called {name!r}", name=name[:60]))
        if name:
            found[place] = name
    return found


def _grade_line(row: CsvRow, head: Head, columns: Mapping[int, str]) -> GradeLine:
    number = first_of(row, head.numbers)
    if number and not number.isdecimal():
        raise InputError(
            translate("number is {text!r}, and a whole number is expected", text=number[:40])
        )
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
        raise InputError(
            translate(
                "{name} is {cell!r}; points are a number such as 7.5, or empty",
                name=name,
                cell=cell[:40],
            )
        )
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
        rest = [translate("and {more:,} more", more=more)] if more > 0 else []
        raise InputError("; ".join([*problems[:_SHOWN], *rest]))


_WRITTEN: Mapping[Format, tuple[Sequence[str], Callable[[Graded], Sequence[str]]]] = {
    "ours": (("number", "id", "name"), _ours),
    "canvas": (("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), _canvas),
    "moodle": (("First name", "Last name", "ID number"), _moodle),
}
