"""A right schedule gets a place on the board of its exercise, and a picture to share."""

from app.core.simulators.programs import PlayedSchedule, schedule_code
from app.course.kinds import Verdict
from app.server.aside import aside
from app.server.db.boards import enter_schedule
from app.server.db.session import open_writing_session
from app.site import Site
from app.site.web.urls import schedule_url


async def enter_on_board(site: Site, exercise: str, learner: str, verdict: Verdict) -> None:
    """Enter the time and the memory of a schedule that was judged right.

    Raises:
        UnavailableError: it cannot be stored.
    """
    if verdict.correct and isinstance(verdict.played, PlayedSchedule):
        await aside(_store_entry, site, learner, exercise, verdict.played)


def picture_link(exercise: str, verdict: Verdict | None) -> str:
    """The page of a schedule that was judged right, with its picture; empty if it is too long."""
    played = verdict.played if verdict and verdict.correct else None
    code = schedule_code(played) if isinstance(played, PlayedSchedule) else ""
    return schedule_url(exercise, code) if code else ""


def _store_entry(site: Site, learner: str, exercise: str, played: PlayedSchedule) -> None:
    with open_writing_session(site.engine) as session:
        enter_schedule(session, learner, exercise, played.time, max(played.peaks))
