"""A program's run in the sandbox as plain data: the request, and what each of its calls did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.errors import AnswerError
from app.course.sandbox.guest.codec import encode

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
