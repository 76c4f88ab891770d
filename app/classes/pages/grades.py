"""/classes/ID/grades: the points of a class, and of one assignment with its exercises."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit, Tab
from app.classes.pages.live import Idea, idea_html, link_to
from app.classes.pages.roster import page_number
from app.classes.people import gradebook
from app.classes.people.activity import ExerciseFigures, exercise_figures, ideas_in, work_in
from app.classes.people.assignments import Assignment, assignment_numbered, assignments_of
from app.classes.people.classes import Member, Role
from app.classes.people.members import class_groups, students_in
from app.core.translation import noted, translate
from app.core.units import SECOND, show
from app.site import Site
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("/classes/{class_id:int}/grades", "Grades", least=Role.ASSISTANT)
SHOWN = 300  # people on a page
_IDEAS = 3  # of an exercise, in its figures
Sorted = Literal["ascending", "descending", ""]


class TableForm(ClassForm):
    """How a table is to be sorted, which page of it is shown, and of which group."""

    sort: str = ""
    down: str = ""
    page: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; *sort* is the link that sorts by it, *opens* what it is about, *points* the most of it."""

    text: str
    opens: str
    points: float | None
    sort: str
    sorted: Sorted = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsCell:
    """Points, and what is special about them; *begun*: there is an answer or an override.

    One that is *excused* is left out of every sum. *has*: the student has the exercise; of a pool, it was drawn.
    """

    points: float
    href: str
    begun: bool
    late: bool
    overridden: bool
    excused: bool
    has: bool = True


@dataclass(frozen=True, slots=True)
class PointsRow:
    """The points of a student; *whole*: those of an assignment were given by hand."""

    member: Member
    cells: Sequence[PointsCell]
    points: gradebook.StudentPoints
    columns: Sequence[gradebook.GradebookColumn]
    whole: bool = False

    @property
    def sums(self) -> tuple[str, ...]:
        """The figures over all cells, as the page shows them."""
        return tuple(_sum_text(one, one.value(self.points)) for one in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsTable:
    """A page of a table of points; *means* are over all who have the exercise, begun or not."""

    name: Column
    columns: tuple[Column, ...]
    sums: tuple[Column, ...]
    rows: tuple[PointsRow, ...]
    means: tuple[str, ...]
    pages: tuple[Hyperlink, ...]
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseGradesRow:
    """How the class does with an exercise, and which wrong ideas it has."""

    link: Hyperlink
    figures: ExerciseFigures | None
    minutes: str
    ideas: tuple[Idea, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradesPage:
    """The gradebook of a class, or of one assignment of it with the *figures* of its exercises."""

    title: str
    whole: str
    table: PointsTable
    assignments: tuple[Hyperlink, ...]
    groups: tuple[Tab, ...]
    pooled: bool = False
    figures: tuple[ExerciseGradesRow, ...] = ()
    rule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableRequest:
    """How a table is sorted, which page of it is shown, and of which group: as its address says."""

    href: str
    sort: str = ""
    down: bool = False
    page: int = 1
    group: str = ""

    def column(self, key: str, text: str = "", opens: str = "", points: float | None = None) -> Column:
        """The column that is sorted by *key*."""
        order: Sorted = "" if key != self.sort else "descending" if self.down else "ascending"
        return Column(text=text, opens=opens, points=points, sort=self.link(key), sorted=order)

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


@router.page("", "grades_page", noted("Grades of {name}"))
def class_grades_page(visit: ClassVisit, sent: TableForm) -> GradesPage:
    """People by assignments."""
    asked = _table_request(f"{visit.class_href}/grades", sent)
    found = gradebook.grades_of(visit.session, visit.site.secret, visit.class_id, asked.group or None)
    return GradesPage(
        title="",
        whole=asked.href,
        table=class_table(found, asked),
        assignments=_links(asked.href, found.assignments),
        groups=_group_tabs(visit, asked),
        rule=tuple(gradebook.grade_rule_in_words(found.assignments, found.lowest)),
    )


@router.page("/{assignment:int}", "grades_page", noted("Grades of {title}"))
def assignment_grades_page(visit: ClassVisit, assignment: int, sent: TableForm) -> GradesPage:
    """People by exercises of one assignment."""
    asked = _table_request(f"{visit.class_href}/grades/{assignment}", sent)
    students = students_in(visit.session, visit.class_id, asked.group or None)
    assignments = assignments_of(visit.session, visit.class_id)
    one = assignment_numbered(assignments, assignment)
    book = f"{visit.class_href}/grades"
    return GradesPage(
        title=one.title,
        whole=book,
        table=assignment_table(
            visit.site, students, one, gradebook.cells_of(visit.session, visit.site.secret, one, students), asked
        ),
        assignments=_links(book, assignments),
        groups=_group_tabs(visit, asked),
        pooled=bool(one.draws),
        figures=exercise_rows(visit, one, students),
    )


def class_table(found: gradebook.Grades, asked: TableRequest) -> PointsTable:
    """People by assignments."""
    columns = {
        str(one.id): asked.column(str(one.id), one.title, f"{asked.href}/{one.id}", one.points)
        for one in found.assignments
    }

    def cell(member: Member, one: Assignment, points: float | None) -> PointsCell:
        cells = found.cells[one.id]
        those, whole = gradebook.cells_of_person(cells, member.person, one), (member.person, gradebook.WHOLE) in cells
        excused = gradebook.is_excused(cells, member.person, one)
        return PointsCell(
            points=points or 0.0,
            href=f"{asked.href}/{one.id}/{member.person}",
            begun=points is not None,
            late=any(cell.late for cell in those),
            overridden=not excused and (whole or any(cell.overridden for cell in those)),
            excused=excused,
        )

    rows = []
    for member in found.members:
        own = found.of(member.person)
        cells = [cell(member, one, points) for one, points in zip(found.assignments, own.points, strict=True)]
        rows.append(PointsRow(member, cells, own, gradebook.COLUMNS))
    return _points_table(rows, columns, gradebook.COLUMNS, asked, sum(one.points for one in found.assignments))


def assignment_table(
    site: Site, students: Sequence[Member], assignment: Assignment, cells: gradebook.Cells, asked: TableRequest
) -> PointsTable:
    """People by exercises of an assignment."""
    links = [link_to(site, entry.exercise) for entry in assignment.entries]
    columns = {
        str(place): asked.column(str(place), link.text, link.href, entry.points)
        for place, (entry, link) in enumerate(zip(assignment.entries, links, strict=True), 1)
    }
    chosen = {entry.exercise: urlencode({"exercise": entry.exercise}) for entry in assignment.entries}

    sums = [one for one in gradebook.COLUMNS if not one.of_class]

    def row(member: Member) -> PointsRow:
        drawn = assignment.drawn(member.learner)
        found = [(name, cells.get((member.person, name), gradebook.NO_ANSWER)) for name in chosen]
        own = [
            PointsCell(
                points=one.points,
                href=f"{asked.href}/{member.person}?{chosen[name]}#chosen",
                begun=one is not gradebook.NO_ANSWER,
                late=one.late,
                overridden=one.overridden,
                excused=one.excused,
                has=name in drawn,
            )
            for name, one in found
        ]
        whole = cells.get((member.person, gradebook.WHOLE), gradebook.NO_ANSWER)
        points = gradebook.StudentPoints.of(member.person, [assignment], {assignment.id: cells})
        return PointsRow(member, own, points, sums, whole.overridden)

    return _points_table([row(one) for one in students], columns, sums, asked, assignment.points)


def exercise_rows(
    visit: ClassVisit, assignment: Assignment, students: Sequence[Member]
) -> tuple[ExerciseGradesRow, ...]:
    """The figures of each exercise of *assignment*."""
    work = work_in(visit.session, visit.site.secret, assignment, students)
    figures, ideas = exercise_figures(work), ideas_in(work)
    rows = []
    for entry in assignment.entries:
        exercise = visit.site.catalog.by_id.get(entry.exercise)
        one = figures.get(entry.exercise)
        counts = list(ideas.get(entry.exercise, {}).items())[:_IDEAS]
        rows.append(
            ExerciseGradesRow(
                link=link_to(visit.site, entry.exercise),
                figures=one,
                minutes=show(one.seconds, SECOND, 2) if one and one.seconds is not None else "",
                ideas=tuple(
                    Idea(idea_html(exercise, key), persons, persons / one.begun if one else 0.0)
                    for key, persons in counts
                ),
            )
        )
    return tuple(rows)


def _table_request(href: str, sent: TableForm) -> TableRequest:
    return TableRequest(href, sent.sort, bool(sent.down), page_number(sent.page), sent.group)


def _points_table(
    rows: list[PointsRow],
    columns: Mapping[str, Column],
    sums: Sequence[gradebook.GradebookColumn],
    asked: TableRequest,
    whole: float,
) -> PointsTable:
    means = [
        _mean([cell.points for row in rows if (cell := row.cells[place]).has and not cell.excused])
        for place in range(len(columns))
    ]
    mean_sums = [_mean([one for row in rows if (one := column.value(row.points)) is not None]) for column in sums]
    rows.sort(key=_order(list(columns), sums, asked.sort), reverse=asked.down)
    pages = max(1, -(-len(rows) // SHOWN))
    page = min(max(1, asked.page), pages)
    return PointsTable(
        name=asked.column(""),
        columns=tuple(columns.values()),
        sums=tuple(
            asked.column(one.sort, translate(one.title), points=(whole if one is gradebook.COLUMNS[0] else None))
            for one in sums
        ),
        rows=tuple(rows[(page - 1) * SHOWN : page * SHOWN]),
        means=(*(f"{one or 0.0:.4g}" for one in means), *map(_sum_text, sums, mean_sums)) if rows else (),
        pages=tuple(Hyperlink(asked.at(number), str(number)) for number in range(1, pages + 1)),
        page=page,
    )


def _mean(points: Sequence[float]) -> float | None:
    return sum(points) / len(points) if points else None


def _sum_text(column: gradebook.GradebookColumn, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} %" if column.is_percent else f"{value:.4g}"


def _order(
    keys: Sequence[str], sums: Sequence[gradebook.GradebookColumn], sort: str
) -> Callable[[PointsRow], tuple[float, str]]:
    """What rows are sorted by: the points or a sum, or the name; ties by name."""
    if sort in keys:
        place = keys.index(sort)
        return lambda row: (row.cells[place].points, row.member.name.casefold())
    for column in sums:
        if column.sort == sort:
            return lambda row: (column.value(row.points) or 0.0, row.member.name.casefold())
    return lambda row: (0.0, row.member.name.casefold())


def _links(book: str, assignments: Sequence[Assignment]) -> tuple[Hyperlink, ...]:
    return tuple(Hyperlink(f"{book}/{one.id}", one.title) for one in assignments)


def _group_tabs(visit: ClassVisit, asked: TableRequest) -> tuple[Tab, ...]:
    """Links to the same table of everyone, and of each group."""
    groups = class_groups(visit.session, visit.class_id)
    names = ["", *(one.name for one in groups)] if groups else []
    return tuple(Tab(asked.of(name), name or translate("Everyone"), name == asked.group) for name in names)
