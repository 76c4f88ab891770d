"""/exercises/.../schedule: a schedule that an address carries, as a picture to keep or to share."""

from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from app.core.charts.svg import to_svg
from app.core.simulators.programs import PlayedSchedule
from app.core.translation import plural, translate
from app.course.kinds.code.schedule import Schedule
from app.server.network.routes import Router
from app.site import Here
from app.site.web.course.schedule_measures import (
    NamedMeasures,
    comparison_view,
    known_measures,
    measures_of,
    target_measures,
)
from app.site.web.exercise.schedule_picture import schedule_drawing, schedule_exercise, shared_schedule
from app.site.web.explore.figures import BOTH, TabledDrawing, drawn_on
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.urls import exercise_url, schedule_url

router = Router(prefix="/exercises")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    """A schedule: its picture, what it costs, and what the exercise says about it, if anything."""

    title: str
    exercise: Hyperlink
    svg: Markup
    measures: TabledDrawing
    is_right: bool
    misses: str
    address: str
    svg_href: str


@router.get("/{topic}/{slug}/schedule")
def show_schedule_page(request: Request, site: Here, topic: str, slug: str, of: str = "") -> Response:
    """The picture of the schedule in the address, and a way to try the puzzle."""
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    if not of:
        return RedirectResponse(exercise_url(exercise.id), 303)
    played = shared_schedule(exercise, of)
    page = _page(exercise, played, of)
    says = plural("A schedule of {number} unit", "A schedule of {number} units", played.time)
    around = frame(request, page.title, says, "exercises", page.address)
    return render("course/schedule.html", around, page)


@router.get("/{topic}/{slug}/schedule.svg")
def download_schedule(site: Here, topic: str, slug: str, of: str = "") -> Response:
    """The picture of the schedule in the address, as a file."""
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    drawing = schedule_drawing(exercise, shared_schedule(exercise, of))
    headers = {"Content-Disposition": f'attachment; filename="{slug}.svg"'}
    return Response(to_svg(drawing, alone=True), media_type="image/svg+xml", headers=headers)


def _page(exercise: Schedule, played: PlayedSchedule, code: str) -> SchedulePage:
    drawing = schedule_drawing(exercise, played)
    misses, _ = exercise.judge(played)
    address = schedule_url(exercise.id, code)
    published = () if misses else known_measures(exercise)  # they would give a hint
    this = NamedMeasures(translate("This schedule"), measures_of(played), is_own=True)
    path, _, query = address.partition("?")
    return SchedulePage(
        title=drawing.title,
        exercise=Hyperlink(exercise_url(exercise.id), exercise.title),
        svg=drawn_on(BOTH, drawing),
        measures=comparison_view(exercise, (this, target_measures(exercise), *published)),
        is_right=not misses,
        misses=misses,
        address=address,
        svg_href=f"{path}.svg?{query}",
    )
