"""Checks of a simulated schedule: nothing twice, nothing before its inputs.

They read only the start and end times, and do not depend on how the schedule was built or run.
"""

from collections.abc import Iterator

from app.core.simulators.pipeline import SimulatedSchedule, Slot

_SLACK = 1e-9  # of the step: sums of floats


def violations(played: SimulatedSchedule) -> list[str]:
    """Every rule that *played* breaks, in words; none for a legal schedule."""
    slack = _SLACK * max(1.0, played.makespan)
    slots = [slot for own in played.slots for slot in own]
    return [
        *_overlaps(played, slack),
        *_places(played, slots),
        *_missing(played, slots),
        *_too_early(played, slots, slack),
    ]


def _overlaps(played: SimulatedSchedule, slack: float) -> Iterator[str]:
    for own in played.slots:
        in_time = sorted(own, key=lambda slot: slot.start)
        for before, after in zip(in_time, in_time[1:], strict=False):
            if after.start < before.end - slack:
                yield f"{_named(after)} starts before {_named(before)} ends"


def _places(played: SimulatedSchedule, slots: list[Slot]) -> Iterator[str]:
    """A backward pass runs where its forward pass ran, and each device does its share."""
    homes = {(s.microbatch, s.stage): s.device for s in slots if s.kind == "F"}
    for slot in slots:
        if homes.get((slot.microbatch, slot.stage)) != slot.device:
            yield f"{_named(slot)} is not where its forward pass was"
    share = played.schedule.depth * played.schedule.microbatches / played.schedule.devices
    for device in range(played.schedule.devices):
        if sum(slot.kind == "F" for slot in played.slots[device]) != share:
            yield f"device {device} does more or less than its share"


def _missing(played: SimulatedSchedule, slots: list[Slot]) -> Iterator[str]:
    """Every micro-batch passes every stage forward once, and backward once, whole or in halves."""
    done: dict[tuple[int, int], list[str]] = {}
    for slot in slots:
        done.setdefault((slot.microbatch, slot.stage), []).append(slot.kind)
    for microbatch in range(played.schedule.microbatches):
        for stage in range(played.schedule.depth):
            kinds = sorted(done.pop((microbatch, stage), []))
            if kinds not in (["B", "F"], ["F", "I", "W"]):
                yield f"micro-batch {microbatch} passes stage {stage} with {kinds}"
    yield from (f"micro-batch {m} has no stage {s}" for m, s in done)


def _too_early(played: SimulatedSchedule, slots: list[Slot], slack: float) -> Iterator[str]:
    ends: dict[tuple[str, int, int], Slot] = {(s.kind, s.microbatch, s.stage): s for s in slots}
    ends |= {("B", s.microbatch, s.stage): s for s in slots if s.kind == "I"}
    for slot in slots:
        for needed in _needs(slot, played.schedule.depth):
            before = ends.get(needed)
            if before is None:
                yield f"{_named(slot)} has no input: {needed} never happens"
                continue
            travel = played.times.communication if before.device != slot.device else 0
            if slot.start < before.end + travel - slack:
                yield f"{_named(slot)} starts before {_named(before)} has arrived"


def _needs(slot: Slot, depth: int) -> Iterator[tuple[str, int, int]]:
    m, stage = slot.microbatch, slot.stage
    if slot.kind == "F" and stage > 0:
        yield "F", m, stage - 1
    if slot.kind in "BI":
        yield "F", m, stage
        if stage < depth - 1:
            yield "B", m, stage + 1
    if slot.kind == "W":
        yield "B", m, stage


def _named(slot: Slot) -> str:
    return f"{slot.kind}{slot.microbatch} of stage {slot.stage} on device {slot.device}"
