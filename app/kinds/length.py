"""How long an answer may be: the same from a page, from a program and from a file."""

from app.errors import InputError
from app.kinds.base import Answer


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
