"""A posted form, and the result of its button."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fastapi import Request

from app.aside import aside
from app.aside.fair_queue import Client
from app.kinds import Exercise
from app.kinds.answers import PlayedAnswer, Verdict
from app.kinds.code.feedback import Trial

LONG = 4_000  # characters of a form, from which on its page takes long
Fields = Mapping[str, Sequence[str]]  # the fields of a posted form
AnswerState = Literal[
    "none", "correct", "partial", "incorrect", "recorded", "refused", "unreadable", "unavailable"
]

_FRAGMENT = "x-fragment"  # a script asks for the verdict alone


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
        return size_of(self.given)

    @property
    def action(self) -> str:
        """The button that was pressed."""
        return first(self.given, "action") or "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of a button."""

    verdict: Verdict | None = None
    trial: Trial | None = None
    played: PlayedAnswer | None = None
    state: AnswerState = "none"
    says: str = ""
    status: int = 200


def size_of(given: Fields) -> int:
    """Characters of all fields."""
    return sum(len(text) for texts in given.values() for text in texts)


async def draw_aside(exercise: Exercise, seed: int) -> None:
    """Work out what *seed* draws beside the event loop, unless it is known."""
    if not exercise.is_drawn(seed):
        await aside(exercise.prepare, seed)


def first(given: Fields, field: str) -> str:
    """The first value of *field*; empty where there is none."""
    return next(iter(given.get(field, ())), "")


def is_part(request: Request) -> bool:
    """Whether a script asks for the verdict alone."""
    return request.headers.get(_FRAGMENT) == "1"


async def fields_of(request: Request) -> Fields:
    """The posted fields; a field may occur several times."""
    form = await request.form(max_files=0, max_fields=200)
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            # Browsers send every line break as two characters.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields
