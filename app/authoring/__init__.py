"""Checks of content for authors: lint, proofs and preview."""

from collections.abc import Iterator

from app.authoring.chapter_proofs import ClaimScript, prove_characters, prove_phrases, prove_shape
from app.authoring.giveaways import add_cure, longest_is_right, prove_giveaways, prove_tolerances, too_long
from app.authoring.texts import SEEDS, Script, prove_displays, prove_numbers, prove_shown, prove_wholes
from app.course.kinds import Exercise, Finding

__all__ = ["SEEDS", "add_cure", "longest_is_right", "prove_characters", "prove_words", "too_long"]


def prove_words(exercise: Exercise) -> Iterator[Finding]:
    """Everything wrong with the texts of *exercise*, which can be drawn with every seed."""
    script = Script(exercise)
    yield from prove_shape(script)
    yield from prove_phrases(script)
    yield from prove_shown(script)
    yield from prove_numbers(script)
    yield from prove_displays(script)
    yield from prove_giveaways(script)
    every = script if exercise.from_chapter else ClaimScript(exercise)
    yield from prove_tolerances(every)
    yield from prove_wholes(every)
