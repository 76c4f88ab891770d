"""What is stored of a learner, read for the page of their progress."""

from datetime import date

from app.db.guesses import count_of_guesses
from app.db.queries import attempts_by_day, efforts, latest_attempts, wrong_attempts
from app.site import Site
from app.web.progress.ideas import LOOKED_AT, wrong_ideas
from app.web.progress.view import ProgressRecord, first_day
from app.web.standing.history import past_of
from app.web.standing.veil import open_history


def read_progress(site: Site, learner: str, today: date) -> ProgressRecord:
    """What *learner* has done until *today*."""
    if not learner:
        return ProgressRecord()
    past = past_of(site, learner)
    with open_history(site, learner) as session:
        wrong = wrong_attempts(session, learner, LOOKED_AT)
        return ProgressRecord(
            past=past,
            guesses=count_of_guesses(session, learner),
            days=attempts_by_day(session, learner, first_day(today)),
            efforts=efforts(session, learner),
            latest=latest_attempts(session, learner),
            ideas=wrong_ideas(site.catalog, site.runner, wrong, past.answers),
        )
