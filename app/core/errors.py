"""The errors that the app raises on purpose."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from app.core.translation import language, offer, translate


class AppError(Exception):
    """Base class of every error below; any other exception is a bug."""


class Problem(NamedTuple):
    """One problem of a content file: where it is, what is wrong, and the cure."""

    path: Path
    line: int
    says: str
    cure: str = ""

    def __str__(self) -> str:
        cure = f"; {self.cure}" if self.cure else ""
        return f"{self.path}:{self.line}: {self.says}{cure}"


class ContentError(AppError):
    """Content files are not valid; every problem is listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class AnswerError(AppError):
    """The learner's text cannot be parsed as an answer."""


class NotFoundError(AppError):
    """Nothing has the given name."""


class InputError(AppError):
    """An argument of a command or a call is not valid."""


class RefusedError(AppError):
    """What another service sent is not accepted; the message says why and what to do."""


class UnavailableError(AppError):
    """A part of the server is unavailable; the message says which, why, and the cure.

    The *cause* is the driver's message. It may name hosts, users and files, and is only for the
    log and the command line.
    """

    def __init__(self, says: str, cause: str = "") -> None:
        self.cause = cause
        super().__init__(says)


def input_error(form: str, /, **values: object) -> InputError:
    """The error about an argument that says the sentence of this *form* with *values*, translated."""
    return InputError(translate(form, **values))


def refused_error(form: str, /, **values: object) -> RefusedError:
    """The error about what another service sent that says the sentence of this *form* with *values*, translated."""
    return RefusedError(translate(form, **values))


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that offers the known name closest to *name*, or an empty string.

    >>> nearest("ring_allreduce", ["ring_all_reduce", "tree"])
    "; did you mean 'ring_all_reduce'?"
    """
    offered = offer(name, known)
    return translate(offered) if offered else ""


def capitalize(text: str) -> str:
    """*text* with a capital first letter; `str.capitalize` would lower all others.

    >>> capitalize("the GPUs of a node")
    'The GPUs of a node'
    """
    return text[:1].upper() + text[1:]  # Markup stays Markup


_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def sentence(text: str) -> str:
    """A message as a sentence: a capital first letter, and a full stop where none ends it.

    >>> sentence("ranks must be at least 1, not 0")
    'Ranks must be at least 1, not 0.'
    >>> sentence("No such file.")
    'No such file.'
    """
    if text.endswith((".", "?", "!", "。", "？", "！")):
        return capitalize(text)
    return capitalize(text) + ("。" if language() == "zh" and _CHINESE.search(text) else ".")
