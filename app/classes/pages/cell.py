"""/classes/ID/grades/ASSIGNMENT/PERSON: why a student has these points, and points by hand."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from sqlmodel import Session

from app.classes.pages.class_head import ClassHead, class_head
from app.classes.pages.grades import assignment_numbered
from app.classes.pages.guard import Membership, in_class
from app.classes.pages.ideas import idea_html, link_to
from app.classes.pages.points import read_points
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import Given, given_in
from app.classes.people.gradebook import WHOLE, cells_of, total
from app.classes.people.local_time import on_the_calendar
from app.classes.people.overrides import Override, override, overrides_of
from app.classes.people.personal_dates import dates_for
from app.core.errors import InputError, NotFoundError, sentence
from app.core.translation import plural, translate
from app.core.units import SECOND, show
from app.server.aside import aside
from app.server.db.people import OverrideRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/classes/{class_id:int}/grades/{assignment:int}/{person:int}")
_NONE = Cell(0.0)
_LONGEST = 300  # characters of an answer that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRow:
    """An answer, when it was given, and what it is worth."""

    answer: str
    link: Hyperlink
    at: str
    correct: bool
    score: str
    points: float
    why: tuple[str, ...]
    time: str
    idea: Markup


@dataclass(frozen=True, slots=True)
class OverrideLine:
    """Points that were given by hand."""

    points: float | None
    by: str
    why: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseCell:
    """An exercise of the assignment: the points, the answers behind them, and what was changed."""

    exercise: str
    link: Hyperlink
    points: float
    most: float
    overridden: bool
    begun: bool
    chosen: bool
    rows: tuple[GivenRow, ...]
    changes: tuple[OverrideLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPage:
    """The points of a student in an assignment."""

    head: ClassHead
    teaches: bool
    student: Hyperlink
    title: str
    whole: str
    due: str
    total: float
    most: float
    cells: tuple[ExerciseCell, ...]
    problem: str
    stored: bool


@router.get("")
async def cell(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    assignment: int,
    person: int,
    exercise: str | None = None,
    stored: str = "",
) -> Response:
    """The points of a student in an assignment, exercise by exercise."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    return await aside(_shown_cell, request, site, member, assignment, person, exercise, stored=stored == "yes")


@router.post("", dependencies=[FromHere])
async def change_points(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    assignment: int,
    person: int,
    exercise: Annotated[str, Form()] = "",
    points: Annotated[str, Form()] = "",
    why: Annotated[str, Form()] = "",
) -> Response:
    """Give points by hand."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    try:
        given = Override(person, exercise, read_points(points))
        await aside(_store, site, member, assignment, given, why)
    except InputError as error:
        says = sentence(str(error))
        return await aside(_shown_cell, request, site, member, assignment, person, exercise, problem=says)
    book = f"/classes/{class_id}/grades/{assignment}/{person}"
    return RedirectResponse(f"{book}?exercise={exercise}&stored=yes#chosen", 303)


def student_in(session: Session, class_id: int, person: int) -> Member:
    """The member with that number.

    Raises:
        NotFoundError: there is none in this class.
    """
    for one in members_of(session, class_id):
        if one.person == person:
            return one
    raise NotFoundError(translate("this person is not in the class"))


def _store(site: Site, member: Membership, assignment: int, given: Override, why: str) -> None:
    with open_writing_session(site.engine) as session:
        student_in(session, member.class_id, given.person)
        one = assignment_numbered(assignments_of(session, member.class_id), assignment)
        override(session, one, [given], member.person.name or "the teacher", why)
        session.commit()


def _shown_cell(
    request: Request,
    site: Site,
    member: Membership,
    assignment: int,
    person: int,
    exercise: str | None,
    problem: str = "",
    *,
    stored: bool = False,
) -> Response:
    with open_session(site.engine) as session:
        student = student_in(session, member.class_id, person)
        one = assignment_numbered(assignments_of(session, member.class_id), assignment)
        due = dates_for(session, one, person).due
        cells = exercise_cells(site, session, member, one, student, exercise)
    now = site.clock()
    page = CellPage(
        head=class_head(member, "Grades"),
        teaches=member.teaches,
        student=Hyperlink(f"/classes/{member.class_id}/people/{person}", student.name),
        title=one.title,
        whole=f"/classes/{member.class_id}/grades/{one.id}",
        due=on_the_calendar(due, ZoneInfo(member.row.zone), now) if due else "",
        total=cells[-1].points,
        most=one.points,
        cells=cells,
        problem=problem,
        stored=stored,
    )
    around = frame(request, f"{student.name}, {one.title}", here="classes")
    return render("people/cell.html", around, page, 422 if problem else 200)


def exercise_cells(
    site: Site, session: Session, member: Membership, assignment: Assignment, student: Member, chosen: str | None = None
) -> tuple[ExerciseCell, ...]:
    """The exercises of *assignment* as *student* has done them, and last the whole of it."""
    cells = cells_of(session, site.secret, assignment, [student])
    given = given_in(session, site.secret, assignment, student)
    changes = overrides_of(session, assignment, student.person)
    zone, now = ZoneInfo(member.row.zone), site.clock()

    def cell(exercise: str, link: Hyperlink, points: float, most: float) -> ExerciseCell:
        key = student.person, exercise
        return ExerciseCell(
            exercise=exercise,
            link=link,
            points=points,
            most=most,
            overridden=key in cells and cells[key].overridden,
            begun=key in cells or exercise == WHOLE,
            chosen=exercise == chosen,
            rows=tuple(_cell_row(site, exercise, one, most, zone, now) for one in given.get(exercise, ())),
            changes=tuple(_cell_line(row, zone, now) for row in changes.get(exercise, ())),
        )

    return (
        *(
            cell(
                entry.exercise,
                link_to(site, entry.exercise),
                cells.get((student.person, entry.exercise), _NONE).points,
                entry.points,
            )
            for entry in assignment.personal(student.learner).entries
        ),
        cell(
            WHOLE,
            Hyperlink("", translate("The whole assignment")),
            total(cells, student.person, assignment),
            assignment.points,
        ),
    )


def _cell_row(site: Site, exercise: str, one: Given, most: float, zone: ZoneInfo, now: datetime) -> GivenRow:
    known = site.catalog.by_id.get(exercise)
    why = [one.why] if one.why else []
    if one.before is not None and one.before != one.score:
        why.append(translate("judged again: {before:.3g} % before", before=100 * one.before))
    if one.hints and "hints" not in one.why:
        why.append(plural("{number} hint seen", "{number} hints seen", one.hints))
    return GivenRow(
        answer=one.answer if len(one.answer) <= _LONGEST else f"{one.answer[:_LONGEST]}…",
        link=link_to(site, exercise, one.seed),
        at=on_the_calendar(one.at, zone, now),
        correct=one.correct,
        score=f"{100 * one.score:.3g} %",
        points=one.earned * most,
        why=tuple(why),
        time=show(one.seconds, SECOND, 2) if one.seconds is not None else "",
        idea=idea_html(known, one.mistake, one.seed) if one.mistake else Markup(),
    )


def _cell_line(row: OverrideRow, zone: ZoneInfo, now: datetime) -> OverrideLine:
    return OverrideLine(row.points, row.by, row.why, on_the_calendar(row.at, zone, now))
