"""/classes/ID/people/PERSON and /classes/ID/grades/ASSIGNMENT/PERSON: a student's path, and points with why."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from markupsafe import Markup
from sqlmodel import Session

from app.classes.pages.assignment_form import read_points
from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit
from app.classes.pages.live import Idea, idea_html, link_to
from app.classes.people import gradebook
from app.classes.people.activity import ExerciseActivity, State, work_in
from app.classes.people.assignment_copies import on_the_calendar
from app.classes.people.assignments import Assignment, assignment_numbered, assignments_of
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import CountedAnswer, dates_for, given_in, group_policy
from app.core.errors import NotFoundError, input_error
from app.core.translation import plural, translate
from app.core.units import SECOND, show
from app.server.db.people import OverrideRow
from app.site import Site
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("/classes/{class_id:int}", "Grades", least=Role.ASSISTANT)
_CELL = "/grades/{assignment:int}/{person:int}"
_LONGEST = 300  # characters of an answer that are shown


class PointsForm(ClassForm):
    """Points by hand for an exercise, or that it is *excused*, and why; *stored*: they were given a moment ago."""

    exercise: str | None = None
    points: str = ""
    excused: str = ""
    why: str = ""
    stored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathExercise:
    """What a student did for an exercise; *state* is empty where it has not been begun."""

    link: Hyperlink
    why: str
    state: State
    points: float
    most: float
    tries: int
    time: str
    last: str
    ideas: tuple[Idea, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAssignment:
    """An assignment on the path; *extended*: its due date is this student's alone."""

    link: Hyperlink
    points: float
    most: float
    due: str
    extended: bool
    steps: tuple[PathExercise, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPage:
    """A student's path."""

    heading: str
    role: str
    outside_id: str
    points: float
    most: float
    stages: tuple[PathAssignment, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseCell:
    """An exercise of the assignment: the points, the answers behind them, and what was changed."""

    exercise: str
    link: Hyperlink
    points: float
    most: float
    overridden: bool
    excused: bool
    begun: bool
    chosen: bool
    rows: tuple[GivenRow, ...]
    changes: tuple[tuple[OverrideRow, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPage:
    """The points of a student in an assignment."""

    heading: str
    student: Hyperlink
    title: str
    whole: str
    due: str
    excused: bool
    total: float
    most: float
    cells: tuple[ExerciseCell, ...]
    stored: bool


@router.page("/people/{person:int}", "path", tab="People")
def path_page(visit: ClassVisit, person: int) -> PathPage:
    """The path of a student through the assignments of a class."""
    student = student_in(visit.session, visit.class_id, person)
    stages = tuple(_stage(visit, one, student) for one in assignments_of(visit.session, visit.class_id))
    return PathPage(
        heading=student.name,
        role=student.role.word,
        outside_id=student.outside_id,
        points=sum(stage.points for stage in stages),
        most=sum(stage.most for stage in stages),
        stages=stages,
    )


@router.page(_CELL, "cell")
def cell_page(visit: ClassVisit, assignment: int, person: int, sent: PointsForm) -> CellPage:
    """The points of a student in an assignment, exercise by exercise."""
    student = student_in(visit.session, visit.class_id, person)
    one = assignment_numbered(assignments_of(visit.session, visit.class_id), assignment)
    due = dates_for(visit.session, one, person).due
    cells = exercise_cells(visit, one, student, sent.exercise)
    *_, whole = cells
    return CellPage(
        heading=f"{student.name}, {one.title}",
        student=Hyperlink(f"{visit.class_href}/people/{person}", student.name),
        title=one.title,
        whole=f"{visit.class_href}/grades/{one.id}",
        due=on_the_calendar(due, visit.zone, visit.now) if due else "",
        excused=whole.excused,
        total=whole.points,
        most=whole.most,
        cells=cells,
        stored=sent.stored == "yes",
    )


@router.form(_CELL, cell_page, least=Role.TEACHER)
def change_points(visit: ClassVisit, assignment: int, person: int, sent: PointsForm) -> str:
    """Give points by hand, or excuse."""
    excused = sent.excused == "yes"
    if excused and sent.points.strip():
        raise input_error("an exercise is excused or has points, not both: take one of them away")
    given = gradebook.Override(
        person, sent.exercise or gradebook.WHOLE, None if excused else read_points(sent.points), excused
    )
    student_in(visit.session, visit.class_id, person)
    one = assignment_numbered(assignments_of(visit.session, visit.class_id), assignment)
    gradebook.override(visit.session, one, [given], visit.member.person.name or "the teacher", sent.why)
    return f"{visit.class_href}/grades/{one.id}/{person}?exercise={given.exercise}&stored=yes#chosen"


def student_in(session: Session, class_id: int, person: int) -> Member:
    """The member with that number."""
    for one in members_of(session, class_id):
        if one.person == person:
            return one
    raise NotFoundError(translate("this person is not in the class"))


def exercise_cells(
    visit: ClassVisit, assignment: Assignment, student: Member, chosen: str | None = None
) -> tuple[ExerciseCell, ...]:
    """The exercises of *assignment* as *student* has done them, and last the whole of it."""
    cells = gradebook.cells_of(visit.session, visit.site.secret, assignment, [student])
    given = given_in(visit.session, visit.site.secret, assignment, student)
    changes = gradebook.overrides_of(visit.session, assignment, student.person)
    zone, now = visit.zone, visit.now

    def cell(exercise: str, most: float) -> ExerciseCell:
        one, whole = cells.get((student.person, exercise), gradebook.NO_ANSWER), exercise == gradebook.WHOLE
        return ExerciseCell(
            exercise=exercise,
            link=Hyperlink("", translate("The whole assignment")) if whole else link_to(visit.site, exercise),
            points=gradebook.total(cells, student.person, assignment) if whole else one.points,
            most=most,
            overridden=one.overridden,
            excused=gradebook.is_excused(cells, student.person, assignment) if whole else one.excused,
            begun=whole or one is not gradebook.NO_ANSWER,
            chosen=exercise == chosen,
            rows=tuple(_cell_row(visit.site, exercise, one, most, zone, now) for one in given.get(exercise, ())),
            changes=tuple((row, on_the_calendar(row.at, zone, now)) for row in changes.get(exercise, ())),
        )

    own = [cell(entry.exercise, entry.points) for entry in assignment.personal(student.learner).entries]
    return (*own, cell(gradebook.WHOLE, gradebook.possible_in(cells, student.person, assignment)))


def _cell_row(site: Site, exercise: str, one: CountedAnswer, most: float, zone: ZoneInfo, now: datetime) -> GivenRow:
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


def _stage(visit: ClassVisit, one: Assignment, student: Member) -> PathAssignment:
    cells = gradebook.cells_of(visit.session, visit.site.secret, one, [student])
    work = {each.exercise: each for each in work_in(visit.session, visit.site.secret, one, [student])}
    due, zone = dates_for(visit.session, one, student.person).due, visit.zone
    usual = group_policy(visit.session, one, student.person).due
    book = f"{visit.class_href}/grades/{one.id}/{student.person}"
    return PathAssignment(
        link=Hyperlink(book, one.title),
        points=gradebook.total(cells, student.person, one),
        most=gradebook.possible_in(cells, student.person, one),
        due=on_the_calendar(due, zone, visit.now) if due else "",
        extended=due != usual and not one.policy.sitting,
        steps=tuple(
            _step(
                visit,
                f"{book}?exercise={entry.exercise}#chosen",
                work.get(entry.exercise, ExerciseActivity(person=student.person, exercise=entry.exercise)),
                cells.get((student.person, entry.exercise), gradebook.NO_ANSWER),
                entry.points,
            )
            for entry in one.personal(student.learner).entries
        ),
    )


def _step(visit: ClassVisit, why: str, work: ExerciseActivity, cell: Cell, most: float) -> PathExercise:
    exercise = visit.site.catalog.by_id.get(work.exercise)
    return PathExercise(
        link=link_to(visit.site, work.exercise),
        why=why,
        state=work.state(visit.now),
        points=cell.points,
        most=most,
        tries=work.tries,
        time=show(work.seconds, SECOND, 2) if work.seconds is not None else "",
        last=on_the_calendar(work.last, visit.zone, visit.now) if work.last else "",
        ideas=tuple(Idea(idea_html(exercise, key), count, 0.0) for key, count in work.mistakes.most_common()),
    )
