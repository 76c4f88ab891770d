"""Axes: where a value is placed, and where the ticks are."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache

from app.units import SECOND, Unit, figures, show

_TICKS = 6
_MINUTE = 60.0
_TIMES = (
    1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 10 * 24 * 3600,
    100 * 24 * 3600,
)  # fmt: skip
_NOISE = 9  # decimals of a percentage
_FEW = 3  # decades; a logarithmic axis with fewer has ticks at 2 and 5 times each, too
_DECADES = 8  # ticks on a logarithmic axis; with more decades, every second or third


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it measures, in which unit."""

    label: str
    unit: Unit
    log: bool = False
    percent: bool = False

    def text(self, value: float) -> str:
        """*value* as text, with its unit."""
        if self.unit is SECOND:
            return time_text(value)
        return f"{figures(100 * value)} %" if self.percent else show(value, self.unit)


def percent_text(share: float) -> str:
    """*share* as a percentage; rounding noise becomes 0."""
    return f"{figures(round(100 * share, _NOISE), 3)} %"


@lru_cache(maxsize=16_384)
def time_text(seconds: float) -> str:
    """*seconds* with a unit; cached, because a chart shows most times more than once."""
    return show(seconds, SECOND)


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis, at a position in pixels."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class PixelScale:
    """Maps the values *low* to *high* of an axis to pixels *start* to *end*."""

    axis: Axis
    _: KW_ONLY
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Position of *value* in pixels, clamped to the ends."""
        if self.axis.log:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(max(value, self.low)) - low) / (high - low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Ticks at round values."""
        if not self.axis.log:
            values = even(self.low, self.high, _TICKS)
        elif self.axis.unit is SECOND and self.high > _MINUTE:
            values = [value for value in _TIMES if self.low <= value <= self.high]
        else:
            values = _decades(self.low, self.high)
        return tuple(Tick(self.at(value), self.axis.text(value)) for value in values)


def scale(axis: Axis, values: list[float], start: float, end: float) -> PixelScale:
    """A scale that covers *values*; a linear one includes 0."""
    found = [value for value in values if math.isfinite(value) and (value > 0 or not axis.log)]
    low, high = min(found, default=1.0), max(found, default=1.0)
    if axis.log:
        return PixelScale(
            axis, low=low, high=high if high > low else low * 10, start=start, end=end
        )
    return PixelScale(axis, low=min(0.0, low), high=high if high > 0 else 1.0, start=start, end=end)


def even(low: float, high: float, count: int) -> list[float]:
    """About *count* round values from *low* to *high*."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * place for place in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten from *low* to *high*; if there are few, also 2 and 5 times each.

    >>> _decades(28, 150)
    [50.0, 100.0]
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first + 1 < _FEW:
        values = (m * 10.0**power for power in range(first - 1, last + 1) for m in (1, 2, 5))
        return [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    stride = max(1, math.ceil((last - first) / _DECADES))
    return [10.0**power for power in range(first, last + 1, stride)]
