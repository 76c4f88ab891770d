"""Sentences that are not true of every drawing, or need another exercise to be understood."""

import re
from collections.abc import Iterator

from app.authoring.texts import Script
from app.kinds import Finding

_OTHER = r"(?:exercise|question|problem|task)"
_LEANS = re.compile(
    r"\A\W*(?:and|but|then|again|so|also|once more|the same|likewise)\b"
    rf"|\b(?:previous|preceding|last|earlier) {_OTHER}\b|\b{_OTHER}\s+(?:before|above)\b"
    r"|\bas (?:before|above)\b|\bthe one before\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:first|second|third|last|other|default) (?:variants?|numbers|drawings?|cases?|draws?)\b"
    r"|\bthe first (?:two|three|four) are\b|\bvariant \d",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:(?:paper|page|report|card|tutorial|blog|post|article|survey|data sheet|documentation)\b"
    r"[^.{}]{0,40}\b(?:says?|writes?|reports?|counts?|gives?|claims?|finds|looks|states)|reports)\b"
    r"(?P<said>.*?)(?:[.;?](?=\s)|\Z)",
    re.DOTALL,
)


def prove_phrases(script: Script) -> Iterator[Finding]:
    """Sentences that lean on another exercise, speak of other drawings, or invent a claim."""
    for where, text in script.questions:
        if where == ("prompt",) and (found := _LEANS.search(text)):
            says = f"leans on another exercise: {found[0].strip()!r}"
            yield Finding(where, says, "say all that is needed: exercises come back in any order")
    for where, text in script.texts:
        if found := _OTHERS.search(text):
            says = f"speaks of other drawings, which a student does not see: {found[0]!r}"
            yield Finding(
                where, says, "give each row of `cases` a text of its own, or leave it out"
            )
        for claim in _CLAIM.finditer(text):
            if drawn := script.mentioned(claim["said"]) & script.varying:
                says = f"lets a source say {sorted(drawn)[0]}, which is drawn"
                cure = "tie the sentence to the row it is true of: a text of its own in `cases`"
                yield Finding(where, says, cure)
