"""The placement: which chapter to ask about next, and what the answers say about the others.

Those who can answer on a chapter know what it builds on; those who cannot do not know what builds
on it. So each question is about a chapter that decides many others, whichever the answer is, and
more so the way that is likelier by the answers so far.
Source of the idea: Doignon, Falmagne, "Spaces for the assessment of knowledge", 1985.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.course.learning.prerequisites import Prerequisites

PLACEMENT_QUESTIONS = 6  # about ten minutes
_SEEDS = 1_000_000


@dataclass(frozen=True, slots=True)
class AssessmentQuestion:
    """A question of an assessment: its number from 1, and a drawing of an exercise."""

    number: int
    exercise: Exercise
    seed: int


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """What the answers say: the chapters that are *known*, and those that are *unknown*."""

    known: frozenset[str]
    unknown: frozenset[str]


def place_learner(graph: Prerequisites, answers: Sequence[tuple[str, bool]]) -> PlacementOutcome:
    """What *answers* say: for each chapter that was asked about, whether the answer was right."""
    known: set[str] = set()
    unknown: set[str] = set()
    for name, right in answers:
        if name not in graph.before:
            continue  # the course has changed since
        if right:
            known |= {name} | graph.before[name]
        else:
            unknown |= {name} | graph.after[name]
    return PlacementOutcome(frozenset(known), frozenset(unknown - known))


def placement_question(
    catalog: Catalog, answers: Sequence[tuple[str, bool]], draw: int, topics: Sequence[Topic] | None = None
) -> AssessmentQuestion | None:
    """The question after *answers*, about one of *topics*; by default, of all chapters.

    None if nothing is left to ask, or there were enough.
    """
    if len(answers) >= PLACEMENT_QUESTIONS:
        return None
    graph = Prerequisites(catalog.topics)
    found = place_learner(graph, answers)
    asked = {name for name, _ in answers}
    chapters = catalog.topics if topics is None else topics
    open_ones = {topic.id for topic in chapters} - found.known - found.unknown - asked
    able = [t for t in chapters if t.id in open_ones and t.placement in catalog.by_id]

    likely = (1 + sum(right for _, right in answers)) / (2 + len(answers))

    def decides(topic: Topic) -> float:
        right = len(open_ones & ({topic.id} | graph.before[topic.id]))
        wrong = len(open_ones & ({topic.id} | graph.after[topic.id]))
        return float(right**likely * wrong ** (1 - likely))

    if not able:
        return None
    best = max(able, key=decides)
    number = len(answers) + 1
    return AssessmentQuestion(number, catalog.by_id[best.placement], seed_in(draw, number))


def seed_in(draw: int, number: int) -> int:
    """The seed of a question, which nobody can tell from those of the others."""
    return 1 + Random(f"{draw} {number}").randrange(_SEEDS)
