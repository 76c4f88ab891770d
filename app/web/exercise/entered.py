"""A right schedule gets a place on the board of its exercise."""

from app.aside import aside
from app.db.boards import enter
from app.db.session import open_writing_session
from app.kinds import Exercise, Verdict
from app.people.past import PastAt
from app.simulators.programs import PlayedSchedule
from app.site import Site
from app.web.exercise.assigned import rules_of
from app.web.exercise.posted import Posted


async def enter_on_board(
    site: Site, exercise: Exercise, posted: Posted, verdict: Verdict, before: PastAt
) -> None:
    """Enter the time and the memory of a schedule that was judged right.

    Not after the solution was shown, and not while an assignment hides verdicts: the board would
    tell them.

    Raises:
        UnavailableError: it cannot be stored.
    """
    played = verdict.played
    if not verdict.correct or not isinstance(played, PlayedSchedule) or before.seen.solution:
        return
    rules = rules_of(before.works, posted.seed)
    if rules.exam or rules.verdict:
        return
    await aside(_entered, site, posted.learner, exercise.id, played)


def _entered(site: Site, learner: str, exercise: str, played: PlayedSchedule) -> None:
    with open_writing_session(site.engine) as session:
        enter(session, learner, exercise, played.time, max(played.peaks))
