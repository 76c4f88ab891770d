"""/classes/ID/grades: the points of a class, and of one assignment with its exercises."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from sqlmodel import Session

from app.aside import aside
from app.db.session import open_session
from app.errors import NotFoundError
from app.network.routes import Router
from app.people.activity import exercise_figures, ideas_in, work_in
from app.people.assignments import Assignment, assignments_of
from app.people.classes import Member, Role
from app.people.gradebook import cells_of, grade_rule_in_words, gradebook_of
from app.people.groups import Group, class_groups, students_in
from app.site import Here, Site
from app.translation import translate
from app.units import SECOND, show
from app.web.frame.renderer import Hyperlink, frame, render
from app.web.frame.visitor import Visiting
from app.web.people.class_head import ClassHead, Tab, class_head
from app.web.people.grade_tables import ExerciseGradesRow, PointsTable, TableRequest, assignment_table, class_table
from app.web.people.guard import Membership, in_class
from app.web.people.ideas import Idea, idea_html, link_to

router = Router(prefix="/classes/{class_id:int}/grades")
_IDEAS = 3  # of an exercise, in its figures
_MOST_PAGES = 999


@dataclass(frozen=True, slots=True, kw_only=True)
class GradesPage:
    """The gradebook of a class, or of one assignment of it with the *figures* of its exercises."""

    head: ClassHead
    teaches: bool
    title: str
    whole: str
    table: PointsTable
    assignments: tuple[Hyperlink, ...]
    groups: tuple[Tab, ...]
    pooled: bool = False
    figures: tuple[ExerciseGradesRow, ...] = ()
    rule: tuple[str, ...] = ()


@router.get("")
async def grades(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    sort: str = "",
    down: str = "",
    page: str = "",
    group: str = "",
) -> Response:
    """People by assignments."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    asked = TableRequest(f"/classes/{class_id}/grades", sort, bool(down), _grades_page(page), group)
    return await aside(_class_shown, request, site, member, asked)


@router.get("/{assignment:int}")
async def assignment_grades(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    assignment: int,
    sort: str = "",
    down: str = "",
    page: str = "",
    group: str = "",
) -> Response:
    """People by exercises of one assignment."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    href = f"/classes/{class_id}/grades/{assignment}"
    asked = TableRequest(href, sort, bool(down), _grades_page(page), group)
    return await aside(_assignment_shown, request, site, member, assignment, asked)


def assignment_numbered(assignments: Sequence[Assignment], number: int) -> Assignment:
    """The one of *assignments* with that number.

    Raises:
        NotFoundError: there is none.
    """
    for one in assignments:
        if one.id == number:
            return one
    raise NotFoundError(translate("this assignment does not exist in the class"))


def _class_shown(request: Request, site: Site, member: Membership, asked: TableRequest) -> Response:
    with open_session(site.engine) as session:
        students = students_in(session, member.class_id, asked.group or None)
        groups = class_groups(session, member.class_id)
        assignments = assignments_of(session, member.class_id)
        book = gradebook_of(session, site.secret, assignments, students)
    page = GradesPage(
        head=class_head(member, "Grades"),
        teaches=member.teaches,
        title="",
        whole=asked.href,
        table=class_table(students, assignments, book, asked, member.row.lowest),
        assignments=_links(asked.href, assignments),
        groups=_group_tabs(groups, asked),
        rule=tuple(grade_rule_in_words(assignments, member.row.lowest)),
    )
    around = frame(request, translate("Grades of {name}", name=member.row.name), here="classes")
    return render("people/grades_page.html", around, page)


def _assignment_shown(request: Request, site: Site, member: Membership, number: int, asked: TableRequest) -> Response:
    with open_session(site.engine) as session:
        students = students_in(session, member.class_id, asked.group or None)
        groups = class_groups(session, member.class_id)
        assignments = assignments_of(session, member.class_id)
        one = assignment_numbered(assignments, number)
        cells = cells_of(session, site.secret, one, students)
        figures = exercise_rows(site, session, one, students)
    book = f"/classes/{member.class_id}/grades"
    page = GradesPage(
        head=class_head(member, "Grades"),
        teaches=member.teaches,
        title=one.title,
        whole=book,
        table=assignment_table(site, students, one, cells, asked),
        assignments=_links(book, assignments),
        groups=_group_tabs(groups, asked),
        pooled=bool(one.draws),
        figures=figures,
    )
    around = frame(request, translate("Grades of {title}", title=one.title), here="classes")
    return render("people/grades_page.html", around, page)


def exercise_rows(
    site: Site, session: Session, assignment: Assignment, students: Sequence[Member]
) -> tuple[ExerciseGradesRow, ...]:
    """The figures of each exercise of *assignment*."""
    work = work_in(session, site.secret, assignment, students)
    figures, ideas = exercise_figures(work), ideas_in(work)
    rows = []
    for entry in assignment.entries:
        exercise = site.catalog.by_id.get(entry.exercise)
        one = figures.get(entry.exercise)
        counts = list(ideas.get(entry.exercise, {}).items())[:_IDEAS]
        rows.append(
            ExerciseGradesRow(
                link=link_to(site, entry.exercise),
                figures=one,
                minutes=show(one.seconds, SECOND, 2) if one and one.seconds is not None else "",
                ideas=tuple(
                    Idea(idea_html(exercise, key), persons, persons / one.begun if one else 0.0)
                    for key, persons in counts
                ),
            )
        )
    return tuple(rows)


def _links(book: str, assignments: Sequence[Assignment]) -> tuple[Hyperlink, ...]:
    return tuple(Hyperlink(f"{book}/{one.id}", one.title) for one in assignments)


def _group_tabs(groups: Sequence[Group], asked: TableRequest) -> tuple[Tab, ...]:
    """Links to the same table of everyone, and of each group."""
    names = ["", *(one.name for one in groups)] if groups else []
    return tuple(Tab(asked.of(name), name or translate("Everyone"), name == asked.group) for name in names)


def _grades_page(text: str) -> int:
    known = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_PAGES))
    return int(text) if known else 1
