"""What is stored of a learner, read for the page of their progress."""

from datetime import date

from app.site import Site
from app.web.progress.ideas import LOOKED_AT, wrong_ideas
from app.web.progress.view import ProgressRecord, first_day
from app.web.standing.history import read_learner_history
from app.web.standing.records import open_records


def read_progress(site: Site, learner: str, today: date, route: str = "") -> ProgressRecord:
    """What *learner*, who has started *route*, has done until *today*."""
    if not learner:
        return ProgressRecord()
    past = read_learner_history(site, learner, route)
    with open_records(site, learner) as records:
        wrong = records.wrong_attempts(LOOKED_AT)
        return ProgressRecord(
            past=past,
            guesses=records.count_of_guesses(),
            days=records.attempts_by_day(first_day(today)),
            efforts=records.efforts(),
            latest=records.latest_attempts(),
            ideas=wrong_ideas(site.catalog, site.runner, wrong, past.answers),
        )
