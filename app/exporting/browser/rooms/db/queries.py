"""In place of the queries of a server, in a browser: the same, of rows in memory."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time

from app.db.history import Effort, PastAnswer, Standing
from app.db.session import Shelf
from app.db.tables import Attempt


def _attempts(session: Shelf) -> Sequence[Attempt]:
    return sorted(session.rows["attempts"], key=lambda row: row.at)


def standings(session: Shelf, _: str) -> Mapping[str, Standing]:
    """The standing with every exercise tried, by id."""
    found: dict[str, Standing] = {}
    for row in _attempts(session):
        before = found.get(row.exercise, Standing())
        own = row.correct and not row.revealed
        found[row.exercise] = Standing(
            before.tried + 1,
            before.solved or own,
            before.unaided or (own and not row.hints),
            row.at,
        )
    return found


def answers(session: Shelf, _: str) -> Sequence[PastAnswer]:
    """Every answer, oldest first."""
    rows = [(row, row.correct and not row.revealed) for row in _attempts(session)]
    return [PastAnswer(row.exercise, row.at, own, own and not row.hints) for row, own in rows]


def prediction_of(session: Shelf, _: str, exercise: str, seed: int) -> str | None:
    """The prediction for that drawing, as JSON."""
    rows = session.rows["predictions"]
    found = (row.answer for row in rows if row.exercise == exercise and row.seed == seed)
    return next(found, None)


def forget_prediction(session: Shelf, _: str, exercise: str, seed: int, answer: str) -> None:
    """Remove a prediction of an exercise that has changed since."""
    rows = session.rows["predictions"]
    rows[:] = [
        row for row in rows if (row.exercise, row.seed, row.answer) != (exercise, seed, answer)
    ]


def last_right_answers(session: Shelf, _: str, exercises: Collection[str]) -> Mapping[str, Attempt]:
    """The last right answer to each of *exercises*, by id, before any solution."""
    own = (row for row in _attempts(session) if row.correct and not row.revealed)
    return {row.exercise: row for row in own if row.exercise in exercises}


def latest_attempts(session: Shelf, _: str, limit: int = 20, skip: int = 0) -> Sequence[Attempt]:
    """The last attempts, newest first."""
    return list(reversed(_attempts(session)))[skip : skip + limit]


def wrong_attempts(session: Shelf, _: str, limit: int) -> Sequence[Attempt]:
    """The last wrong answers, newest first."""
    return [row for row in reversed(_attempts(session)) if not row.correct][:limit]


def efforts(session: Shelf, _: str) -> Mapping[str, Effort]:
    """The effort on each exercise, by id."""
    longest: dict[tuple[str, int], float] = {}
    found: dict[str, Effort] = {}
    for row in _attempts(session):
        key = row.exercise, row.seed
        if row.seconds is not None:
            longest[key] = max(longest.get(key, 0.0), row.seconds)
        other = found.get(row.exercise, Effort(0, 0, None))
        times = [time for (name, _), time in longest.items() if name == row.exercise]
        whole = sum(times) if times else None
        found[row.exercise] = Effort(other.answers + 1, other.right + row.correct, whole)
    return found


def attempts_by_day(session: Shelf, _: str, since: date) -> Mapping[date, int]:
    """The number of answers on each day from *since* on; a day begins at 00:00 UTC."""
    moment = datetime.combine(since, time(), UTC)
    rows = (row.at for row in session.rows["attempts"] if row.at >= moment)
    return Counter(at.astimezone(UTC).date() for at in rows)
