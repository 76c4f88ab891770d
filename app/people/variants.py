"""The drawing of an exercise that belongs to each person: it follows, so nothing is stored."""

import hmac

from app.kinds import SEEDS
from app.people.policy import Variants


def variant_seed(secret: str, assignment: int, exercise: str, learner: str = "") -> int:
    """The seed of *exercise* in *assignment* for *learner*; without one, that of the whole class.

    The same on every server and in every browser: an HMAC under the site's *secret*.
    """
    named = f"variant:{assignment}:{exercise}:{learner}"
    return int.from_bytes(hmac.digest(secret.encode(), named.encode(), "sha256")[:8]) % SEEDS


class Drawings:
    """The drawings whose answers count in an assignment."""

    def __init__(self, secret: str, assignment: int, variants: Variants) -> None:
        self._secret = secret
        self._assignment = assignment
        self._variants = variants
        self._known: dict[tuple[str, str], int] = {}

    def counts(self, learner: str, exercise: str, seed: int) -> bool:
        """Whether answers of *learner* to that drawing count."""
        return self.only(learner, exercise) in (None, seed)

    def only(self, learner: str, exercise: str) -> int | None:
        """The seed of the only drawing that counts; None: any counts."""
        return None if self._variants == "many" else self.of(learner, exercise)

    def of(self, learner: str, exercise: str) -> int:
        """The seed of *exercise* for *learner*; if many count, the one to begin with."""
        key = "" if self._variants == "same" else learner, exercise
        own = self._known.get(key)
        if own is None:
            own = self._known[key] = variant_seed(self._secret, self._assignment, exercise, key[0])
        return own
