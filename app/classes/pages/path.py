"""/classes/ID/people/PERSON: the path of one student through the assignments of a class."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from fastapi import Request, Response
from sqlmodel import Session

from app.classes.pages.cell import student_in
from app.classes.pages.class_head import ClassHead, class_head
from app.classes.pages.guard import Membership, in_class
from app.classes.pages.ideas import Idea, idea_html, link_to
from app.classes.people.activity import ExerciseActivity, State, work_in
from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role
from app.classes.people.gradebook import cells_of, total
from app.classes.people.local_time import on_the_calendar
from app.classes.people.personal_dates import dates_for, group_policy
from app.core.units import SECOND, show
from app.server.aside import aside
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting

router = Router(prefix="/classes/{class_id:int}/people")


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

    head: ClassHead
    name: str
    role: str
    outside_id: str
    points: float
    most: float
    stages: tuple[PathAssignment, ...]


@router.get("/{person:int}")
async def path(request: Request, site: Here, visiting: Visiting, class_id: int, person: int) -> Response:
    """The path of a student."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    return await aside(_shown_path, request, site, member, person)


def _shown_path(request: Request, site: Site, member: Membership, person: int) -> Response:
    with open_session(site.engine) as session:
        student = student_in(session, member.class_id, person)
        stages = tuple(_stage(site, session, member, one, student) for one in assignments_of(session, member.class_id))
    page = PathPage(
        head=class_head(member, "People"),
        name=student.name,
        role=student.role.word,
        outside_id=student.outside_id,
        points=sum(stage.points for stage in stages),
        most=sum(stage.most for stage in stages),
        stages=stages,
    )
    return render("people/path.html", frame(request, student.name, here="classes"), page)


def _stage(site: Site, session: Session, member: Membership, one: Assignment, student: Member) -> PathAssignment:
    cells = cells_of(session, site.secret, one, [student])
    work = {each.exercise: each for each in work_in(session, site.secret, one, [student])}
    due, zone = dates_for(session, one, student.person).due, ZoneInfo(member.row.zone)
    usual = group_policy(session, one, student.person).due
    book = f"/classes/{member.class_id}/grades/{one.id}/{student.person}"
    return PathAssignment(
        link=Hyperlink(book, one.title),
        points=total(cells, student.person, one),
        most=one.points,
        due=on_the_calendar(due, zone, site.clock()) if due else "",
        extended=due != usual and not one.policy.sitting,
        steps=tuple(
            _step(
                site,
                f"{book}?exercise={entry.exercise}#chosen",
                work.get(entry.exercise, ExerciseActivity(person=student.person, exercise=entry.exercise)),
                cells.get((student.person, entry.exercise), Cell(0.0)),
                entry.points,
                zone,
            )
            for entry in one.personal(student.learner).entries
        ),
    )


def _step(site: Site, why: str, work: ExerciseActivity, cell: Cell, most: float, zone: ZoneInfo) -> PathExercise:
    now = site.clock()
    exercise = site.catalog.by_id.get(work.exercise)
    return PathExercise(
        link=link_to(site, work.exercise),
        why=why,
        state=work.state(now),
        points=cell.points,
        most=most,
        tries=work.tries,
        time=show(work.seconds, SECOND, 2) if work.seconds is not None else "",
        last=on_the_calendar(work.last, zone, now) if work.last else "",
        ideas=tuple(Idea(idea_html(exercise, key), count, 0.0) for key, count in work.mistakes.most_common()),
    )
