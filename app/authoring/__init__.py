"""What lint says of the words of an exercise: what they show, give away, and leave out."""

from collections.abc import Iterator

from app.authoring.characters import prove_characters
from app.authoring.cures import cured
from app.authoring.giveaways import prove_giveaways
from app.authoring.lengths import longest_is_right, too_long
from app.authoring.missing import prove_shown
from app.authoring.numbers import prove_numbers
from app.authoring.phrases import prove_phrases
from app.authoring.shape import prove_shape
from app.authoring.texts import SEEDS, Script
from app.kinds import Exercise, Finding

__all__ = ["SEEDS", "cured", "longest_is_right", "prove_characters", "prove_words", "too_long"]


def prove_words(exercise: Exercise) -> Iterator[Finding]:
    """Everything wrong with the words of *exercise*, which can be drawn at every seed."""
    script = Script(exercise)
    yield from prove_shape(script)
    yield from prove_phrases(script)
    yield from prove_shown(script)
    yield from prove_numbers(script)
    yield from prove_giveaways(script)
