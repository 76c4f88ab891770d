"""Texts that give the answer away: titles, tooltips, and the lengths of options."""

import re
from collections.abc import Iterable, Iterator, Sequence

from app.authoring.texts import Script
from app.authoring.values import WrittenNumber, written_numbers
from app.core.errors import nearest
from app.core.expressions import Quantity
from app.course.content.glossary import mark, marked, terms
from app.course.kinds import Exercise, Finding
from app.course.kinds.choice import Choice
from app.course.kinds.lab import LabExercise
from app.site.markdown import html

_STEM = 6  # letters that distinguish words
_SHARED_WORDS = 3  # words that only the right option shares with a tooltip
_STOP_WORDS = {
    "about", "after", "also", "because", "before", "both", "does", "each", "every", "from", "have",
    "into", "less", "many", "more", "most", "only", "other", "over", "same", "some", "than", "that",
    "their", "them", "then", "there", "they", "this", "under", "very", "what", "when", "which",
    "while", "with", "would",
}  # fmt: skip
_PARTS = {"third", "half", "quarter", "fifth", "tenth", "twice", "double", "triple", "thrice"}
_MUCH_LONGER = 1.5  # times the longest wrong option
_SHORT_OPTION = 40  # characters, below which no one compares
_HABIT = 3  # exercises that make a habit visible
_HABIT_SHARE = 2 / 3  # of the exercises


def prove_giveaways(script: Script) -> Iterator[Finding]:
    """A title that contains the answer, and terms whose tooltip gives it away."""
    yield from _prove_unmarked(script)
    for written in written_numbers(script.exercise.title):
        if name := _answered(script, written):
            says = f"says {written.text}, which is the answer ({name})"
            yield Finding(("title",), says, "name the subject, not the result")
    prompt = html(script.exercise.variant(0).prompt)
    shown = mark(prompt, tuple(script.exercise.unmarked))
    for key in marked(shown):
        term = terms()[key]
        if why := _given_away(script, term.says, prompt):
            says = f"the tooltip of {term.term!r} gives the answer away: {why}"
            yield Finding(("prompt",), says, f"remove its tooltip: unmarked: [{term.term}]")


def _prove_unmarked(script: Script) -> Iterator[Finding]:
    known = {spelling for term in terms().values() for spelling in (term.term, *term.also)}
    for index, name in enumerate(script.exercise.unmarked):
        if name.casefold() not in {spelling.casefold() for spelling in known}:
            says = f"no glossary term is called {name!r}{nearest(name, known)}"
            yield Finding(("unmarked", index), says, "write the term as in /glossary")


def _answered(script: Script, written: WrittenNumber) -> str:
    """The name of the answer that *written* equals in some drawing; empty if there is none."""
    for drawn in script.drawings:
        for name, key in script.keys(drawn).items():
            right = Quantity(key.right, key.asked.scale.unit.dimension)
            counted = written.has_unit or written.is_distinctive or "time" in written.nouns
            if counted and written.equals(right):
                return name
    return ""


def _given_away(script: Script, says: str, prompt: str) -> str:
    """The part of the answer that the tooltip *says*; empty if there is none."""
    exercise = script.exercise
    if isinstance(exercise, Choice | LabExercise):
        offered = exercise.options if isinstance(exercise, Choice) else exercise.cause.options
        correct = exercise.right(0) if isinstance(exercise, Choice) else {exercise.cause.correct}
        right = [option.text for key, option in offered.items() if key in correct]
        wrong = [option.text for key, option in offered.items() if key not in correct]
        return _chosen(right, wrong, says, prompt)
    return _factor(script, says, prompt)


def _chosen(right: Sequence[str], wrong: Sequence[str], says: str, prompt: str) -> str:
    """The words of the tooltip that are in the right options and in none of the wrong ones."""
    for text in right:
        head = re.split(r"[.,;:]", text.lower())[0]
        heads = [re.split(r"[.,;:]", other.lower())[0] for other in wrong]
        if " " in head and head in says.lower() and not any(h in says.lower() for h in heads):
            return f"{head!r}"
    own = _words(right) - _words(wrong) - _stems(prompt)
    other = _words(wrong) - _words(right) - _stems(prompt)
    common = own & _stems(says)
    parts = common & _PARTS
    if parts or (len(common) >= _SHARED_WORDS and len(common) > 2 * len(other & _stems(says))):
        return ", ".join(sorted(common))
    return ""


def _words(texts: Sequence[str]) -> set[str]:
    return {stem for text in texts for stem in _stems(text)}


def _stems(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{4,}", re.sub(r"<[^>]*>|\{[^}]*\}", " ", text.lower())))
    return {word if word in _PARTS else word[:_STEM] for word in words - _STOP_WORDS}


def _factor(script: Script, says: str, prompt: str) -> str:
    """A number in the tooltip that turns a given value directly into the answer."""
    known = {written.number for written in written_numbers(re.sub(r"<[^>]*>", " ", prompt))}
    for written in written_numbers(says):
        if written.number in known or not written.has_unit:
            continue
        if any(_is_answer(script, written, name) for name in ("", *script.names)):
            return written.text
    return ""


def _is_answer(script: Script, written: WrittenNumber, name: str) -> bool:
    """Whether *written*, times the value called *name*, is an answer in every drawing."""
    for drawn in script.drawings:
        times = drawn.names[name].value if name else 1.0
        rights = [
            key.right for key in script.keys(drawn).values() if key.asked.scale.unit.dimension == written.dimension
        ]
        if not any(abs(written.value * times - right) <= abs(right) * 1e-6 for right in rights):
            return False
    return True


def _right_and_wrong(exercise: Choice) -> tuple[int, int]:
    """The lengths of the longest right and of the longest wrong option of variant 0."""
    right, drawn = exercise.right(0), exercise.draw(0)
    lengths = {key: len(exercise.fill(one.text, drawn)) for key, one in exercise.options.items()}
    wrong = [length for key, length in lengths.items() if key not in right]
    return max(lengths[key] for key in right), max(wrong, default=0)


def too_long(exercise: Exercise) -> Iterator[str]:
    """A warning if the right option is by far the longest."""
    if not isinstance(exercise, Choice):
        return
    right, wrong = _right_and_wrong(exercise)
    if right > _SHORT_OPTION and right > _MUCH_LONGER * wrong:
        yield (
            f"the right option has {right} characters, and no other has more than {wrong}: "
            "it can be guessed by its length"
        )


def longest_is_right(chapter: str, exercises: Iterable[Exercise]) -> Iterator[str]:
    """A warning if the longest option is right in most choices of a chapter."""
    pairs = [_right_and_wrong(one) for one in exercises if isinstance(one, Choice)]
    longest = sum(right > wrong for right, wrong in pairs)
    if len(pairs) >= _HABIT and longest > _HABIT_SHARE * len(pairs):
        yield (
            f"in {longest} of {len(pairs)} choices of {chapter} the right option is the longest: "
            "lengthen some wrong ones"
        )
