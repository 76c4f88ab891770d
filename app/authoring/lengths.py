"""Options that give themselves away by their length: a warning, not a fault."""

from collections.abc import Iterable, Iterator

from app.kinds import Exercise
from app.kinds.choice import Choice

_MUCH = 1.5  # times the next longest
_SHORT = 40  # characters: below it nobody compares
_FEW = 3  # exercises, from which on a habit shows
_MOST = 2 / 3


def _right_and_wrong(exercise: Choice) -> tuple[int, int]:
    """The lengths of the longest right and of the longest wrong option of variant 0."""
    right, drawn = exercise.right(0), exercise.draw(0)
    lengths = {key: len(exercise.fill(one.text, drawn)) for key, one in exercise.options.items()}
    wrong = [length for key, length in lengths.items() if key not in right]
    return max(lengths[key] for key in right), max(wrong, default=0)


def too_long(exercise: Exercise) -> Iterator[str]:
    """What to say where the right option is by far the longest."""
    if not isinstance(exercise, Choice):
        return
    right, wrong = _right_and_wrong(exercise)
    if right > _SHORT and right > _MUCH * wrong:
        yield (
            f"the right option has {right} characters, and no other has more than {wrong}: "
            "it can be guessed by its length"
        )


def longest_is_right(chapter: str, exercises: Iterable[Exercise]) -> Iterator[str]:
    """What to say where in most choices of a chapter the longest option is right."""
    pairs = [_right_and_wrong(one) for one in exercises if isinstance(one, Choice)]
    longest = sum(right > wrong for right, wrong in pairs)
    if len(pairs) >= _FEW and longest > _MOST * len(pairs):
        yield (
            f"in {longest} of {len(pairs)} choices of {chapter} the right option is the longest: "
            "make some wrong ones as long"
        )
