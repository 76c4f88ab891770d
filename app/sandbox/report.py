"""What came of a run in the sandbox, as plain data."""

from dataclasses import dataclass
from typing import Literal

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
Reason = Literal["time", "memory", "stack", "too large", "refused", "lost"]


@dataclass(frozen=True, slots=True)
class Returned:
    """A call returned *value*."""

    value: "Plain"
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Raised:
    """A call raised; *line* is in the learner's source."""

    type: str
    message: str
    line: int | None
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A wall of the sandbox ended the run."""

    reason: Reason
    printed: str = ""


Outcome = Returned | Raised | Stopped


@dataclass(frozen=True, slots=True)
class Report:
    """One submission: what its body did, and what each call did, in order, until one stopped."""

    body: Raised | Stopped | None
    printed: str
    outcomes: tuple[Outcome, ...]
    seconds: float
