"""Points as CSV files: those of a class out, for us, Canvas, Moodle and spreadsheets, and our own back in."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from sqlmodel import Session

from app.classes.people import gradebook
from app.classes.people.assignments import MOST_POINTS, Assignment, assignment_numbered
from app.classes.people.classes import Member
from app.classes.people.csv_rosters import foreign_format, read_id, refuse_lines
from app.classes.people.csv_text import CsvFile, CsvRow, csv_text, read_csv
from app.classes.people.rosters import MemberIndex
from app.core.errors import InputError, input_error, nearest
from app.core.translation import translate

Format = Literal["ours", "canvas", "moodle", "excel"]
FORMATS: tuple[Format, ...] = get_args(Format)
_OWN_FORMS = ("ours", "excel")
_CLOSE = 1e-6  # points: files have six decimals
_LEAST_EXPONENT = -2  # at which points are compared: nobody means 9 by 9.33
_IDENTITY = ("number", "id", "name")
_SUMS = {one.head.casefold() for one in gradebook.COLUMNS}
_NUMBER = re.compile(r"[+-]?(?:\d{1,9}(?:[.,]\d{0,12})?|[.,]\d{1,12})", re.ASCII)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)

# Canvas takes EX for a cell that is excused; Moodle has no word for it, and leaves an empty one alone.
_EXCUSED: Mapping[Format, str] = {"ours": "excused", "excel": "excused", "canvas": "EX", "moodle": ""}

Book = Mapping[int, gradebook.Cells]


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file of grades: an exercise of an assignment, or the whole of it."""

    name: str
    assignment: Assignment
    exercise: str
    possible: float


@dataclass(frozen=True, slots=True)
class GradeLine:
    """A line of a file of grades; an empty cell is not among the *points*, and None is an excused one."""

    line: int
    number: int | None
    outside_id: str
    name: str
    points: list[tuple[FileColumn, Decimal | None]]


@dataclass(frozen=True, slots=True)
class PointsChange:
    """Points that a file gives, other than those of now; *before* is none without an answer.

    *after* is none where the file says that the student is excused.
    """

    member: Member
    column: FileColumn
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class PointsDifference:
    """What a file of grades would change, and the lines that are left out, each with its reason."""

    changes: tuple[PointsChange, ...]
    same: int
    left_out: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same for the same difference."""
        rows = [
            (one.member.person, one.column.assignment.id, one.column.exercise, one.before, one.after)
            for one in self.changes
        ]
        return hashlib.sha256(repr(rows).encode()).hexdigest()


def columns_of(assignments: Sequence[Assignment], exercises_of: Assignment | None = None) -> Sequence[FileColumn]:
    """A column for each of *assignments*; or for each exercise of one."""
    if exercises_of is not None:
        return [
            FileColumn(entry.exercise, exercises_of, entry.exercise, entry.points) for entry in exercises_of.entries
        ]
    titles = Counter(one.title.casefold() for one in assignments)
    return [
        FileColumn(
            one.title if titles[one.title.casefold()] == 1 else f"{one.title} [{one.id}]",
            one,
            gradebook.WHOLE,
            one.points,
        )
        for one in assignments
    ]


def class_grades_file(grades: gradebook.Grades, form: Format, assignment: int = 0) -> str:
    """The points of a class as a file in a *form*: in each assignment, or in each exercise of one.

    Raises:
        NotFoundError: the class has no such assignment.
    """
    chosen = assignment_numbered(grades.assignments, assignment) if assignment else None
    columns = columns_of(grades.assignments, chosen)
    return grades_file(columns, grades.members, grades.cells, form, None if chosen else grades.lowest)


def grades_file(
    columns: Sequence[FileColumn], members: Sequence[Member], book: Book, form: Format, lowest: int | None = None
) -> str:
    """The points of *members* as a CSV file in a *form*, with sums in ours.

    With the columns of a class, if it is known how many of the *lowest* assignments are left out. Canvas and Moodle add
    up by themselves. They find students by id, and one line without stops the import of all others: see `is_taken`.
    """
    own = form in _OWN_FORMS
    titles, identity = _WRITTEN[form]
    number = _with_comma if form == "excel" else _plain_points
    assignments = {column.assignment.id: column.assignment for column in columns}
    sums = [one for one in gradebook.COLUMNS if own and (lowest is not None or not one.of_class)]
    table = [[*titles, *(column.name for column in columns), *(one.head for one in sums)]]
    if form == "canvas":
        blank = [""] * (len(titles) - 1)
        table.append(["    Points Possible", *blank, *(number(column.possible) for column in columns)])
    for member in members:
        if is_taken(form, member.outside_id):
            points = [
                _EXCUSED[form] if excused else number(now)
                for now, excused in (_now(book, member, column) for column in columns)
            ]
            student = gradebook.StudentPoints.of(member.person, list(assignments.values()), book, lowest or 0)
            table.append([*identity(member), *points, *(number(one.value(student)) for one in sums)])
    return csv_text(table, ";" if form == "excel" else ",")


def is_taken(form: Format, outside_id: str) -> bool:
    """Whether the system that reads a *form* takes a line of a student with that id, or without."""
    return form in _OWN_FORMS or bool(outside_id)


def _plain_points(points: float | None) -> str:
    """*points* in full, without the noise of sums in binary."""
    return "" if points is None else f"{round(points, 6):.12g}"


def _with_comma(points: float | None) -> str:
    """*points* as a spreadsheet in German or French reads them."""
    return _plain_points(points).replace(".", ",")


def _our_identity(member: Member) -> Sequence[str]:
    return str(member.person), member.outside_id, member.name


def _canvas_identity(member: Member) -> Sequence[str]:
    first, _, last = member.name.rpartition(" ")
    return f"{last}, {first}" if first else last, "", member.outside_id, "", ""


def _moodle_identity(member: Member) -> Sequence[str]:
    first, _, last = member.name.rpartition(" ")
    return first or last, last if first else "", member.outside_id


_WRITTEN: Mapping[Format, tuple[Sequence[str], Callable[[Member], Sequence[str]]]] = {
    "ours": (_IDENTITY, _our_identity),
    "canvas": (("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), _canvas_identity),
    "moodle": (("First name", "Last name", "ID number"), _moodle_identity),
    "excel": (_IDENTITY, _our_identity),
}


def points_difference(
    content: bytes | str, choices: Sequence[Sequence[FileColumn]], members: Sequence[Member], book: Book
) -> PointsDifference:
    """What our own file of grades would change in those columns of *choices* of which it has most.

    An empty cell says nothing.

    Raises:
        InputError: it is not such a file; the message names up to five lines.
    """
    file = read_csv(content)
    identity = _identity(file.rows[0])
    columns, left_out = _points_columns(file.rows[0], identity, choices)
    lines = _grade_lines(file, identity, columns, left_out)
    changes: list[PointsChange] = []
    same = 0
    for line, member in _matched(lines, MemberIndex(members), left_out):
        for column, given in line.points:
            before, excused = _now(book, member, column)
            points = None if given is None else float(given) + 0.0  # no minus before 0
            if says := _not_possible(points or 0.0, member, column):
                left_out.append(translate("line {line}: {error}", line=line.line, error=says))
            elif _is_same(before, given, excused=excused):
                same += 1
            else:
                changes.append(PointsChange(member, column, before, points))
    return PointsDifference(tuple(changes), same, tuple(left_out))


def _identity(head: CsvRow) -> Mapping[str, int]:
    """Where number, id and name are."""
    titles = [cell.casefold() for cell in head.cells]
    found = {word: titles.index(word) for word in _IDENTITY if word in titles}
    system = foreign_format(head.cells)
    if found and not system:
        return found
    says = translate("this is a file of {system}", system=system.system) if system else ""
    raise input_error(
        "line {line}: {says}; points are read from Wallclock's own file alone: download the grades for a "
        "spreadsheet, change points in that file, and send it back",
        line=head.number,
        says=says or translate("no column is called number, id or name"),
    )


def _points_columns(
    head: CsvRow, identity: Mapping[str, int], choices: Sequence[Sequence[FileColumn]]
) -> tuple[Mapping[int, FileColumn], list[str]]:
    """The columns of points by place, and sentences on those that the class does not have."""
    titles = {place: cell.casefold() for place, cell in enumerate(head.cells) if place not in identity.values()}
    wanted = max(choices, key=lambda some: sum(column.name.casefold() in titles.values() for column in some))
    named = {column.name.casefold(): column for column in wanted}
    columns: dict[int, FileColumn] = {}
    left: list[str] = []
    for place, title in titles.items():
        column = named.get(title)
        again = column in columns.values()
        if title in _SUMS and (again or not column) or not title:
            continue
        if again:
            raise input_error("two columns are called {name!r}", name=title[:60])
        if column:
            columns[place] = column
        else:
            left.append(head.cells[place])
    if not columns:
        near = next((says for cell in left if (says := nearest(cell, [one.name for one in wanted]))), "")
        raise input_error("no column is an assignment or exercise of this class{near}", near=near)
    return columns, [translate("the column {name!r} is none of this class", name=name[:60]) for name in left]


def _grade_lines(
    file: CsvFile, identity: Mapping[str, int], columns: Mapping[int, FileColumn], left_out: list[str]
) -> Sequence[GradeLine]:
    """The lines below the titles; what is not points is *left_out*, with its line, column and reason."""
    lines = []
    for row in file.rows[1:]:
        try:
            number = row.cell(identity.get("number"))
            if number and not (number.isascii() and number.isdecimal()):
                raise input_error("number is {text!r}, and a whole number is expected", text=number[:40])
            outside_id, name = read_id(row.cell(identity.get("id"))), row.cell(identity.get("name"))
            lines.append(GradeLine(row.number, int(number[:18]) if number else None, outside_id, name, []))
        except InputError as error:
            left_out.append(translate("line {line}: {error}", line=row.number, error=error))
            continue
        for place, column in columns.items():
            try:
                if cell := row.cell(place):
                    lines[-1].points.append((column, _points(cell, file.separator)))
            except InputError as error:
                says = translate("line {line}: {name} is {error}", line=row.number, name=column.name[:60], error=error)
                left_out.append(says)
    if not any(line.points for line in lines):
        refuse_lines(left_out)
    return lines


def _points(cell: str, separator: str) -> Decimal | None:
    """*cell* as points, or None if it is excused: where semicolons separate cells, a comma begins the decimals."""
    if cell.casefold() == _EXCUSED["ours"]:
        return None
    other = "." if separator == ";" else ","
    if other in cell and _MAY_BE_THOUSANDS.fullmatch(cell):
        raise input_error(
            "{cell!r}, with thousands or with decimals: write it without {sign!r}", cell=cell[:40], sign=other
        )
    if not _NUMBER.fullmatch(cell):
        raise input_error("{cell!r}; points are a number such as 7.5, empty, or excused", cell=cell[:40])
    return Decimal(cell.replace(",", "."))


def _tolerance(given: Decimal) -> float:
    """Half of the last decimal of *given*: a spreadsheet may have rounded the others away."""
    exponent = given.as_tuple().exponent
    decimals = min(exponent, _LEAST_EXPONENT) if isinstance(exponent, int) else _LEAST_EXPONENT
    return max(_CLOSE, 0.5 * 10.0**decimals + _CLOSE)


def _is_same(before: float | None, given: Decimal | None, *, excused: bool) -> bool:
    """Whether a cell of a file says what holds already."""
    if given is None or before is None:
        return given is None and excused
    return abs(before - float(given)) <= _tolerance(given)


def _not_possible(points: float, member: Member, column: FileColumn) -> str:
    """Why a file cannot give *points* in a column; empty if it can."""
    if not 0 <= points <= MOST_POINTS:
        return translate(
            "{name} is {points:g}; points are from 0 to {most:,.0f}", name=column.name, points=points, most=MOST_POINTS
        )
    if column.exercise != gradebook.WHOLE and column.exercise not in column.assignment.drawn(member.learner):
        return translate("{exercise} was not drawn for this student", exercise=column.exercise)
    return ""


def difference_in(session: Session, secret: str, class_id: int, text: str) -> PointsDifference:
    """What the CSV file *text* would change in the points of a class.

    Its columns are whole assignments, or the exercises of one: whichever more of are in its head.

    Raises:
        InputError: it is not a file of grades.
    """
    found = gradebook.grades_of(session, secret, class_id)
    choices = [columns_of(found.assignments), *(columns_of((), one) for one in found.assignments)]
    return points_difference(text, choices, found.members, found.cells)


def store_difference(session: Session, found: PointsDifference, by: str, why: str) -> None:
    """Give the points of *found* by hand; not committed.

    Raises:
        InputError: there is no reason.
    """
    assignments = {one.column.assignment.id: one.column.assignment for one in found.changes}
    for number, assignment in assignments.items():
        given = [
            gradebook.Override(one.member.person, one.column.exercise, one.after, excused=one.after is None)
            for one in found.changes
            if one.column.assignment.id == number
        ]
        gradebook.override(session, assignment, given, by, why)


def _now(book: Book, member: Member, column: FileColumn) -> tuple[float | None, bool]:
    """The points of *member* in a column, none without an answer or an override; and whether it is excused."""
    cells = book[column.assignment.id]
    if column.exercise == gradebook.WHOLE:
        return gradebook.points_in(cells, member.person, column.assignment), gradebook.is_excused(
            cells, member.person, column.assignment
        )
    cell = cells.get((member.person, column.exercise))
    if cell is None or cell.excused:
        return None, cell is not None
    return cell.points, False


def _student(students: MemberIndex, line: GradeLine) -> Member:
    """The student of *line*.

    Raises:
        InputError: there is none; the message names the nearest.
    """
    if line.outside_id:
        if found := students.with_id(line.outside_id):
            return found
        near = nearest(line.outside_id, students.ids)
        raise input_error("no student has the id {outside_id!r}{near}", outside_id=line.outside_id[:60], near=near)
    if line.number is not None:
        if line.number in students.numbers:
            return students.numbers[line.number]
        raise input_error("no student has the number {count}", count=line.number)
    name = line.name.casefold()
    if name in students.names:
        return students.names[name]
    near = nearest(name, students.names)
    raise input_error("no student, or more than one, is called {name!r}{near}", name=line.name[:60], near=near)


def _matched(
    lines: Sequence[GradeLine], students: MemberIndex, left_out: list[str]
) -> Iterator[tuple[GradeLine, Member]]:
    """Each line with its student; those without one, and second ones, are *left_out*."""
    seen: dict[int, int] = {}
    for line in lines:
        try:
            member = _student(students, line)
        except InputError as error:
            left_out.append(translate("line {line}: {error}", line=line.line, error=error))
            continue
        if first := seen.get(member.person):
            left_out.append(
                translate(
                    "line {line}: {name} again, as on line {first}", line=line.line, name=member.name, first=first
                )
            )
            continue
        seen[member.person] = line.line
        yield line, member
