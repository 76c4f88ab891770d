"""Grades as files: the points of a class out, and points that were changed in them back in."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from app.errors import InputError, nearest
from app.people.assignments import MOST_POINTS, Assignment
from app.people.classes import Member
from app.people.csv_grade_table import GradeLine
from app.people.csv_grades import Format, GradeColumn, Graded, ReadGrades, read_grades, write_grades
from app.people.external_ids import bare_id
from app.people.gradebook import WHOLE, Cells, points_in
from app.people.overall_grades import overall_percent
from app.people.overrides import Override, override
from app.people.rosters import by_bare_id
from app.translation import translate

_CLOSE = 1e-6  # points: files have six decimals
_TOTAL, _OVERALL = "total", "overall %"

Book = Mapping[int, Cells]


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file of grades: an exercise of an assignment, or the whole of it."""

    name: str
    assignment: Assignment
    exercise: str
    possible: float


@dataclass(frozen=True, slots=True)
class PointsChange:
    """Points that a file gives, other than those of now; *before* is none without an answer."""

    member: Member
    column: FileColumn
    before: float | None
    after: float


@dataclass(frozen=True, slots=True)
class PointsDifference:
    """What a file of grades would change, and the lines that are left out, each with its reason."""

    changes: tuple[PointsChange, ...]
    same: int
    left_out: tuple[str, ...]
    columns: tuple[str, ...]

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
            one.title if titles[one.title.casefold()] == 1 else f"{one.title} [{one.id}]", one, WHOLE, one.points
        )
        for one in assignments
    ]


def grades_file(
    columns: Sequence[FileColumn], members: Sequence[Member], book: Book, form: Format, lowest: int | None = None
) -> str:
    """The points of *members* as a CSV file.

    With the overall grade, if it is known how many of the *lowest* assignments are left out.
    """
    heads = [GradeColumn(column.name, column.possible) for column in columns]
    sums = [GradeColumn(_TOTAL)] + ([] if lowest is None else [GradeColumn(_OVERALL)])
    rows = []
    for member in members:
        points = [_now(book, member, column) for column in columns]
        added = [sum(one for one in points if one is not None)]
        overall = [] if lowest is None else [_overall(columns, points, lowest)]
        cells = (*points, *added, *overall)
        rows.append(Graded(member.person, member.outside_id, member.name, cells))
    return write_grades([*heads, *sums], rows, form)


def _overall(columns: Sequence[FileColumn], points: Sequence[float | None], lowest: int) -> float | None:
    assignments = [column.assignment for column in columns]
    earned = {one.id: found or 0.0 for one, found in zip(assignments, points, strict=True)}
    return overall_percent(assignments, earned, lowest)


def points_difference(
    content: bytes | str, columns: Sequence[FileColumn], members: Sequence[Member], book: Book
) -> PointsDifference:
    """What the file *content* would change.

    Raises:
        InputError: it is not a file of grades.
    """
    named = {column.name: column for column in columns}
    found = read_grades(content, named.keys())
    whose = _Whose(members)
    changes: list[PointsChange] = []
    left_out = [translate("the column {name!r} is none of this class", name=name[:60]) for name in found.left]
    left_out += found.left_out
    scaled = _scaled_otherwise(found, named)
    left_out += scaled.values()
    same = 0
    for line, member in _matched(found, whose, left_out):
        for name, points in line.points.items():
            if name in scaled:
                continue
            if says := _not_possible(points, member, named[name]):
                left_out.append(translate("line {line}: {error}", line=line.line, error=says))
                continue
            before = _now(book, member, named[name])
            if before is not None and _is_same(before, points, found.decimals[name]):
                same += 1
            else:
                changes.append(PointsChange(member, named[name], before, points))
    return PointsDifference(tuple(changes), same, tuple(left_out), found.columns)


def _scaled_otherwise(found: ReadGrades, named: Mapping[str, FileColumn]) -> Mapping[str, str]:
    """The columns whose most points are others in the file than here, each with the reason."""
    return {
        name: translate(
            "{name} is out of {most:g} in this file, and of {points:g} here: its points are not read",
            name=name[:60],
            most=most,
            points=named[name].possible,
        )
        for name, most in found.most.items()
        if most and abs(most - named[name].possible) > _CLOSE
    }


def _not_possible(points: float, member: Member, column: FileColumn) -> str:
    """Why a file cannot give *points* in a column; empty if it can."""
    if not 0 <= points <= MOST_POINTS:
        return translate(
            "{name} is {points:g}; points are from 0 to {most:,.0f}", name=column.name, points=points, most=MOST_POINTS
        )
    if column.exercise != WHOLE and column.exercise not in column.assignment.drawn(member.learner):
        return translate("{exercise} was not drawn for this student", exercise=column.exercise)
    return ""


def _is_same(before: float, points: float, decimals: int) -> bool:
    """Whether *points* of a file are those of now, as far as the file has decimals."""
    return abs(before - points) <= max(_CLOSE, 0.5 * 10.0**-decimals + _CLOSE)


def store_difference(session: Session, found: PointsDifference, by: str, why: str) -> None:
    """Give the points of *found* by hand; not committed.

    Raises:
        InputError: there is no reason.
    """
    assignments = {one.column.assignment.id: one.column.assignment for one in found.changes}
    for number, assignment in assignments.items():
        given = [
            Override(one.member.person, one.column.exercise, one.after)
            for one in found.changes
            if one.column.assignment.id == number
        ]
        override(session, assignment, given, by, why)


def _now(book: Book, member: Member, column: FileColumn) -> float | None:
    """The points of *member* in a column; none without an answer or an override."""
    cells = book[column.assignment.id]
    if column.exercise != WHOLE:
        cell = cells.get((member.person, column.exercise))
        return cell.points if cell else None
    return points_in(cells, member.person, column.assignment)


class _Whose:
    """Finds the student of a line: by number, by the id in other systems, or by a name."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._numbers = {one.person: one for one in members}
        self._ids = {one.outside_id: one for one in members if one.outside_id}
        self._bare = by_bare_id(members)
        names = Counter(one.name.casefold() for one in members)
        self._names = {one.name.casefold(): one for one in members if names[one.name.casefold()] == 1}

    def of(self, line: GradeLine) -> Member:
        """The student of *line*.

        Raises:
            InputError: there is none; the message names the nearest.
        """
        if line.outside_id:
            if found := self._ids.get(line.outside_id) or self._bare.get(bare_id(line.outside_id)):
                return found
            near = nearest(line.outside_id, self._ids)
            raise InputError(
                translate("no student has the id {outside_id!r}{near}", outside_id=line.outside_id[:60], near=near)
            )
        if line.number is not None:
            if line.number in self._numbers:
                return self._numbers[line.number]
            raise InputError(translate("no student has the number {count}", count=line.number))
        if line.name.casefold() in self._names:
            return self._names[line.name.casefold()]
        near = nearest(line.name.casefold(), self._names)
        raise InputError(
            translate("no student, or more than one, is called {name!r}{near}", name=line.name[:60], near=near)
        )


def _matched(found: ReadGrades, whose: _Whose, left_out: list[str]) -> Iterator[tuple[GradeLine, Member]]:
    """Each line with its student; those without one, and second ones, are *left_out*."""
    seen: dict[int, int] = {}
    for line in found.lines:
        try:
            member = whose.of(line)
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
