"""The four checks on every number that is shown, whatever printed it.

What stands right behind it, whether its counter began again, a second source, and a physical limit.
A number that fails is not a result; the doubt says what was found and what is likely.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from app.core.formulas.presets.clusters import CLUSTERS
from app.core.formulas.presets.gpus import GPUS

FAR = 0.25  # two sources of one number that differ by more are not of the same thing
_ALMOST = 1.02  # of a limit: rounding
_IN_SWITCH = 2.0  # bus over wire, where a switch computes the sums or copies the data
_PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15}
_SECONDS = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6,
    "\u00b5s": 1e-6, "min": 60.0,
}  # fmt: skip
_FLOPS = {"GFLOP": 1e9, "TFLOP": 1e12, "PFLOP": 1e15, "MODEL": 1e12}
_LARGEST = 1e18


# a. What stands right behind a number.


def in_counts(value: float, behind: str, scale: float) -> float | None:
    """*value* with the unit letter *behind* it; None if a count has no such unit."""
    factor = 1.0 if not behind else _PREFIXES.get(behind)
    return None if factor is None else value * factor * scale


def in_seconds(value: float, behind: str, scale: float) -> float | None:
    """*value* in seconds, by the unit *behind* it, else by *scale*, its unit of old."""
    if behind in _SECONDS:
        return value * _SECONDS[behind]
    return in_counts(value, behind, scale)


def in_named_seconds(value: float, behind: str, scale: float) -> float | None:
    """*value* in seconds where the unit is *behind* it, as always; None without."""
    return value * scale * _SECONDS[behind] if behind in _SECONDS else None


def in_flops(value: float, behind: str, scale: float) -> float | None:
    """*value* in FLOP per second, by the unit *behind* it, else by *scale*."""
    name = behind.partition("/")[0].upper().rstrip("S")
    return value * _FLOPS[name] if name in _FLOPS else in_counts(value, behind, scale)


def as_share(value: float, behind: str, scale: float) -> float | None:
    """*value* as a part of one: in percent if the sign is *behind* it, else by *scale*."""
    if behind == "%":
        return value / 100
    return value * scale if not behind else None


ReadsUnit = Callable[[float, str, float], float | None]


def read_number(text: str) -> float | None:
    """The number written as *text*, above 0; None for anything else."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if 0 < value < _LARGEST else None


# b. Whether a counter began again.


@dataclass(slots=True)
class Counter:
    """The last number that each source, such as a rank, has printed."""

    last: dict[str, int] = field(default_factory=dict)

    def began_again(self, source: str, number: int, *, known: bool) -> bool:
        """Whether *number* is behind the last one of *source*; note it if not.

        A rank without a name that is one step late prints a number that is *known*.
        """
        before = self.last.get(source)
        if before is not None and number < before:
            return not (known and before - number <= 1)
        self.last[source] = number
        return False


# c. A second source.


def far_apart(one: float, other: float) -> bool:
    """Whether two sources of a number differ by more than a quarter."""
    return abs(one - other) > FAR * max(min(one, other), 0.0)


# d. A physical limit.


def exceeds(value: float, limit: float | None) -> bool:
    """Whether *value* is above *limit*, if there is one, by more than rounding."""
    return limit is not None and value > limit * _ALMOST


def highest_peak() -> float:
    """FLOP per second that no GPU exceeds in training, by the presets."""
    return max(max(gpu.peak, gpu.peak_8bit, gpu.peak_4bit) for gpu in GPUS.values())


def highest_bus_bandwidth(wire: float | None = None) -> float:
    """Bus bandwidth that no collective exceeds on *wire*, else on any cluster of the presets."""
    fastest = wire or max(cluster.intra_bandwidth for cluster in CLUSTERS.values())
    return _IN_SWITCH * fastest
