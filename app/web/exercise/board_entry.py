"""A right schedule gets a place on the board of its exercise."""

from app.aside import aside
from app.db.boards import enter_schedule
from app.db.session import open_writing_session
from app.kinds import Verdict
from app.simulators.programs import PlayedSchedule
from app.site import Site


async def enter_on_board(site: Site, exercise: str, learner: str, verdict: Verdict) -> None:
    """Enter the time and the memory of a schedule that was judged right.

    Raises:
        UnavailableError: it cannot be stored.
    """
    if verdict.correct and isinstance(verdict.played, PlayedSchedule):
        await aside(_store_entry, site, learner, exercise, verdict.played)


def _store_entry(site: Site, learner: str, exercise: str, played: PlayedSchedule) -> None:
    with open_writing_session(site.engine) as session:
        enter_schedule(session, learner, exercise, played.time, max(played.peaks))
