"""What a site asks about persons: who is signed in, and what an assignment hides. Without classes, nobody is."""

from dataclasses import dataclass, field
from datetime import datetime

from app.core.errors import InputError
from app.server.db.history import Drawing, ExerciseHistory, LearnerDrawing
from app.server.db.tables import now


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The person of a session, who was *made* then; answers are stored under *learner*, *browser* names the session."""

    person: int
    learner: str
    name: str
    made: datetime = field(default_factory=now)
    browser: str = ""


class Members:
    """The persons of a site: without the part `app.classes`, which has them, nobody signs in."""

    exist: bool = False  # whether anyone can sign in

    async def sought(self, cookie: str) -> SignedIn | None:
        """Who is signed in with the *cookie* of a session, looked up together with others.

        Raises:
            UnavailableError: the database cannot be read.
        """
        return None

    def find(self, cookie: str) -> SignedIn | None:
        """Who is signed in with the *cookie* of a session. Raises as `sought` does."""
        return None

    def veil(self, learner: str, moment: datetime) -> frozenset[Drawing]:
        """The drawings whose verdicts are hidden from *learner* at *moment*."""
        return frozenset()

    async def history(self, at: LearnerDrawing, person: SignedIn, moment: datetime) -> ExerciseHistory:
        """What *person* has done at a drawing, with what assignments say of it."""
        return ExerciseHistory()

    def learner_called(self, label: str, class_id: int | None) -> str:
        """The learner of the member of a class, or of any class, whom other systems call *label*.

        Raises:
            InputError: nobody is called so, or several persons are.
        """
        raise InputError("learner: this server has no classes; leave it out")
