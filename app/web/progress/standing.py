"""A learner's standing in exercises and chapters, as pages show it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from app.content.catalog import Topic
from app.db.queries import PastAnswer, Standing, answers, standings
from app.db.session import open_session
from app.kinds import Exercise
from app.learning import Memory, Review, Suggestion, memories, suggestion
from app.site import Site
from app.web.urls import chapter_url, exercise_url

Mark = Literal["new", "tried", "solved", "unaided"]
Standings = Mapping[str, Standing]
SAYS: Mapping[Mark, str] = {
    "new": "not tried",
    "tried": "tried",
    "solved": "solved",
    "unaided": "solved without hints",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseRow:
    """An exercise in a list."""

    href: str
    title: str
    label: str
    kind: str
    level: int
    mark: Mark
    says: str


@dataclass(frozen=True, slots=True)
class Suggested:
    """A suggested exercise, with the reason."""

    href: str
    text: str
    reason: str
    review: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A chapter in a list."""

    href: str
    title: str
    summary: str
    solved: int
    core: int
    extra_solved: int
    extras: int


def today() -> date:
    """Today's date, in UTC."""
    return datetime.now(UTC).date()


def standings_of(site: Site, learner: str) -> Standings:
    """The standing of *learner* in every exercise; empty for an unknown learner."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return standings(session, learner)


def memories_of(site: Site, learner: str) -> Mapping[str, Memory]:
    """The memory of each exercise that *learner* solved; empty for an unknown learner."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        given = answers(session, learner)
    return memories(_days(given), datetime.now(UTC))


def _days(given: Iterable[PastAnswer]) -> Iterator[Review]:
    """The result of each exercise on each day, in UTC."""
    days: dict[tuple[date, str], list[PastAnswer]] = {}
    for answer in given:
        days.setdefault((answer.at.astimezone(UTC).date(), answer.exercise), []).append(answer)
    for (_, exercise), those in days.items():
        first = those[0]
        solved = any(answer.own for answer in those)
        yield Review(exercise, first.at.astimezone(UTC), solved, first.unaided)


def mark_of(standing: Standing | None) -> Mark:
    """The mark of an exercise with that standing."""
    if standing is None or not standing.tried:
        return "new"
    if not standing.solved:
        return "tried"
    return "unaided" if standing.unaided else "solved"


def row_of(exercise: Exercise, known: Standings) -> ExerciseRow:
    """*exercise* as a row of a list."""
    mark = mark_of(known.get(exercise.id))
    return ExerciseRow(
        href=exercise_url(exercise.id),
        title=exercise.title,
        label=exercise.label,
        kind=exercise.kind_title,
        level=exercise.level,
        mark=mark,
        says=SAYS[mark],
    )


def card_of(topic: Topic, known: Standings) -> Card:
    """*topic* as a card of a list."""
    solved = [e.core for e in topic.exercises if is_solved(e, known)]
    core = sum(e.core for e in topic.exercises)
    return Card(
        href=chapter_url(topic.id),
        title=topic.title,
        summary=topic.summary,
        solved=sum(solved),
        core=core,
        extra_solved=len(solved) - sum(solved),
        extras=len(topic.exercises) - core,
    )


def is_solved(exercise: Exercise, known: Standings) -> bool:
    """Whether the learner solved *exercise*, with or without hints."""
    return mark_of(known.get(exercise.id)) in ("solved", "unaided")


def next_for(
    site: Site, known: Standings, kept: Mapping[str, Memory], current: str = ""
) -> Suggested | None:
    """The next exercise, with the reason."""
    solved = {e.id for e in site.catalog.exercises if is_solved(e, known)}
    found = suggestion(site.catalog, solved, kept, today(), current)
    return suggested(found) if found else None


def suggested(found: Suggestion) -> Suggested:
    """*found* as pages show it; a review has new numbers."""
    address = exercise_url(found.exercise.id)
    renewed = found.review and found.exercise.variation
    return Suggested(
        f"{address}/another" if renewed else address,
        found.exercise.title,
        found.reason,
        found.review,
    )
