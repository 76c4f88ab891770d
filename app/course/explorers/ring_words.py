"""What a ring all-reduce has done so far, in words."""

from app.core.simulators.ring import RingStep
from app.core.translation import translate
from app.core.units import BYTE, figures, show


def ring_progress(now: RingStep, step: int, ranks: int, size: float) -> str:
    """What the last step did, and how much each rank has sent."""
    times = figures(now.sent_bytes / size)
    sent = translate(
        "Each rank has sent **{times}** times the array, {sent_bytes}.",
        times=times,
        sent_bytes=show(now.sent_bytes, BYTE),
    )
    if step == 0:
        return translate("Nothing has been sent yet. Every rank holds only its own values of every chunk.")
    chunk = now.sent[0]
    if step < ranks - 1:
        summed = translate("the values of one rank") if step == 1 else translate("the sum of {step} ranks", step=step)
        return translate(
            "Step {step} of the reduce-scatter: rank 0 sent chunk {chunk}, {summed}, and "
            "its neighbor added its own values. {sent}",
            step=step,
            chunk=chunk,
            summed=summed,
            sent=sent,
        )
    if step == ranks - 1:
        return translate(
            "The reduce-scatter is done: rank r owns the sum of chunk r + 1, and the last rank that of chunk 0. {sent}",
            sent=sent,
        )
    if step < 2 * (ranks - 1):
        return translate(
            "Step {step} of the all-gather: rank 0 sent the complete sum of chunk {chunk}; "
            "from here on nothing is added. {sent}",
            step=step - ranks + 1,
            chunk=chunk,
            sent=sent,
        )
    return translate("Done: every rank holds every sum. {sent}", sent=sent)


def phase_of(step: int, ranks: int) -> str:
    """The half of the all-reduce that a step belongs to."""
    if step == 0:
        return translate("before the first step")
    return "reduce-scatter" if step < ranks else "all-gather"


def holding(share: frozenset[int], ranks: int) -> str:
    """What a rank holds of a chunk, if it has the values of those in *share*."""
    if len(share) == ranks:
        return translate("the sum of all")
    if len(share) == 1:
        return translate("its own values")
    return translate("the sum of ranks ") + ", ".join(map(str, sorted(share)))
