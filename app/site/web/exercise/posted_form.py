"""A posted form, and the result of its button."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.core.errors import AnswerError, UnavailableError, sentence
from app.core.translation import noted, translate
from app.course.kinds.answers import PlayedAnswer, TooLongError, Verdict
from app.course.kinds.code.feedback import Trial
from app.server.aside.fair_queue import Client

_LONGEST_SITTING = 4 * 3600  # seconds; a page left open overnight says nothing
_LONGEST_CLOCK = 12  # figures
_LOST = noted("Your answer is still here, and no attempt was recorded.")
LONG = 4_000  # characters of a form, from which on its page takes long
Fields = Mapping[str, Sequence[str]]  # the fields of a posted form
AnswerState = Literal["none", "correct", "partial", "incorrect", "recorded", "refused", "unreadable", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedForm:
    """A posted form, and the learner who sent it."""

    seed: int
    learner: str
    client: Client
    given: Fields

    @property
    def size(self) -> int:
        """Characters of all fields."""
        return form_size(self.given)

    @property
    def action(self) -> str:
        """The button that was pressed."""
        return first_value(self.given, "action") or "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of a button."""

    verdict: Verdict | None = None
    trial: Trial | None = None
    played: PlayedAnswer | None = None
    state: AnswerState = "none"
    says: str = ""
    status: int = 200


def refuse_action(why: str) -> ActionResult:
    """What an assignment does not allow, with the reason *why*."""
    return ActionResult(state="refused", says=why, status=403)


def hide_verdict(why: str) -> ActionResult:
    """An answer that is stored; its verdict is hidden, with the reason *why*."""
    return ActionResult(state="recorded", says=translate("Your answer is stored. {why}", why=why))


def unreadable(error: AnswerError | TooLongError) -> ActionResult:
    """An answer that cannot be read: neither graded nor stored."""
    return ActionResult(
        state="unreadable", says=sentence(str(error)), status=413 if isinstance(error, TooLongError) else 200
    )


def unavailable(error: UnavailableError) -> ActionResult:
    """Something is out of order; the answer stays in the form."""
    says = f"{sentence(str(error))} {translate(_LOST)}"
    return ActionResult(state="unavailable", says=says, status=503)


def form_size(given: Fields) -> int:
    """Characters of all fields."""
    return sum(len(text) for texts in given.values() for text in texts)


def first_value(given: Fields, field: str) -> str:
    """The first value of *field*; empty where there is none."""
    return next(iter(given.get(field, ())), "")


def fields_of(pairs: Iterable[tuple[str, object]]) -> Fields:
    """The fields in *pairs* that are texts, not files."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if isinstance(value, str):
            # Browsers send every line break as two characters.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields


def begun_at(given: Fields) -> int:
    """When the page of a posted form was opened, in seconds since 1970; 0 where it does not say."""
    text = first_value(given, "begun")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_CLOCK else 0


def seconds_on(given: Fields, now: datetime) -> float | None:
    """How long the page was open, where that is plausible."""
    begun = begun_at(given)
    seconds = now.timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None
