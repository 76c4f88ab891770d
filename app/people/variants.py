"""The drawing of an exercise that belongs to each person: it follows, so nothing is stored."""

import hmac

from app.kinds import SEEDS


def variant_seed(secret: str, assignment: int, exercise: str, learner: str = "") -> int:
    """The seed of *exercise* in *assignment* for *learner*; without one, that of the whole class.

    The same on every server and in every browser: an HMAC under the site's *secret*.
    """
    named = f"variant:{assignment}:{exercise}:{learner}"
    return int.from_bytes(hmac.digest(secret.encode(), named.encode(), "sha256")[:8]) % SEEDS
