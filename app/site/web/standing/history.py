"""What a learner has answered, read once for all that a page shows of it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date

from app.course.learning import Review, memories
from app.server.db.history import PastAnswer
from app.site import Site
from app.site.web.standing.records import open_records
from app.site.web.standing.view import LearnerHistory


def read_learner_history(site: Site, learner: str, route: str = "") -> LearnerHistory:
    """Everything that *learner* has answered, who has started *route*."""
    if not learner:
        return LearnerHistory(route=route)
    with open_records(site, learner) as records:
        known, given = records.standings(), records.answers()
        chapters = records.known_chapters()
    return LearnerHistory(known, given, memories(reviews_of(given), site.clock()), chapters, route)


def reviews_of(given: Iterable[PastAnswer]) -> Iterator[Review]:
    """The result of each exercise on each day, in UTC."""
    days: dict[tuple[date, str], list[PastAnswer]] = {}
    for answer in given:
        days.setdefault((answer.at.astimezone(UTC).date(), answer.exercise), []).append(answer)
    for (_, exercise), those in days.items():
        first = those[0]
        solved = any(answer.own for answer in those)
        yield Review(exercise, first.at.astimezone(UTC), solved, first.unaided)
