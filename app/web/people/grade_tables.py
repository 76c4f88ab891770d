"""The tables of a gradebook: people by assignments, and people by exercises of one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from app.people.activity import ExerciseFigures
from app.people.assignments import Assignment
from app.people.cells import Cell
from app.people.classes import Member
from app.people.gradebook import WHOLE, Cells, cells_of_person, overall_percent
from app.site import Site
from app.web.frame.renderer import Hyperlink
from app.web.people.ideas import Idea, link_to

SHOWN = 300  # people on a page
_NO_ANSWER = Cell(0.0)
Sorted = Literal["ascending", "descending", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of points; *sort* is the link that sorts by it, and *opens* what it is about."""

    text: str
    opens: str
    points: float
    sort: str
    sorted: Sorted = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsCell:
    """Points, and what is special about them; *begun*: there is an answer or an override.

    *has*: the student has the exercise; of a pool, it was drawn.
    """

    points: float
    href: str
    begun: bool
    late: bool
    overridden: bool
    has: bool = True


@dataclass(frozen=True, slots=True)
class PointsRow:
    """The points of a person."""

    name: str
    href: str
    cells: tuple[PointsCell, ...]
    total: float
    overridden: bool
    percent: float | None


@dataclass(frozen=True, slots=True)
class PointsTable:
    """A page of a table of points; *means* are over all who have the exercise, begun or not.

    The table of a class has a column *overall*, in percent.
    """

    name: Column
    columns: tuple[Column, ...]
    total: Column
    rows: tuple[PointsRow, ...]
    means: tuple[float, ...]
    pages: tuple[Hyperlink, ...]
    page: int
    overall: Column | None = None
    mean_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseGradesRow:
    """How the class does with an exercise, and which wrong ideas it has."""

    link: Hyperlink
    figures: ExerciseFigures | None
    minutes: str
    ideas: tuple[Idea, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """The points of a student; *whole*: those given by hand for all of an assignment.

    *percent*: the overall grade.
    """

    member: Member
    cells: list[PointsCell]
    whole: float | None = None
    percent: float | None = None

    @property
    def total(self) -> float:
        """All points."""
        return sum(cell.points for cell in self.cells) if self.whole is None else self.whole


@dataclass(frozen=True, slots=True)
class TableRequest:
    """How a table is sorted, which page of it is shown, and of which group: as its address says."""

    href: str
    sort: str = ""
    down: bool = False
    page: int = 1
    group: str = ""

    def link(self, sort: str) -> str:
        """The address that sorts by *sort*; names begin with the first, points with the most."""
        down = not self.down if sort == self.sort else sort != ""
        asked = {"sort": sort} | ({"down": "yes"} if down else {}) | self._grouped
        return f"{self.href}?{urlencode(asked)}"

    def at(self, page: int) -> str:
        """The address of another page."""
        asked = {"sort": self.sort} | ({"down": "yes"} if self.down else {}) | {"page": page}
        return f"{self.href}?{urlencode(asked | self._grouped)}"

    def of(self, group: str) -> str:
        """The address of the same for another group; empty: for everyone."""
        return f"{self.href}?{urlencode({'group': group})}" if group else self.href

    @property
    def _grouped(self) -> dict[str, str]:
        return {"group": self.group} if self.group else {}

    def order_of(self, key: str) -> Sorted:
        """The order of the column *key*."""
        if key != self.sort:
            return ""
        return "descending" if self.down else "ascending"


def class_table(
    students: Sequence[Member],
    assignments: Sequence[Assignment],
    book: Mapping[int, Cells],
    asked: TableRequest,
    lowest: int = 0,
) -> PointsTable:
    """People by assignments, and the overall grade: without *lowest* of them, the lowest."""
    columns = tuple(
        Column(
            text=one.title,
            opens=f"{asked.href}/{one.id}",
            points=one.points,
            sort=asked.link(str(one.id)),
            sorted=asked.order_of(str(one.id)),
        )
        for one in assignments
    )

    def cell(member: Member, one: Assignment) -> PointsCell:
        cells = book[one.id]
        found = cells_of_person(cells, member.person, one)
        whole = cells.get((member.person, WHOLE))
        return PointsCell(
            points=whole.points if whole else sum([cell.points for cell in found]),
            href=f"{asked.href}/{one.id}/{member.person}",
            begun=bool(found or whole),
            late=any(cell.late for cell in found),
            overridden=whole is not None or any(cell.overridden for cell in found),
        )

    keys = [str(one.id) for one in assignments]
    rows = []
    for student in students:
        cells = [cell(student, assignment) for assignment in assignments]
        earned = {one.id: found.points for one, found in zip(assignments, cells, strict=True)}
        percent = overall_percent(assignments, earned, lowest)
        rows.append(_Row(student, cells, percent=percent))
    whole = sum(one.points for one in assignments)
    return _with_overall(_table(rows, columns, keys, asked, whole), rows, asked)


def _with_overall(table: PointsTable, rows: Sequence[_Row], asked: TableRequest) -> PointsTable:
    """*table* with the column of the overall grade."""
    known = [row.percent for row in rows if row.percent is not None]
    column = Column(text="", opens="", points=100, sort=asked.link("overall"), sorted=asked.order_of("overall"))
    mean = sum(known) / len(known) if known else None
    return replace(table, overall=column, mean_percent=mean)


def assignment_table(
    site: Site, students: Sequence[Member], assignment: Assignment, cells: Cells, asked: TableRequest
) -> PointsTable:
    """People by exercises of an assignment."""
    columns = tuple(
        Column(
            text=(link := link_to(site, entry.exercise)).text,
            opens=link.href,
            points=entry.points,
            sort=asked.link(str(place)),
            sorted=asked.order_of(str(place)),
        )
        for place, entry in enumerate(assignment.entries, 1)
    )

    chosen = [urlencode({"exercise": entry.exercise}) for entry in assignment.entries]
    drawn = {one.person: assignment.drawn(one.learner) for one in students}

    def cell(member: Member, place: int) -> PointsCell:
        found = cells.get((member.person, assignment.entries[place].exercise), _NO_ANSWER)
        return PointsCell(
            points=found.points,
            href=f"{asked.href}/{member.person}?{chosen[place]}#chosen",
            begun=found is not _NO_ANSWER,
            late=found.late,
            overridden=found.overridden,
            has=assignment.entries[place].exercise in drawn[member.person],
        )

    keys = [str(place) for place in range(1, len(assignment.entries) + 1)]
    rows = [
        _Row(
            one,
            [cell(one, place) for place in range(len(columns))],
            cells[one.person, WHOLE].points if (one.person, WHOLE) in cells else None,
        )
        for one in students
    ]
    return _table(rows, columns, keys, asked, assignment.points)


def _mean(points: Sequence[float]) -> float:
    return sum(points) / len(points) if points else 0.0


def _table(
    rows: list[_Row], columns: tuple[Column, ...], keys: Sequence[str], asked: TableRequest, whole: float
) -> PointsTable:
    cells = [[row.cells[place] for row in rows] for place in range(len(columns))]
    means = [_mean([cell.points for cell in those if cell.has]) for those in cells]
    means.append(_mean([row.total for row in rows]))
    rows.sort(key=_order(keys, asked.sort), reverse=asked.down)
    pages = max(1, -(-len(rows) // SHOWN))
    page = min(max(1, asked.page), pages)
    book = asked.href.split("/grades")[0]
    shown = rows[(page - 1) * SHOWN : page * SHOWN]
    return PointsTable(
        name=Column(text="", opens="", points=0, sort=asked.link(""), sorted=asked.order_of("")),
        columns=columns,
        total=Column(text="", opens="", points=whole, sort=asked.link("total"), sorted=asked.order_of("total")),
        rows=tuple(
            PointsRow(
                row.member.name,
                f"{book}/people/{row.member.person}",
                tuple(row.cells),
                row.total,
                row.whole is not None,
                row.percent,
            )
            for row in shown
        ),
        means=tuple(means) if rows else (),
        pages=tuple(Hyperlink(asked.at(number), str(number)) for number in range(1, pages + 1)),
        page=page,
    )


def _order(keys: Sequence[str], sort: str) -> Callable[[_Row], tuple[float, str]]:
    """What rows are sorted by: points, the total, the overall grade or the name; ties by name."""
    if sort in keys:
        place = keys.index(sort)
        return lambda row: (row.cells[place].points, row.member.name.casefold())
    if sort == "overall":
        return lambda row: (row.percent or 0.0, row.member.name.casefold())
    if sort == "total":
        return lambda row: (row.total, row.member.name.casefold())
    return lambda row: (0.0, row.member.name.casefold())
