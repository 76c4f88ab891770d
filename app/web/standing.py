"""Where a learner stands, as pages show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.catalog import Catalog, Topic
from app.db.queries import Standing, standings
from app.db.session import open_session
from app.kinds import Exercise
from app.site import Site
from app.web.rendering import Link

Mark = Literal["new", "tried", "solved", "unaided"]
Standings = Mapping[str, Standing]
SAYS: Mapping[Mark, str] = {
    "new": "not tried",
    "tried": "tried",
    "solved": "solved",
    "unaided": "solved without hints",
}
KINDS = {
    "numeric": "Number",
    "expression": "Formula",
    "choice": "Choice",
    "match": "Matching",
    "order": "Order",
    "buggy_line": "Find the bug",
    "function": "Write code",
}


@dataclass(frozen=True, slots=True)
class Row:
    """An exercise in a list."""

    href: str
    title: str
    label: str
    kind: str
    level: int
    mark: Mark
    says: str


@dataclass(frozen=True, slots=True)
class Card:
    """A chapter in a list."""

    href: str
    title: str
    summary: str
    solved: int
    core: int
    extra_solved: int
    extras: int


def standings_of(site: Site, learner: str) -> Standings:
    """How *learner* stands with every exercise; nothing for nobody."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return standings(session, learner)


def mark_of(standing: Standing | None) -> Mark:
    """The mark of an exercise."""
    if standing is None or not standing.tried:
        return "new"
    if not standing.solved:
        return "tried"
    return "unaided" if standing.unaided else "solved"


def row_of(exercise: Exercise, known: Standings) -> Row:
    """*exercise* in a list."""
    mark = mark_of(known.get(exercise.id))
    return Row(
        address_of(exercise),
        exercise.title,
        exercise.label,
        KINDS[exercise.kind],
        exercise.level,
        mark,
        SAYS[mark],
    )


def card_of(topic: Topic, known: Standings) -> Card:
    """*topic* in a list."""
    solved = [e.core for e in topic.exercises if is_solved(e, known)]
    core = sum(e.core for e in topic.exercises)
    return Card(
        f"/chapters/{topic.id}",
        topic.title,
        topic.summary,
        sum(solved),
        core,
        len(solved) - sum(solved),
        len(topic.exercises) - core,
    )


def is_solved(exercise: Exercise, known: Standings) -> bool:
    """Whether the learner solved *exercise* alone."""
    return mark_of(known.get(exercise.id)) in ("solved", "unaided")


def address_of(exercise: Exercise, seed: int = 0) -> str:
    """The page of *exercise*."""
    return f"/exercises/{exercise.id}" + (f"?seed={seed}" if seed else "")


def suggestion(catalog: Catalog, known: Standings, current: str = "") -> Link | None:
    """What to solve next: core exercises in order, first those after *current*; then the others."""
    ids = [exercise.id for exercise in catalog.exercises]
    here = ids.index(current) + 1 if current else 0
    around = [*catalog.exercises[here:], *catalog.exercises[:here]]
    open_ones = [e for e in around if not is_solved(e, known) and e.id != current]
    ordered = sorted(open_ones, key=lambda exercise: not exercise.core)
    return Link(address_of(ordered[0]), ordered[0].title) if ordered else None
