"""/exercises/.../board: how others traded time for memory, for those who have solved it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response

from app.core.charts.board import Board, board_drawing
from app.core.translation import translate
from app.course.kinds.code.schedule import Schedule
from app.server.aside import aside
from app.server.db.boards import MOST_POINTS, BoardPoint, BoardRow, board_points, entry_of
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.course.kept_schedules import KeptSchedule, kept_schedules
from app.site.web.course.schedule_measures import (
    NamedMeasures,
    ScheduleMeasures,
    comparison_view,
    everyones_measures,
    known_measures,
    measure_labels,
    target_measures,
)
from app.site.web.exercise.routes import read_exercise_history
from app.site.web.exercise.schedule_picture import schedule_exercise
from app.site.web.explore.figures import TabledDrawing, tabled_drawing
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting, Visitor
from app.site.web.urls import exercise_url

router = Router(prefix="/exercises")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """The board of an exercise; without a *board*, the learner has no entry yet.

    *measures* has the learner's entry beside published schedules, on every axis; *kept* are the
    learner's own schedules, on the same *axes*.
    """

    exercise: Hyperlink
    time: int
    memory: int
    board: TabledDrawing | None
    measures: TabledDrawing | None
    axes: tuple[str, ...]
    kept: Sequence[KeptSchedule]
    is_cut: bool


@router.get("/{topic}/{slug}/board")
async def show_exercise_board(request: Request, site: Here, visiting: Visiting, topic: str, slug: str) -> Response:
    """The board of an exercise.

    Raises:
        NotFoundError: the exercise asks for something else than a schedule.
    """
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    own, points = _stored(site, exercise, visiting.learner)
    kept = await _kept(site, exercise, visiting) if own else ()
    page = await aside(_page, exercise, own, points, kept)
    title = translate("Board of {exercise}", exercise=exercise.title)
    return render("course/board.html", frame(request, title, title, "exercises"), page)


def _page(
    exercise: Schedule, own: BoardRow | None, points: Sequence[BoardPoint], kept: Sequence[KeptSchedule]
) -> BoardPage:
    return BoardPage(
        exercise=Hyperlink(exercise_url(exercise.id), exercise.title),
        time=own.time if own else 0,
        memory=own.memory if own else 0,
        board=_view(exercise, own, points) if own else None,
        measures=_comparison(exercise, own, points, kept) if own else None,
        axes=measure_labels(exercise.machine),
        kept=kept,
        is_cut=len(points) == MOST_POINTS,
    )


def _stored(site: Site, exercise: Schedule, learner: str) -> tuple[BoardRow | None, Sequence[BoardPoint]]:
    """The entry of *learner*, and what those who have one may see."""
    if not learner:
        return None, ()
    with open_session(site.engine) as session:
        own = entry_of(session, learner, exercise.id)
        return own, board_points(session, exercise.id) if own else ()


async def _kept(site: Site, exercise: Schedule, visiting: Visitor) -> Sequence[KeptSchedule]:
    """The visitor's own right schedules."""
    history = await read_exercise_history(site, visiting, exercise, 0)
    runner = site.runner.on_behalf_of(visiting.client)
    return await kept_schedules(exercise, history, runner, visiting.learner)


def _comparison(
    exercise: Schedule, own: BoardRow, points: Sequence[BoardPoint], kept: Sequence[KeptSchedule]
) -> TabledDrawing:
    """The entry of a learner, what it must reach, published schedules, and those of everyone.

    What the entry does not store is that of a *kept* schedule as fast in as much memory.
    """
    entered = ScheduleMeasures(time=own.time, memory=own.memory)
    same = (one.measures for one in kept if replace(one.measures, sends=None) == entered)
    yours = NamedMeasures(translate("Yours"), next(same, entered), is_own=True)
    rows = (yours, target_measures(exercise), *known_measures(exercise))
    return comparison_view(exercise, (*rows, *everyones_measures(points)))


def _view(exercise: Schedule, own: BoardRow, points: Sequence[BoardPoint]) -> TabledDrawing:
    learners = {(one.time, one.memory): one.learners for one in points}
    place = own.time, own.memory
    learners.setdefault(place, 1)  # behind the points that are shown
    title = translate("Schedules for “{exercise}”", exercise=exercise.title)
    drawing = board_drawing(Board(title=title, learners=learners, own=place))
    return tabled_drawing(drawing)
