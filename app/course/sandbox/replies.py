"""A program's run in the sandbox as plain data, parsed from the replies of a worker, which are hostile."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.errors import AnswerError
from app.course.sandbox.guest.codec import decode, encode

SOURCE_LIMIT = 64_000  # bytes
# Exact built-in types only, nested at most 20 deep; floats may be infinite or nan.
Plain = (
    None
    | bool
    | int
    | float
    | complex
    | str
    | list["Plain"]
    | tuple["Plain", ...]
    | set["Plain"]
    | dict["Plain", "Plain"]
)
Reason = Literal["time", "memory", "stack", "too large", "refused", "lost", "busy"]


@dataclass(frozen=True, slots=True)
class CallReturned:
    """A call returned *value*."""

    value: "Plain"
    printed: str = ""


@dataclass(frozen=True, slots=True)
class CallRaised:
    """A call raised an exception; *line* is in the learner's source."""

    type: str
    message: str
    line: int | None
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A limit of the sandbox stopped the run."""

    reason: Reason
    printed: str = ""


Outcome = CallReturned | CallRaised | Stopped


@dataclass(frozen=True, slots=True)
class Execution:
    """A program's run: what its body did, and what each call did, in order, until one stopped."""

    body: CallRaised | Stopped | None
    printed: str
    outcomes: tuple[Outcome, ...]
    seconds: float


def request_of(source: str, entry: str, calls: Sequence[Sequence[Plain]]) -> dict[str, object]:
    """The request to a worker: run *source*, then call its function *entry* for each of *calls*.

    Raises:
        AnswerError: *source* is too long, or not valid Unicode.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise AnswerError("the program contains characters that are not valid Unicode") from None
    if size > SOURCE_LIMIT:
        raise AnswerError(f"the program is too long: {size:,} bytes of at most {SOURCE_LIMIT:,}")
    arguments = [[encode(value) for value in call] for call in calls]
    return {"source": source, "entry": entry, "calls": arguments}


_REPLY = 200_000  # characters; the guest's own limits are far lower
_PRINTED = 17_000
_NAME, _MESSAGE = 80, 300
_LINES = 64_000  # of a program
# The only error the guest itself raises, and its message; a learner may define a class so named.
_OWN, _OWN_WORDS = "Missing", re.compile(r"no function called \w+ is defined")
_REASONS = ("time", "memory", "stack", "too large", "refused")  # that a worker may give


def execution_of(answer: dict[str, object], calls: int) -> Execution:
    """What a run with *calls* calls did, according to the worker's *answer*."""
    replies, stopped, seconds = answer.get("replies"), answer.get("stopped"), answer.get("seconds")
    texts = replies if isinstance(replies, list) else []
    outcomes = [_outcome(text, body=index == 0) for index, text in enumerate(texts[: calls + 1])]
    while any(isinstance(outcome, Stopped) for outcome in outcomes[:-1]):
        outcomes.pop()
    complete = bool(outcomes) and isinstance(outcomes[-1], Stopped)
    if isinstance(stopped, str) and not complete:
        outcomes.append(_stopped(stopped))
    elif not outcomes or (not complete and len(outcomes) <= calls and _ran(outcomes[0])):
        outcomes.append(Stopped("refused"))  # forged replies
    body, *rest = outcomes
    took = float(seconds) if isinstance(seconds, int | float) else 0.0
    if isinstance(body, CallReturned):
        return Execution(None, body.printed, tuple(rest), took)
    return Execution(body, body.printed, (), took)


def _ran(body: Outcome) -> bool:
    return isinstance(body, CallReturned)


def _stopped(reason: str) -> Stopped:
    for known in _REASONS:
        if reason == known:
            return Stopped(known)  # type: ignore[arg-type]
    return Stopped("refused")


def _outcome(text: object, *, body: bool) -> Outcome:
    """Parse one reply, which learner code may have forged."""
    try:
        if not isinstance(text, str) or len(text) > _REPLY:
            return Stopped("too large")
        inner, printed = json.loads(text)
        reply = json.loads(inner)
        printed = _clean(printed, _PRINTED)
        if "stopped" in reply:
            # The guest gives no other reason itself, and a claim of learner code is not trusted.
            return Stopped("too large" if reply["stopped"] == "too large" else "refused", printed)
        if "raised" in reply:
            return _raised(reply["raised"], printed)
        value = None if body else decode(reply["value"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return Stopped("refused")
    return CallReturned(value, printed)  # type: ignore[arg-type]


def _raised(raised: object, printed: str) -> CallRaised:
    if not isinstance(raised, list):
        raise TypeError("not an error's type, message and line")
    kind, message, line = raised
    number = line if type(line) is int and 0 < line <= _LINES else None
    name, words = _clean(kind, _NAME), _clean(message, _MESSAGE)
    if name == _OWN and not _OWN_WORDS.fullmatch(words):
        name = f"solution.{_OWN}"
    return CallRaised(name, words, number, printed)


def _clean(text: object, longest: int) -> str:
    if not isinstance(text, str):
        raise TypeError("not a string")
    return text[:longest].encode("utf-8", "replace").decode("utf-8").replace("\0", "�")
