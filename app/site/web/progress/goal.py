"""The weekly goal: it is set, and sent as an event for a calendar."""

from typing import Annotated
from uuid import NAMESPACE_URL, uuid5

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from app.core.translation import plural
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.visitor import FromHere
from app.site.web.progress.calendar_file import WeeklyEvent, calendar_file
from app.site.web.standing.weekly_goal import chosen_goal, first_of_week, goal_called, keep_goal

router = Router(prefix="/progress")
CALENDAR = "/progress/goal.ics"


@router.post("/goal", dependencies=[FromHere])
async def set_goal(request: Request, goal: Annotated[str, Form()] = "") -> Response:
    """Set the goal of each week; one that cannot be chosen, or none, removes it."""
    response = RedirectResponse("/progress#goal", 303)
    keep_goal(request, response, goal_called(goal))
    return response


@router.get("/goal.ics")
async def send_goal(request: Request, site: Here) -> Response:
    """The goal as a calendar file; without one, the page where it is set."""
    goal = chosen_goal(request)
    if not goal:
        return RedirectResponse("/progress#goal", 303)
    file = calendar_file(_goal_event(site, goal), site.clock())
    headers = {"Content-Disposition": 'attachment; filename="wallclock.ics"'}
    return Response(file, media_type="text/calendar", headers=headers)


def _goal_event(site: Site, goal: int) -> WeeklyEvent:
    """The event of *goal*, which is the same event whatever the goal of the learner was before."""
    home = f"{site.settings.url}/" if site.settings.url else ""
    says = plural("{number} exercise this week", "{number} exercises this week", goal)
    return WeeklyEvent(
        uid=str(uuid5(NAMESPACE_URL, f"{home}goal")),
        first=first_of_week(site.clock().date()),
        summary=f"Wallclock: {says}",
        description=f"{says}\n{home}" if home else says,
        url=home,
    )
