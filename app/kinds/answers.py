"""An answer, how long it may be, and the verdict on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.errors import AnswerError, InputError

Answer = str | list[str] | dict[str, str]


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """The judgement on one of several answers; None where it was left empty."""

    correct: bool | None
    says: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on one answer, and the sentences (Markdown) shown with it."""

    correct: bool
    score: float
    feedback: tuple[str, ...]
    parts: Mapping[str, PartVerdict] = field(default_factory=dict)


class TooLongError(InputError):
    """An answer is longer than it may be: status 413."""


def answer_length(answer: Answer) -> int:
    """The characters of *answer*, the names of its parts among them."""
    if isinstance(answer, str):
        return len(answer)
    if isinstance(answer, list):
        return sum(len(part) + 1 for part in answer)
    return sum(len(name) + len(text) for name, text in answer.items())


def refuse_longer(answer: Answer, limit: int) -> None:
    """Refuse an *answer* of more than *limit* characters.

    Raises:
        TooLongError: it is one.
    """
    if answer_length(answer) > limit:
        raise TooLongError(f"an answer has at most {limit:,} characters")


def single(answer: Answer) -> str:
    """*answer*, when it is one text.

    Raises:
        AnswerError: it is a list or an object.
    """
    if not isinstance(answer, str):
        raise AnswerError("one text is wanted as the answer, not a list or an object")
    return answer
