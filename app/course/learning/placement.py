"""What comes before what; the placement, and finals."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise

_COLUMNS = 4  # that a map has, unless its needs take more
_SWEEPS = 4


@dataclass(frozen=True)
class Prerequisites:
    """The chapters of a map; an arrow leads only from one that is listed earlier."""

    topics: tuple[Topic, ...]

    @cached_property
    def direct(self) -> Mapping[str, tuple[str, ...]]:
        """The chapters on the map that each one needs, by id."""
        found: dict[str, tuple[str, ...]] = {}
        for topic in self.topics:
            found[topic.id] = tuple(name for name in topic.needs if name in found)
        return found

    @cached_property
    def before(self) -> Mapping[str, frozenset[str]]:
        """All chapters that each one builds on, by id."""
        found: dict[str, frozenset[str]] = {}
        for name, needs in self.direct.items():
            found[name] = frozenset(needs).union(*(found[need] for need in needs))
        return found

    @cached_property
    def after(self) -> Mapping[str, frozenset[str]]:
        """All chapters that build on each one, by id."""
        return {
            name: frozenset(other for other, before in self.before.items() if name in before) for name in self.before
        }

    @cached_property
    def columns(self) -> tuple[tuple[Topic, ...], ...]:
        """The chapters in columns: what each one needs is in a column before its own.

        The first column has those that need nothing and that others build on; the others are
        about as high as each other.
        """
        roots = [t for t in self.topics if not self.direct[t.id] and self.after[t.id]]
        rest = len(self.topics) - len(roots)
        most = max(1, -(-rest // (_COLUMNS - 1)))
        columns, placed = [roots] if roots else [], {topic.id for topic in roots}
        left = [topic for topic in self.topics if topic.id not in placed]
        while left:
            ready = [topic for topic in left if placed.issuperset(self.direct[topic.id])]
            ready.sort(key=lambda topic: -len(self.after[topic.id]))  # stable: else in their order
            column = sorted(ready[:most], key=self.topics.index)
            placed.update(topic.id for topic in column)
            left = [topic for topic in left if topic.id not in placed]
            columns.append(column)
        return tuple(map(tuple, self._uncrossed(columns)))

    def _uncrossed(self, columns: Sequence[Sequence[Topic]]) -> Sequence[Sequence[Topic]]:
        """*columns* in which chapters are near those they need, and those that need them."""
        for sweep in range(_SWEEPS):
            heights = _heights(columns)
            near = self.direct if sweep % 2 == 0 else self._followers
            columns = [
                sorted(column, key=lambda topic: _mean(near[topic.id], heights, heights[topic.id]))
                for column in columns
            ]
        return columns

    @cached_property
    def _followers(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(other for other, needs in self.direct.items() if name in needs) for name in self.direct}


def _heights(columns: Sequence[Sequence[Topic]]) -> Mapping[str, float]:
    """The height of each chapter in its column, from 0 to 1."""
    return {topic.id: (place + 0.5) / len(column) for column in columns for place, topic in enumerate(column)}


def _mean(names: Collection[str], heights: Mapping[str, float], otherwise: float) -> float:
    return sum(heights[name] for name in names) / len(names) if names else otherwise


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
