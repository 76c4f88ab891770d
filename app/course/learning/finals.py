"""A final: questions from all over the course, drawn so that chapters and kinds are spread."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.course.learning.placement import AssessmentQuestion, seed_in

FINAL_QUESTIONS = 20
_LONGEST = 5  # minutes of a question


def final_questions(catalog: Catalog, draw: int) -> tuple[AssessmentQuestion, ...]:
    """The questions of the final with the number *draw*, in the order of the course."""
    chosen = sorted(_chosen(catalog, Random(draw)), key=catalog.exercises.index)
    return tuple(
        AssessmentQuestion(number, exercise, seed_in(draw, number)) for number, exercise in enumerate(chosen, start=1)
    )


def _chosen(catalog: Catalog, random: Random) -> Sequence[Exercise]:
    """One exercise from each of as many chapters as possible, then from all of them again."""
    kinds: Counter[str] = Counter()
    chosen: list[Exercise] = []
    left = {topic.id: list(_able(topic)) for topic in catalog.topics}
    while len(chosen) < FINAL_QUESTIONS and any(left.values()):
        chapters = [name for name, those in left.items() if those]
        for name in random.sample(chapters, len(chapters))[: FINAL_QUESTIONS - len(chosen)]:
            rarest = min(kinds[one.kind] for one in left[name])
            one = random.choice([one for one in left[name] if kinds[one.kind] == rarest])
            left[name].remove(one)
            kinds[one.kind] += 1
            chosen.append(one)
    return chosen


def _able(topic: Topic) -> Iterator[Exercise]:
    """The exercises of *topic* that fit a final: programs and labs take longer."""
    answered = (one for one in topic.exercises if not (one.runs_code or one.runs_lab))
    return (one for one in answered if one.minutes <= _LONGEST)


@dataclass(frozen=True, slots=True)
class FinalTally:
    """How many questions of a sort were right, of how many."""

    name: str
    right: int
    total: int


def tallied(pairs: Sequence[tuple[str, bool]]) -> tuple[FinalTally, ...]:
    """A tally for each name in *pairs* of names and whether the answer was right, best first."""
    totals = Counter(name for name, _ in pairs)
    right = Counter(name for name, is_right in pairs if is_right)
    found = [FinalTally(name, right[name], total) for name, total in totals.items()]
    return tuple(sorted(found, key=lambda one: (-one.right / one.total, -one.total, one.name)))
