"""How far judging answers again has come: it goes from step to step in a field of the page.

No server remembers anything of it: any of them takes the next step, and a run that was left may be
begun again.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.classes.people.regrade_run import Regraded
from app.core.errors import InputError
from app.core.translation import translate

SHOWN = 200  # changes
_REASONS = 20  # of scores that stay
_LONG = 300  # characters of a reason
Count = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(allow_inf_nan=False)]


class ChangedScore(BaseModel):
    """A score of a person that changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    person: Count
    seed: Count
    before: Share
    after: Share


class SoFar(BaseModel):
    """What was judged; *last* is the attempt to go on after."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    last: Count = 0
    judged: Count = 0
    changed: Count = 0
    lowered: Count = 0
    kept: dict[str, Count] = Field(default_factory=dict, max_length=_REASONS)
    found: list[ChangedScore] = Field(default_factory=list, max_length=SHOWN)

    def text(self) -> str:
        """As the text of a field."""
        return self.model_dump_json()

    def with_step(self, step: Regraded) -> "SoFar":
        """With what another step has judged."""
        found = [
            ChangedScore(person=one.stale.member.person, seed=one.stale.seed, before=one.stale.before, after=one.score)
            for one in step.changes
        ]
        return SoFar(
            last=step.last or self.last,
            judged=self.judged + step.judged,
            changed=self.changed + len(step.changes),
            lowered=self.lowered + step.lowered,
            kept=_counted(self.kept, step.kept),
            found=[*self.found, *found][:SHOWN],
        )


def so_far(text: str) -> SoFar:
    """What such a text says; nothing was judged if it is empty.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return SoFar.model_validate_json(text) if text else SoFar()
    except ValidationError:
        raise InputError(translate("this form is incomplete; begin to judge again")) from None


def _counted(before: dict[str, int], reasons: Sequence[str]) -> dict[str, int]:
    """How often each reason was given; rare ones are counted together, so that it stays small."""
    counts = dict(before)
    for reason in reasons:
        known = reason[:_LONG]
        known = known if known in counts or len(counts) < _REASONS - 1 else translate("for other reasons")
        counts[known] = counts.get(known, 0) + 1
    return counts
