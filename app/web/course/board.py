"""/exercises/.../board: how others traded time for memory, for those who have solved it."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from app.charts.board import Board, board_drawing
from app.db.boards import MOST_POINTS, BoardPoint, BoardRow, board_points, entry_of
from app.db.session import open_session
from app.kinds.code.schedule import Schedule
from app.network.routes import Router
from app.site import Here, Site
from app.translation import translate
from app.web.course.schedule_measures import (
    ComparisonView,
    NamedMeasures,
    ScheduleMeasures,
    comparison_view,
    known_measures,
    target_measures,
)
from app.web.exercise.schedule_picture import schedule_exercise
from app.web.explore.figures import BOTH, drawn_on
from app.web.frame.renderer import Hyperlink, frame, render
from app.web.frame.visitor import Visiting
from app.web.urls import exercise_url

router = Router(prefix="/exercises")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """The board of an exercise; without a *board*, the learner has no entry yet.

    *measures* has the learner's entry beside published schedules, on every axis.
    """

    exercise: Hyperlink
    time: int
    memory: int
    board: ComparisonView | None
    measures: ComparisonView | None
    is_cut: bool


@router.get("/{topic}/{slug}/board")
async def show_exercise_board(
    request: Request, site: Here, visiting: Visiting, topic: str, slug: str
) -> Response:
    """The board of an exercise.

    Raises:
        NotFoundError: the exercise asks for something else than a schedule.
    """
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    own, points = _stored(site, exercise, visiting.learner)
    page = BoardPage(
        exercise=Hyperlink(exercise_url(exercise.id), exercise.title),
        time=own.time if own else 0,
        memory=own.memory if own else 0,
        board=_view(exercise, own, points) if own else None,
        measures=comparison_view(exercise, board_rows(exercise, own)) if own else None,
        is_cut=len(points) == MOST_POINTS,
    )
    title = translate("Board of {exercise}", exercise=exercise.title)
    return render("course/board.html", frame(request, title, title, "exercises"), page)


def _stored(
    site: Site, exercise: Schedule, learner: str
) -> tuple[BoardRow | None, Sequence[BoardPoint]]:
    """The entry of *learner*, and what those who have one may see."""
    if not learner:
        return None, ()
    with open_session(site.engine) as session:
        own = entry_of(session, learner, exercise.id)
        return own, board_points(session, exercise.id) if own else ()


def board_rows(exercise: Schedule, own: BoardRow) -> Sequence[NamedMeasures]:
    """The entry of a learner, what it must reach, and published schedules."""
    measures = ScheduleMeasures(time=own.time, memory=own.memory)
    yours = NamedMeasures(translate("Yours"), measures, is_own=True)
    return (yours, target_measures(exercise), *known_measures(exercise))


def _view(exercise: Schedule, own: BoardRow, points: Sequence[BoardPoint]) -> ComparisonView:
    learners = {(one.time, one.memory): one.learners for one in points}
    place = own.time, own.memory
    learners.setdefault(place, 1)  # behind the points that are shown
    title = translate("Schedules for “{exercise}”", exercise=exercise.title)
    drawing = board_drawing(Board(title=title, learners=learners, own=place))
    return ComparisonView(drawing.title, drawn_on(BOTH, drawing), drawing.table, drawing.summary)
