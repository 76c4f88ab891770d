"""What to tell somebody whose program is wrong in a known way."""

import math
from collections.abc import Iterator, Sequence

from app.kinds.code.agreement import CLOSE, alike, as_float
from app.kinds.code.calls import Call
from app.kinds.common_mistakes import slip
from app.sandbox.execution import Execution, Outcome, Returned, Stopped
from app.units import Scale


def same_results(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two programs return the same for all calls."""
    return len(some) == len(others) and all(
        isinstance(a, Returned) and isinstance(b, Returned) and alike(a.value, b.value)
        for a, b in zip(some, others, strict=True)
    )


def was_stopped(report: Execution) -> bool:
    """Whether a wall ended the run: on a busy machine another run may come further."""
    return any(isinstance(outcome, Stopped) for outcome in (report.body, *report.outcomes))


def common_slip(calls: Sequence[Call], outcomes: Sequence[Outcome], scale: Scale) -> str:
    """What to say when every value is off by the same well-known factor."""
    ratios = list(_ratios(calls, outcomes))
    first = ratios[0] if ratios else 0.0
    if not first or any(abs(ratio / first - 1) > CLOSE for ratio in ratios):
        return ""
    return slip(first, scale, CLOSE)


def _ratios(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> Iterator[float]:
    for call, outcome in zip(calls, outcomes, strict=False):
        number = _number(outcome)
        if (expected := as_float(call.expected)) and number is not None:
            yield number / expected


def _number(outcome: Outcome) -> float | None:
    """The finite number that a call returned."""
    if not isinstance(outcome, Returned) or type(outcome.value) not in (int, float):
        return None
    number = as_float(outcome.value)
    return number if math.isfinite(number) else None
