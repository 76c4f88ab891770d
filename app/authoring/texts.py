"""The texts of an exercise as its author wrote them, and the values that the seeds draw."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.core.expressions import Quantity
from app.course.kinds import Exercise, Where
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.design import Design
from app.course.kinds.drawn_values import Draw
from app.course.kinds.lab import LabExercise
from app.course.kinds.numeric import Numeric
from app.course.kinds.visible_values import question_texts, slot_names

SEEDS = range(20)


def distinct(exercise: Exercise, seeds: Iterable[int]) -> Iterator[int]:
    """The first of those *seeds* that draw the same values of *exercise*.

    Raises:
        ExpressionError: a seed cannot be drawn; those before it are given.
    """
    seen = set()
    for seed in seeds:
        values = tuple(exercise.draw(seed).shown.items())
        if values not in seen:
            seen.add(values)
            yield seed


@dataclass(frozen=True)
class Script:
    """The texts of an exercise, and the values that may appear in them."""

    exercise: Exercise

    @cached_property
    def texts(self) -> Sequence[tuple[Where, str]]:
        """Every text that a student may see, with its path in the file."""
        exercise = self.exercise
        found = [(("title",), exercise.title), *exercise.texts(), (("solution",), exercise.solution)]
        if isinstance(exercise, Design):
            found.append((("better",), exercise.better))
            found += [(("require", key), text) for key, text in exercise.require.items()]
            found += [(("shows", key), text) for key, text in exercise.shows.items()]
        return found

    @property
    def questions(self) -> Iterator[tuple[Where, str]]:
        """The texts that a student sees before answering."""
        yield ("title",), self.exercise.title
        yield from question_texts(self.exercise)

    @cached_property
    def drawings(self) -> Sequence[Draw]:
        """The distinct drawings of the seeds, with the answers among their names."""
        seeds = distinct(self.exercise, SEEDS)
        return [self.exercise.solved(self.exercise.draw(seed)) for seed in seeds]

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The names of the drawn values, without the answers."""
        return frozenset(self.exercise.draw(self.drawings[0].seed).shown)

    @cached_property
    def names(self) -> Mapping[str, Quantity]:
        """The numbers of variant 0."""
        return self.drawings[0].names

    @cached_property
    def varying(self) -> frozenset[str]:
        """The names of the numbers that differ from drawing to drawing."""
        return frozenset(
            name
            for name, quantity in self.names.items()
            if any(other.names.get(name, quantity) != quantity for other in self.drawings)
        )

    def keys(self, drawn: Draw) -> Mapping[str, AnswerKey]:
        """The answer keys of an exercise that asks for numbers, by name."""
        if isinstance(self.exercise, Numeric | LabExercise):
            return self.exercise.keys(drawn.seed)
        return {}

    def mentioned(self, text: str) -> set[str]:
        """Every name in the slots of *text*."""
        return slot_names(text, self.drawings[0])
