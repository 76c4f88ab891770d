"""A foreseen mistake: the sentence that is said of it, and what it is worth."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from app.core.translation import translate
from app.course.kinds.answers import PartVerdict
from app.course.kinds.strict import Markdown, Strict


class ScoredMistake(Strict):
    """A wrong answer that is told a sentence, and may be worth a part of the points."""

    says: Markdown = Field(description="what was done, and what to do instead")
    score: float = Field(default=0.0, ge=0, lt=1, description="the share of the points that it is worth, such as 0.5")


def _with_its_sentence(written: object) -> object:
    """A mistake as its author wrote it, which may be its sentence alone."""
    known = isinstance(written, Mapping | ScoredMistake)
    return written if known else {"says": written}


MISTAKES = "expression: sentence, or expression: {says: sentence, score: 0.5}"
Mistake = Annotated[ScoredMistake, BeforeValidator(_with_its_sentence, json_schema_input_type=Markdown | ScoredMistake)]


def worth_sentence(score: float) -> str:
    """The sentence on a wrong answer that is worth a share of the points; empty if it is not."""
    if not score:
        return ""
    return translate("This is worth {percent:.3g} % of the points.", percent=100 * score)


def part_sentences(parts: Mapping[str, PartVerdict], titles: Mapping[str, str], count: int = 0) -> list[str]:
    """What is said of each of several answers, and what a wrong one is worth of all points.

    *count* is the number of all answers, where *parts* are only some of them.
    """
    told = {name: worth_sentence(part.score / (count or len(parts))) for name, part in parts.items()}
    return [f"*{titles[name]}*: {part.says} {told[name]}".strip() for name, part in parts.items() if part.says]
