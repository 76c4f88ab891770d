"""The rules of assignments for the page of an exercise, as plain values; without a class, none."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fastapi import Request

from app.course.content.catalog import Catalog
from app.server.db.history import ExerciseHistory
from app.site.members import SignedIn
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


class Assignments(Protocol):
    """What assignments say about exercises; the part `app.classes` has them."""

    def rules_of(self, history: ExerciseHistory, seed: int) -> AssignmentRules:
        """What is refused on the drawing with *seed*, without the banners above it."""

    def rules_with_banners(
        self, course: Catalog, person: SignedIn, history: ExerciseHistory, seed: int
    ) -> AssignmentRules:
        """What they say about the drawing with *seed* to *person*, who has this *history*."""


class NoAssignments:
    """A site without classes: nothing is refused."""

    def rules_of(self, *_: object) -> AssignmentRules:
        """Nothing."""
        return FREE

    rules_with_banners = rules_of


def assignments_in(request: Request) -> Assignments:
    """The assignments of the site that serves *request*."""
    found: Assignments = request.app.state.assignments
    return found
