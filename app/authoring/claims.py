"""What texts claim about drawn values: proven in every drawing, or noted where nothing proves it.

A claim names the words that rely on it; so does `fixed`, for what holds whatever is drawn.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from app.authoring.texts import Script, distinct
from app.core.expressions import Branch, ExpressionError, blanked, holds, parts
from app.course.kinds import Exercise, Finding, Where
from app.course.kinds.drawn_values import Draw
from app.course.kinds.parameters import corners

_PATIENCE = 10  # seeds per drawing so far that draw nothing new, before these are all
_LEAST, _MOST = 200, 4000  # seeds
_COMPARING = re.compile(
    r"(?<!\bat )\b(?:more|less|fewer|most|mostly|least|only|never|always|hardly|barely|scarcely|"
    r"far|nearly|almost|several|half|third|quarter|twice|double|flat|no|none|above|below|beyond|"
    r"larger|largest|(?:small|long|short|fast|slow|high|low|cheap|dear)(?:er|est)|better|best|"
    r"worse|worst|exceeds?|dominates?)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n")
_LONGEST = 100  # characters of a sentence that a note quotes
_MASK = "…"  # in place of words that a claim is about
_PROVE = "say it under claims or in {when …}…{end}; under fixed if it holds whatever is drawn"


class ClaimScript(Script):
    """The texts of an exercise with every drawing, rather than those of a few seeds."""

    @cached_property
    def drawings(self) -> Sequence[Draw]:
        """Every distinct drawing, with the answers among their names."""
        seeds = distinct(self.exercise, self._seeds())
        return [self.exercise.solved(self.exercise.draw(seed)) for seed in seeds]

    def _seeds(self) -> Iterator[int]:
        """Seeds, until many more than there are drawings have drawn nothing new."""
        yield from corners(self.exercise.chapter_parameters)
        seen, last = set[tuple[str, ...]](), 0
        for seed in range(_MOST):
            values = tuple(self.exercise.draw(seed).shown.values())
            if values not in seen:
                seen.add(values)
                last = seed
            elif seed > last + max(_LEAST, _PATIENCE * len(seen)):
                return
            yield seed


def prove_claims(exercise: Exercise) -> Iterator[Finding]:
    """Claims that some drawing refutes or no text makes, and pieces that no drawing shows."""
    script = ClaimScript(exercise)
    texts = [text for _, text in script.texts]
    for condition, phrases in exercise.claims.items():
        where: Where = ("claims", condition)
        for phrase in phrases:
            if not any(_pattern(phrase).search(text) for text in texts):
                says = f"is about words that no text says: {phrase!r}"
                yield Finding(where, says, "quote a text as it is written, slots and all")
        if says := _refuted(script, condition):
            yield Finding(where, says, "correct the sentence, or tie it to {when …}…{end}")
    for where, text in script.texts:
        yield from (Finding(where, says, cure) for says, cure in _trouble_of_branches(script, text))


def unproven(exercise: Exercise) -> Iterator[tuple[Where, str]]:
    """Each comparison after the answer that a drawing might refute, and that nothing proves."""
    script = Script(exercise)
    claimed = [one for phrases in exercise.claims.values() for one in phrases]
    proven = [_pattern(phrase) for phrase in (*claimed, *exercise.fixed)]
    questions = set(script.questions)
    for where, text in script.texts:
        if (where, text) in questions or not script.mentioned(text) & script.varying:
            continue
        bare = "".join(part if isinstance(part, str) else _MASK for part in parts(text))
        for pattern in proven:
            bare = pattern.sub(_MASK, bare)
        for sentence in _SENTENCE.split(blanked(bare)):
            if found := _COMPARING.search(sentence):
                shown = " ".join(sentence.split())[:_LONGEST]
                yield where, f"nothing proves {found[0]!r} in {shown!r}; {_PROVE}"


def _refuted(script: ClaimScript, condition: str) -> str:
    """The first drawing in which *condition* does not hold, in words; empty if there is none."""
    try:
        refuting = next((one for one in script.drawings if not holds(condition, one.names)), None)
    except ExpressionError as error:
        return str(error)
    return f"does not hold at seed {refuting.seed}{_values(refuting)}" if refuting else ""


def _values(drawn: Draw) -> str:
    shown = ", ".join(f"{name} {text}" for name, text in drawn.shown.items() if text)
    return f" ({shown[:_LONGEST]})" if shown else ""


def _trouble_of_branches(script: ClaimScript, text: str) -> Iterator[tuple[str, str]]:
    """Pieces of *text* that are shown in every drawing or in none, and broken groups."""
    try:
        groups = [part for part in parts(text) if not isinstance(part, str)]
        for group in groups:
            shown = {_shown_branch(group, drawn) for drawn in script.drawings}
            for branch in group:
                condition = branch.condition or "otherwise"
                if branch not in shown:
                    yield f"no drawing shows the piece for {condition!r}", "remove the piece"
                elif len(shown) == 1:
                    yield f"every drawing shows the piece for {condition!r}", "remove its tags"
    except ExpressionError as error:
        yield str(error), ""


def _shown_branch(group: Sequence[Branch], drawn: Draw) -> Branch | None:
    """The piece of *group* that *drawn* shows."""
    ahead = (one for one in group if not one.condition or holds(one.condition, drawn.names))
    return next(ahead, None)


def _pattern(phrase: str) -> re.Pattern[str]:
    """The words of *phrase* on one line or several."""
    return re.compile(r"\s+".join(map(re.escape, phrase.split())))
