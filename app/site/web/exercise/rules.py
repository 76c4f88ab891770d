"""The rules of assignments for the page of an exercise, as plain values; without a class, none."""

from dataclasses import dataclass
from datetime import datetime

from app.site.web.frame.renderer import Hyperlink


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentBanner:
    """An assignment above its exercise; *ends*: when the clock of an exam stops.

    *skip* is where a question of the placement or of a final can be passed over.
    """

    title: str
    href: str
    place: str
    says: tuple[str, ...]
    warns: str
    ends: datetime | None
    following: Hyperlink | None
    kind: str = "Assignment"
    skip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRules:
    """What assignments say; *hints*, *solution* and *verdict* are why those are refused, if so.

    *redirect_to* is the page of an assignment that has to be opened first.
    """

    banners: tuple[AssignmentBanner, ...] = ()
    hints: str = ""
    solution: str = ""
    verdict: str = ""
    exam: bool = False
    redirect_to: str = ""

    def refusal(self, action: str) -> str:
        """Why the button *action* is refused; empty if it is not."""
        return {"hint": self.hints, "solution": self.solution}.get(action, "")


FREE = AssignmentRules()
