"""The drawing of an exercise that belongs to each person: it follows, so nothing is stored."""

import hmac
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from hashlib import sha256
from types import MappingProxyType

from sqlalchemy import ColumnElement, func
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from app.classes.people.assignments import Assignment
from app.course.kinds import SEEDS
from app.server.db.people import MemberRow, MergeRow, PersonRow
from app.server.db.tables import AttemptRow

Former = Mapping[str, Collection[str]]
_BLOCK = 64  # bytes of a block of SHA-256


def variant_seed(secret: str, assignment: int, exercise: str, learner: str = "") -> int:
    """The seed of *exercise* in *assignment* for *learner*; without one, that of the whole class.

    The same on every server and in every browser: an HMAC under the site's *secret*.
    """
    named = f"variant:{assignment}:{exercise}:{learner}"
    return int.from_bytes(hmac.digest(secret.encode(), named.encode(), "sha256")[:8]) % SEEDS


class ExerciseSeeds:
    """The seeds of an exercise in an assignment, for many learners.

    An HMAC is one hash over another. What both begin with is the same for everyone, and is hashed
    once: for a class, this takes a third of the time.
    """

    def __init__(self, secret: str, assignment: int, exercise: str) -> None:
        key = secret.encode()
        block = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))  # as in RFC 2104
        self._inner.update(f"variant:{assignment}:{exercise}:".encode())
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def of(self, learner: str) -> int:
        """The seed for *learner*: that of `variant_seed`."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(learner.encode())
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:8]) % SEEDS


def former_learners(session: Session) -> Former:
    """The learners whose answers became those of another in a merge, by that other learner."""
    kept, gone = aliased(PersonRow), aliased(PersonRow)
    rows = session.connection().execute(
        columns(col(kept.learner), col(gone.learner))
        .join_from(MergeRow, kept, col(kept.id) == col(MergeRow.kept))
        .join(gone, col(gone.id) == col(MergeRow.gone))
        .where(col(MergeRow.undone).is_(None), col(MergeRow.moved) != "")
        .order_by(col(MergeRow.id))
    )
    found: dict[str, set[str]] = {}
    for one, other in rows:  # oldest first: what became another's then goes on with it
        found.setdefault(one, set()).update({other}, found.get(other, ()))
    return found


def since_joined(assignment: Assignment) -> Sequence[ColumnElement[bool]]:
    """What leaves out the answers from before a student was in the class, where any drawing counts."""
    if assignment.policy.variants != "many":
        return ()
    joined = (
        columns(func.min(col(MemberRow.joined)))
        .join_from(PersonRow, MemberRow, col(MemberRow.person) == col(PersonRow.id))
        .where(col(PersonRow.learner) == col(AttemptRow.learner), col(MemberRow.class_id) == assignment.class_id)
        .correlate(AttemptRow)
        .scalar_subquery()
    )
    return (col(AttemptRow.at) >= joined,)


class Drawings:
    """The drawings whose answers count in an assignment; with a person's own, *former* ones."""

    def __init__(self, secret: str, assignment: Assignment, former: Former = MappingProxyType({})) -> None:
        self._secret = secret
        self._assignment = assignment
        self._variants = assignment.policy.variants
        self._former = former
        self._seeds: dict[str, Callable[[str], int]] = {}
        self._drawn: dict[str, Collection[str]] = {}

    def counts(self, learner: str, exercise: str, seed: int) -> bool:
        """Whether answers of *learner* to that drawing count."""
        if not self.has(learner, exercise):
            return False
        if self._variants == "many":
            return True
        seed_of, former = self._seeds_of(exercise), self._former.get(learner, ())
        return seed == seed_of(learner) or seed in map(seed_of, former)

    def only(self, learner: str, exercise: str) -> Collection[int] | None:
        """The seeds of the only drawings that count; None: any counts.

        None of an exercise that *learner* has not: it is of a pool, and others were drawn.
        """
        if not self.has(learner, exercise):
            return ()
        if self._variants == "many":
            return None
        return {self.of(one, exercise) for one in (learner, *self._former.get(learner, ()))}

    def has(self, learner: str, exercise: str) -> bool:
        """Whether *learner* has that exercise of the assignment."""
        if not self._assignment.draws:
            return True
        if learner not in self._drawn:
            self._drawn[learner] = self._assignment.drawn(learner)
        return exercise in self._drawn[learner]

    def of(self, learner: str, exercise: str) -> int:
        """The seed of *exercise* for *learner*; if many count, the one to begin with."""
        return self._seeds_of(exercise)(learner)

    def seeds(self, exercise: str) -> Callable[[str], int] | None:
        """The seed of *exercise* by learner, if they have it; None: any counts."""
        return None if self._variants == "many" else self._seeds_of(exercise)

    def _seeds_of(self, exercise: str) -> Callable[[str], int]:
        """The seed of *exercise* by learner; each is worked out once."""
        if exercise not in self._seeds:
            seeds = ExerciseSeeds(self._secret, self._assignment.id, exercise)
            of_everyone = seeds.of("")
            same = self._variants == "same"
            self._seeds[exercise] = (lambda _: of_everyone) if same else cache(seeds.of)
        return self._seeds[exercise]
