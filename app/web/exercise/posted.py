"""A posted form, and the result of its button."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.kinds.answers import Verdict
from app.kinds.code.feedback import Trial
from app.sandbox.fair_queue import Client

Fields = Mapping[str, Sequence[str]]  # the fields of a posted form
AnswerState = Literal["none", "correct", "partial", "incorrect", "unreadable", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A posted form, and the learner who sent it."""

    seed: int
    learner: str
    client: Client
    given: Fields

    @property
    def size(self) -> int:
        """Characters of all fields."""
        return sum(len(text) for texts in self.given.values() for text in texts)

    @property
    def action(self) -> str:
        """The button that was pressed."""
        return first(self.given, "action") or "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of a button."""

    verdict: Verdict | None = None
    trial: Trial | None = None
    state: AnswerState = "none"
    says: str = ""
    status: int = 200


def first(given: Fields, field: str) -> str:
    """The first value of *field*; empty where there is none."""
    return next(iter(given.get(field, ())), "")
