"""The page of a right schedule, with its picture, for the verdict on it."""

from app.core.simulators.programs import PlayedSchedule, schedule_code
from app.course.kinds import Verdict
from app.site.web.urls import schedule_url


def picture_link(exercise: str, verdict: Verdict) -> str:
    """The page of a schedule whose *verdict* is that it is right; empty if there is none, or it is too long."""
    code = schedule_code(verdict.played) if isinstance(verdict.played, PlayedSchedule) else ""
    return schedule_url(exercise, code) if code else ""
