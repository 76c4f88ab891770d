"""Pipeline schedules, simulated event by event."""

from collections.abc import Callable, Mapping

from app.core.simulators.pipeline.player import (
    Block,
    Pass,
    PipelineSchedule,
    SimulatedSchedule,
    Slot,
    Times,
    Waits,
    kept_over_time,
    simulate_schedule,
)
from app.core.simulators.pipeline.schedules import (
    dualpipe,
    dualpipe_v,
    gpipe,
    interleaved,
    naive,
    one_forward_one_backward,
    zb_h1,
    zb_h2,
    zb_v,
)
from app.core.translation import noted, offer, value_error

__all__ = [
    "SCHEDULES", "Block", "Pass", "SimulatedSchedule", "PipelineSchedule", "Slot", "Times", "build", "kept_over_time",
    "simulate_schedule",
]  # fmt: skip

SCHEDULES: Mapping[str, Callable[[int, int], PipelineSchedule]] = {
    "naive": naive,
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
    "interleaved": one_forward_one_backward,
    "zb_h1": zb_h1,
    "zb_h2": zb_h2,
    "zb_v": zb_v,
    "dualpipe": dualpipe,
    "dualpipe_v": dualpipe_v,
}
MOST_PASSES = 4_000_000  # of one kind; a few seconds, and a gigabyte


def build(name: str, stages: int, microbatches: int, virtual: int = 1, waits: Waits = "every") -> PipelineSchedule:
    """The schedule called *name* on *stages* devices.

    *virtual* is the number of chunks that each device holds in the interleaved schedule; zb_v and
    dualpipe_v always have two. *waits* says which micro-batches of a round of that schedule wait
    for the message from the last device to the first: every one, or the first alone.

    Raises:
        ValueError: the name is unknown, or the schedule does not exist for these numbers.
    """
    if name not in SCHEDULES:
        form = noted("{name} must be one of {allowed}, not {value!r}{offer}")
        raise value_error(form, name="schedule", allowed=", ".join(SCHEDULES), value=name, offer=offer(name, SCHEDULES))
    for what, value in (("stages", stages), ("microbatches", microbatches), ("virtual", virtual)):
        if value < 1:
            raise value_error("{name} must be at least {least}, not {value}", name=what, least=1, value=value)
    if stages * microbatches * virtual > MOST_PASSES:
        form = noted("stages times microbatches times virtual must be at most {most} for a simulation, not {value}")
        raise value_error(form, most=f"{MOST_PASSES:,}", value=f"{stages * microbatches * virtual:,}")
    _refuse(name, stages, microbatches, virtual)
    if name == "interleaved" and virtual > 1:
        return interleaved(stages, microbatches, virtual, waits)
    return SCHEDULES[name](stages, microbatches)


def _refuse(name: str, stages: int, microbatches: int, virtual: int) -> None:
    if virtual > 1 and name != "interleaved":
        form = noted("{name} must be 1 for {schedule}, not {value}: only interleaved has more")
        raise value_error(form, name="virtual", schedule=name, value=virtual)
    if virtual > 1 and microbatches % stages:
        form = noted("{name} must be a multiple of the stages, {stages}, when chunks interleave, not {value}")
        raise value_error(form, name="microbatches", stages=stages, value=microbatches)
    if name == "dualpipe" and (stages % 2 or microbatches % 2):
        what, value = ("stages", stages) if stages % 2 else ("microbatches", microbatches)
        raise value_error("{name} must be even for dualpipe, not {value}", name=what, value=value)
    if name in ("dualpipe", "dualpipe_v") and microbatches < 2 * stages:
        form = noted("{name} must be at least twice the stages, {least}, for {schedule}, not {value}")
        raise value_error(form, name="microbatches", least=2 * stages, schedule=name, value=microbatches)
