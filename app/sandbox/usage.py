"""Who has used how much lately."""

from collections.abc import Callable
from time import monotonic

_HALF_LIFE = 60.0  # seconds until what was used counts half
_KEPT = 10_000  # names; beyond it, those that have used almost nothing are forgotten
_ALMOST_NOTHING = 0.05  # seconds


class Usage:
    """Seconds that each name has used; they fade."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}  # seconds, and when that was so

    def of(self, name: str) -> float:
        """Seconds that *name* has used, the older the less."""
        seconds, at = self._used.get(name, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._clock() - at) / _HALF_LIFE)) if seconds else 0.0

    def charge(self, name: str, seconds: float) -> None:
        """Add *seconds* to what *name* has used."""
        self._used[name] = (self.of(name) + seconds, self._clock())
        if len(self._used) > _KEPT:
            self._forget()

    def _forget(self) -> None:
        self._used = {
            name: self._used[name] for name in self._used if self.of(name) > _ALMOST_NOTHING
        }
