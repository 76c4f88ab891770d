"""Titles and tooltips that say what is asked for."""

import re
from collections.abc import Iterator, Sequence

from app.authoring.numbers import Figure, figures_in
from app.authoring.texts import Script
from app.content.glossary import terms
from app.content.marking import mark, marked
from app.errors import nearest
from app.expressions import Quantity
from app.kinds import Finding
from app.kinds.choice import Choice
from app.kinds.lab import LabExercise
from app.markdown import html

_STEM = 6  # letters that tell words apart
_MANY = 3  # words that only the right option shares with a tooltip
_COMMON = {
    "about", "after", "also", "because", "before", "both", "does", "each", "every", "from", "have",
    "into", "less", "many", "more", "most", "only", "other", "over", "same", "some", "than", "that",
    "their", "them", "then", "there", "they", "this", "under", "very", "what", "when", "which",
    "while", "with", "would",
}  # fmt: skip
_PARTS = {"third", "half", "quarter", "fifth", "tenth", "twice", "double", "triple", "thrice"}


def prove_giveaways(script: Script) -> Iterator[Finding]:
    """A title with the answer in it, and terms whose tooltip is the answer."""
    yield from _prove_unmarked(script)
    for figure in figures_in(script.exercise.title):
        if name := _answered(script, figure):
            says = f"says {figure.text}, and that is the answer ({name})"
            yield Finding(("title",), says, "name the subject, not what comes out")
    prompt = html(script.exercise.variant(0).prompt)
    shown = mark(prompt, tuple(script.exercise.unmarked))
    for key in marked(shown):
        term = terms()[key]
        if why := _told(script, term.says, prompt):
            says = f"the tooltip of {term.term!r} gives the answer away: {why}"
            yield Finding(
                ("prompt",), says, f"leave it out of the tooltips: unmarked: [{term.term}]"
            )


def _prove_unmarked(script: Script) -> Iterator[Finding]:
    known = {spelling for term in terms().values() for spelling in (term.term, *term.also)}
    for index, name in enumerate(script.exercise.unmarked):
        if name.casefold() not in {spelling.casefold() for spelling in known}:
            says = f"no term of the glossary is called {name!r}{nearest(name, known)}"
            yield Finding(("unmarked", index), says, "name a term as /glossary writes it")


def _answered(script: Script, figure: Figure) -> str:
    """The name of the answer that *figure* is in some drawing."""
    for drawn in script.drawings:
        for name, key in script.keys(drawn).items():
            right = Quantity(key.right, key.asked.scale.unit.dimension)
            counted = figure.has_unit or figure.telling or "time" in figure.nouns
            if counted and figure.is_that(right):
                return name
    return ""


def _told(script: Script, says: str, prompt: str) -> str:
    """What of the answer the tooltip *says*; nothing if it tells none of it."""
    exercise = script.exercise
    if isinstance(exercise, Choice | LabExercise):
        offered = exercise.options if isinstance(exercise, Choice) else exercise.cause.options
        correct = exercise.right(0) if isinstance(exercise, Choice) else {exercise.cause.correct}
        right = [option.text for key, option in offered.items() if key in correct]
        wrong = [option.text for key, option in offered.items() if key not in correct]
        return _chosen(right, wrong, says, prompt)
    return _factor(script, says, prompt)


def _chosen(right: Sequence[str], wrong: Sequence[str], says: str, prompt: str) -> str:
    """What the tooltip *says* that is in the right options and in no wrong one."""
    for text in right:
        head = re.split(r"[.,;:]", text.lower())[0]
        heads = [re.split(r"[.,;:]", other.lower())[0] for other in wrong]
        if " " in head and head in says.lower() and not any(h in says.lower() for h in heads):
            return f"{head!r}"
    own = _words(right) - _words(wrong) - _stems(prompt)
    other = _words(wrong) - _words(right) - _stems(prompt)
    common = own & _stems(says)
    parts = common & _PARTS
    if parts or (len(common) >= _MANY and len(common) > 2 * len(other & _stems(says))):
        return ", ".join(sorted(common))
    return ""


def _words(texts: Sequence[str]) -> set[str]:
    return {stem for text in texts for stem in _stems(text)}


def _stems(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{4,}", re.sub(r"<[^>]*>|\{[^}]*\}", " ", text.lower())))
    return {word if word in _PARTS else word[:_STEM] for word in words - _COMMON}


def _factor(script: Script, says: str, prompt: str) -> str:
    """A number of the tooltip that turns a given value into the answer at once."""
    told = {figure.number for figure in figures_in(re.sub(r"<[^>]*>", " ", prompt))}
    for figure in figures_in(says):
        if figure.number in told or not figure.has_unit:
            continue
        if any(_is_answer(script, figure, name) for name in ("", *script.names)):
            return figure.text
    return ""


def _is_answer(script: Script, figure: Figure, name: str) -> bool:
    """Whether *figure*, times the value called *name*, is an answer in every drawing."""
    for drawn in script.drawings:
        times = drawn.names[name].value if name else 1.0
        rights = [
            key.right
            for key in script.keys(drawn).values()
            if key.asked.scale.unit.dimension == figure.dimension
        ]
        if not any(abs(figure.value * times - right) <= abs(right) * 1e-6 for right in rights):
            return False
    return True
