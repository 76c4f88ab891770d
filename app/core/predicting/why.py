"""What limits a step, and what lacks where it does not fit, in plain words."""

from collections.abc import Mapping

from app.core.predicting.estimate import Estimate
from app.core.units import BYTE, SECOND, show

# Of those whose name says too little; every other part is called by its name.
_CALLED = {
    "compute": "computation",
    "products": "matrix products",
    "element_wise": "element-wise kernels",
    "head": "the output head",
    "launches": "kernel launches",
    "recompute": "recomputation",
    "tensor": "tensor parallelism",
    "context": "context parallelism",
    "expert": "expert parallelism",
    "data": "data parallelism",
    "messages": "messages between stages",
    "bubble": "the pipeline bubble",
    "skew": "waiting for slower GPUs",
}
_NAMED = 0.01  # of the step: smaller parts limit nothing


def why(found: Estimate) -> str:
    """What limits the step of *found*, and whether and where it fits."""
    return " ".join(text for text in (_of_time(found), _of_interval(found), _of_memory(found), found.scores) if text)


def called(part: str) -> str:
    """The part of a step or of its memory, as a person calls it."""
    return _CALLED.get(part, part.replace("_", " "))


def _of_time(found: Estimate) -> str:
    first, *others = _largest(found.parts, found.total)
    then = f", then {others[0]}" if others else ""
    return f"The largest part of the step is {first}{then}."


def _largest(parts: Mapping[str, float], total: float) -> list[str]:
    """The largest *parts* that count, with their shares of *total*."""
    order = sorted(parts, key=lambda part: -parts[part])
    counts = [part for part in order[1:] if parts[part] >= _NAMED * total]
    return [f"{called(part)} ({100 * parts[part] / total:.3g} %)" for part in (order[0], *counts)]


def _of_interval(found: Estimate) -> str:
    if found.low == found.high:
        return ""
    low, high = (show(seconds, SECOND, 3) for seconds in (found.low, found.high))
    return (
        f"It takes {low} to {high}: not every share of the hardware's peak that it depends on has a"
        " published source. Measure yours, and give them under shares."
    )


def _of_memory(found: Estimate) -> str:
    needs, has = (show(size, BYTE, 3) for size in (found.allocated, found.room))
    stage = _stage(found)
    if found.fits:
        return f"It fits: {stage} needs {needs} of {has}."
    lacking = show(found.allocated - found.room, BYTE, 3)
    largest = max(found.memory, key=lambda part: found.memory[part])
    return (
        f"It does not fit: {stage} needs {needs}, {lacking} more than the {has} available;"
        f" the largest part is {called(largest)} ({show(found.memory[largest], BYTE, 3)})."
    )


def _stage(found: Estimate) -> str:
    if len(found.stages) == 1:
        return "a GPU"
    return f"stage {found.stages.index(found.allocated)} of {len(found.stages)}, the fullest,"
