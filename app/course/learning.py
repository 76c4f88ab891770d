"""A model of what a learner remembers, mastery of chapters and skills, and what to do next."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from random import Random

from fsrs import Card, Rating, Scheduler

from app.core.translation import plural, translate
from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise


@dataclass(frozen=True)
class Prerequisites:
    """What chapters build on: only on those that are listed earlier."""

    topics: tuple[Topic, ...]

    @cached_property
    def direct(self) -> Mapping[str, tuple[str, ...]]:
        """The chapters that each one needs, by id."""
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
    """The question after *answers*, about one of *topics*; None if nothing is left to ask, or there were enough."""
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
    left = {
        topic.id: [one for one in topic.exercises if not (one.runs_code or one.runs_lab) and one.minutes <= _LONGEST]
        for topic in catalog.topics
    }
    while len(chosen) < FINAL_QUESTIONS and any(left.values()):
        chapters = [name for name, those in left.items() if those]
        for name in random.sample(chapters, len(chapters))[: FINAL_QUESTIONS - len(chosen)]:
            rarest = min(kinds[one.kind] for one in left[name])
            one = random.choice([one for one in left[name] if kinds[one.kind] == rarest])
            left[name].remove(one)
            kinds[one.kind] += 1
            chosen.append(one)
    return chosen


@dataclass(frozen=True, slots=True)
class FinalTally:
    """How many questions of a sort were right, of how many."""

    name: str
    right: int
    total: int


def tally_answers(pairs: Sequence[tuple[str, bool]]) -> tuple[FinalTally, ...]:
    """A tally for each name in *pairs* of names and whether the answer was right, best first."""
    totals = Counter(name for name, _ in pairs)
    right = Counter(name for name, is_right in pairs if is_right)
    found = [FinalTally(name, right[name], total) for name, total in totals.items()]
    return tuple(sorted(found, key=lambda one: (-one.right / one.total, -one.total, one.name)))


RETENTION = 0.9  # an exercise is due when its chance of being solved falls to this
_SCHEDULER = Scheduler(  # in whole days and without randomness: the same answers always lead to the same dates
    desired_retention=RETENTION, learning_steps=(), relearning_steps=(), maximum_interval=365, enable_fuzzing=False
)


@dataclass(frozen=True, slots=True)
class Review:
    """The result of one exercise on one day; *at* is the first answer of that day."""

    exercise: str
    at: datetime
    solved: bool
    at_once: bool  # solved with the first answer, without a hint


@dataclass(frozen=True, slots=True)
class Memory:
    """A learner's memory of a solved exercise; *first*: the day on which it was solved first."""

    due: date
    last: date
    chance: float  # of solving it now
    first: date = date.min


def memories(reviews: Iterable[Review], now: datetime) -> Mapping[str, Memory]:
    """The memory of each exercise that was ever solved; *reviews* are oldest first.

    Raises:
        ValueError: a time is not in UTC.
    """
    cards: dict[str, Card] = {}
    days: dict[str, list[date]] = {}
    for review in reviews:
        if review.exercise not in cards and not review.solved:
            continue  # there is nothing to remember yet
        rating = Rating.Good if review.at_once else Rating.Hard if review.solved else Rating.Again
        card = cards.get(review.exercise) or Card(card_id=0, due=review.at)
        cards[review.exercise], _ = _SCHEDULER.review_card(card, rating, review.at)
        days.setdefault(review.exercise, []).append(review.at.date())
    return {
        name: Memory(card.due.date(), days[name][-1], _SCHEDULER.get_card_retrievability(card, now), days[name][0])
        for name, card in cards.items()
    }


@dataclass(frozen=True, slots=True)
class Mastery:
    """The exercises solved, their total number, and the share that would be solved now."""

    solved: int
    total: int
    share: float


def mastery_of(exercises: Iterable[Exercise], memories: Mapping[str, Memory]) -> Mastery:
    """The mastery of *exercises*; one that was never solved has no chance of being solved now."""
    chances = [memories[e.id].chance if e.id in memories else 0.0 for e in exercises]
    solved = sum(chance > 0 for chance in chances)
    return Mastery(solved, len(chances), sum(chances) / len(chances) if chances else 0.0)


def mastery_by_skill(exercises: Iterable[Exercise], memories: Mapping[str, Memory]) -> Mapping[str, Mastery]:
    """The mastery of each skill with a solved exercise, the least remembered first."""
    by_skill: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        for skill in exercise.skills:
            by_skill.setdefault(skill, []).append(exercise)
    found = {skill: mastery_of(those, memories) for skill, those in by_skill.items()}
    begun = {skill: mastery for skill, mastery in found.items() if mastery.solved}
    return dict(sorted(begun.items(), key=lambda pair: (pair[1].share, pair[0])))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An exercise to do, and the reason."""

    exercise: Exercise
    reason: str


def due_exercises(catalog: Catalog, memories: Mapping[str, Memory], today: date) -> tuple[Suggestion, ...]:
    """The exercises due for review, the least remembered first."""
    waiting = [one for one in catalog.exercises if one.id in memories and memories[one.id].due <= today]
    waiting.sort(key=lambda one: (memories[one.id].chance, one.id))
    return tuple(Suggestion(one, _why(memories[one.id], today)) for one in waiting)


def next_exercise(
    catalog: Catalog,
    solved: Collection[str],
    chapter: str = "",
    current: str = "",
    known: Collection[str] = (),
    route: str = "",
) -> Suggestion | None:
    """The exercise to continue with after *current*, which is no longer open.

    It is the first open one on the path of *chapter*, then of the chapters after it, then of those
    before it. When every path is finished, it is any exercise that is left, in the same order. The
    chapters that are *known* come last. On a *route*, its chapters come first, after *chapter*.
    """
    there = [topic.id for topic in catalog.topics if not route or route in topic.routes]
    here = next((n for n, topic in enumerate(catalog.topics) if topic.id == chapter), 0)
    around = catalog.topics[here:] + catalog.topics[:here]
    chapters = sorted(around, key=lambda topic: (topic.id in known, topic.id not in (*there, chapter)))
    paths = [one for topic in chapters if topic.id not in known for one in topic.path]
    others = [one for topic in chapters for one in topic.exercises]
    extras = [one for topic in chapters if topic.id not in known for one in topic.extras]
    left = (one for one in (*paths, *extras, *others) if one.id not in solved and one.id != current)
    chosen = next(left, None)
    if chosen is None:
        return None
    topic = catalog.topic_of(chosen)
    if chosen in topic.path:
        why = translate(
            "Number {place} of {count} on the path in {title}.",
            place=topic.path.index(chosen) + 1,
            count=len(topic.path),
            title=topic.title,
        )
    else:
        why = translate("Still open in {title}.", title=topic.title)
    return Suggestion(chosen, why)


def practice_exercises(topic: Topic, solved: Collection[str], after: Exercise | None = None) -> Sequence[Exercise]:
    """The exercises of *topic* to practice with that fit equally well, beside its path or, without others, on it.

    Those not yet *solved* come first, then those with most skills in common with *after*, which was missed, then those
    of about its level, or of the highest that was solved on the path.
    """
    bank = [one for one in topic.extras or topic.path if one != after and not one.runs_lab]
    reached = max((one.level for one in topic.path if one.id in solved), default=1)
    level, skills = (after.level, set(after.skills)) if after else (reached, set())

    def distance(one: Exercise) -> tuple[bool, int, int]:
        return one.id in solved, -len(skills.intersection(one.skills)), abs(one.level - level)

    nearest = min(map(distance, bank), default=None)
    return [one for one in bank if distance(one) == nearest]


def _why(memory: Memory, today: date) -> str:
    days, left = (today - memory.last).days, 100 * memory.chance
    if not days:
        return translate("last done today; about {left:.0f} % is left", left=left)
    return plural(
        "last done yesterday; about {left:.0f} % is left",
        "last done {number} days ago; about {left:.0f} % is left",
        days,
        left=left,
    )


MOST_A_DAY = 10  # reviews; the others wait for the days after


@dataclass(frozen=True, slots=True)
class ReviewSession:
    """The reviews of a day: those *left*, in order, how many were *done*, and how many are due and wait for *later*."""

    left: tuple[Suggestion, ...]
    done: int
    later: int

    @property
    def total(self) -> int:
        """All reviews of the day."""
        return self.done + len(self.left)

    @property
    def minutes(self) -> int:
        """About how long those take that are left."""
        return sum(one.exercise.minutes for one in self.left)


def review_session(
    catalog: Catalog, memories: Mapping[str, Memory], today: date, most: int = MOST_A_DAY
) -> ReviewSession:
    """The reviews of *today*, at most *most*: what others build on first, then the least known."""
    listed = {one.id for one in catalog.exercises}
    reviewed = (m for name, m in memories.items() if name in listed and m.first < m.last == today)
    done = sum(1 for _ in reviewed)
    waiting = tuple(_needed_first(catalog, due_exercises(catalog, memories, today)))
    room = max(0, most - done)
    return ReviewSession(waiting[:room], done, len(waiting[room:]))


def _needed_first(catalog: Catalog, waiting: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """*waiting* in its order, but each after those of the chapters that its own builds on."""
    before = Prerequisites(catalog.topics).before
    chapters = {one.exercise.id: catalog.topic_of(one.exercise).id for one in waiting}
    left = list(waiting)
    while left:
        needs = before[chapters[left[0].exercise.id]]
        first = [one for one in left if chapters[one.exercise.id] in needs]
        first.sort(key=lambda one: len(before[chapters[one.exercise.id]]))  # stable: else in their order
        chosen = [*first, left[0]]
        yield from chosen
        left = [one for one in left if one not in chosen]
