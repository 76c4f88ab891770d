"""The simulation of a schedule: every device runs the next block of its order when it can."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from app.core.translation import value_error

PassKind = Literal["F", "B", "I", "W"]
Waits = Literal["first", "every"]


class Pass(NamedTuple):
    """One micro-batch on one stage.

    F is its forward pass, B a whole backward pass; I is the half of it that yields the gradient of
    the input, W the half that yields the gradient of the weights.
    """

    kind: PassKind
    microbatch: int
    stage: int


# Passes that run as one block: inputs are needed at its start, results are ready at its end.
Block = tuple[Pass, ...]


@dataclass(frozen=True, slots=True)
class PipelineSchedule:
    """Which device holds which stage, and the order in which every device works.

    A micro-batch passes through stages 0 to *depth* - 1; *device_of* returns the device of each. A
    device holds *chunks* stages of each micro-batch that it processes, so one chunk takes that
    share of the device's time for a micro-batch.
    """

    name: str
    devices: int
    microbatches: int
    depth: int
    chunks: int
    device_of: Callable[[int, int], int]
    orders: Sequence[Sequence[Block]]
    waits: Waits = "every"

    def presumes(self, kind: PassKind, microbatch: int, stage: int) -> bool:
        """Whether a pass starts without looking whether its input has come around.

        With *waits* "first" only the first micro-batch of a round waits for the message from the
        last device to the first, or back.
        """
        if self.waits == "every" or not microbatch % self.devices:
            return False
        first, last = stage % self.devices == 0, (stage + 1) % self.devices == 0
        return (kind == "F" and first) or (kind == "B" and last and stage < self.depth - 1)


def straight(devices: int) -> Callable[[int, int], int]:
    """Stage i on device i; with more stages than devices, round-robin."""
    return lambda _microbatch, stage: stage % devices


def fold_stages(devices: int) -> Callable[[int, int], int]:
    """Down the devices and up again: the first device holds the first and the last stage."""
    return lambda _microbatch, stage: min(stage, 2 * devices - 1 - stage)


def both_ways(devices: int, microbatches: int) -> Callable[[int, int], int]:
    """Half of the micro-batches enter at the first device, the other half at the last."""
    half = microbatches // 2
    return lambda microbatch, stage: stage if microbatch < half else devices - 1 - stage


_LONGEST = 1e30
_SAME = 1e-9  # of the total time; sums of times may differ by this much


@dataclass(frozen=True, slots=True)
class Times:
    """Times of a micro-batch on a device, all its chunks together, and of a message."""

    forward: float
    backward_input: float
    backward_weight: float
    communication: float = 0.0

    def __post_init__(self) -> None:
        for name in ("forward", "backward_input", "backward_weight", "communication"):
            value = getattr(self, name)
            if not (0 <= value <= _LONGEST):
                raise value_error(
                    "{name} must be from 0 to {longest} s, not {value}", name=name, longest=f"{_LONGEST:g}", value=value
                )
        if not self.work > 0:
            raise value_error("{name} must be above 0 if both backward times are 0", name="forward")

    @property
    def work(self) -> float:
        """Time of one micro-batch on a device."""
        return self.forward + self.backward_input + self.backward_weight


class Slot(NamedTuple):
    """A pass with its start and end."""

    device: int
    kind: PassKind
    microbatch: int
    stage: int
    start: float
    end: float


@dataclass(frozen=True)
class SimulatedSchedule:
    """A simulated schedule: the passes of every device, and the messages that it sent."""

    schedule: PipelineSchedule
    times: Times
    slots: tuple[tuple[Slot, ...], ...]
    sends: tuple[int, ...]

    @property
    def step_time(self) -> float:
        """Time after which the next step can begin: the longest time that a device is occupied.

        Devices need not wait for one another between steps, so a device that starts late may end late.
        """
        return max((own[-1].end - own[0].start for own in self.slots if own), default=0)

    @property
    def makespan(self) -> float:
        """Time from the first pass of any device to the last pass of any device."""
        return max((own[-1].end for own in self.slots if own), default=0)

    @property
    def overlaps(self) -> bool:
        """Whether a device starts the next step while another still works on this one."""
        return self.makespan - self.step_time > _SAME * self.makespan

    @property
    def ideal_time(self) -> float:
        """The work of one device, without gaps."""
        return self.schedule.microbatches * self.times.work

    @property
    def bubble(self) -> float:
        """Idle time of a device in a step; rounding noise becomes 0."""
        idle = self.step_time - self.ideal_time
        return idle if idle > _SAME * self.step_time else 0.0

    @property
    def bubble_ratio(self) -> float:
        """Idle over ideal time."""
        return self.bubble / self.ideal_time

    @property
    def bubble_fraction(self) -> float:
        """Idle time as a share of the step."""
        return self.bubble / self.step_time

    @cached_property
    def in_flight(self) -> tuple[float, ...]:
        """For each device, the most micro-batches whose activations it holds at once; a chunk counts as its share."""
        return tuple(_peak(own, self.schedule.chunks) for own in self.slots)


def _peak(slots: tuple[Slot, ...], chunks: int) -> float:
    kept = most = 0
    for slot in slots:
        kept += 1 if slot.kind == "F" else 0
        most = max(most, kept)
        kept -= 1 if slot.kind in "BW" else 0
    return most / chunks


def kept_over_time(played: SimulatedSchedule, device: int) -> tuple[tuple[float, float], ...]:
    """Corners of the curve of micro-batches whose activations *device* holds, over time.

    A pass that starts when another ends takes its place, and adds no corner.
    """
    same = _SAME * played.makespan
    levels: list[tuple[float, float]] = [(0.0, 0.0)]  # from when on, how many
    kept = 0
    for slot in played.slots[device]:
        change = 1 if slot.kind == "F" else -1 if slot.kind in "BW" else 0
        if not change:
            continue
        kept += change
        when = slot.start if change > 0 else slot.end
        if when - levels[-1][0] <= same:
            levels.pop()
        levels.append((when, kept / played.schedule.chunks))
        if len(levels) > 1 and levels[-1][1] == levels[-2][1]:
            levels.pop()
    corners = [(0.0, 0.0)] if levels[0][0] > 0 else []
    for when, level in levels:
        corners += [(when, corners[-1][1] if corners else level), (when, level)]
    return tuple(corners)


def simulate_schedule(schedule: PipelineSchedule, times: Times) -> SimulatedSchedule:
    """Simulate *schedule*: every device works through its order; messages take time.

    Raises:
        ValueError: devices wait for one another forever.
    """
    return _Clock(schedule, times).run()


class _Clock:
    """The devices, each at a position in its order, and the passes done so far."""

    def __init__(self, schedule: PipelineSchedule, times: Times) -> None:
        self.schedule, self.times = schedule, times
        whole = times.backward_input + times.backward_weight
        self.taken = {
            "F": times.forward / schedule.chunks,
            "B": whole / schedule.chunks,
            "I": times.backward_input / schedule.chunks,
            "W": times.backward_weight / schedule.chunks,
        }
        self.done: dict[tuple[str, int, int], float] = {}
        self.asleep: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        self.place = [0] * schedule.devices
        self.free: list[float] = [0] * schedule.devices
        self.slots: list[list[Slot]] = [[] for _ in range(schedule.devices)]
        self.sends = [0] * schedule.devices

    def run(self) -> SimulatedSchedule:
        awake = list(range(self.schedule.devices))
        while awake:
            device = awake.pop()
            order = self.schedule.orders[device]
            while self.place[device] < len(order):
                block = order[self.place[device]]
                start = self.earliest(device, block)
                if start is None:
                    break
                awake += self.work(device, block, start)
                self.place[device] += 1
        if any(p < len(o) for p, o in zip(self.place, self.schedule.orders, strict=True)):
            raise value_error("{name}: the devices wait for one another forever", name=self.schedule.name)
        slots = tuple(tuple(own) for own in self.slots)
        return SimulatedSchedule(self.schedule, self.times, slots, tuple(self.sends))

    def earliest(self, device: int, block: Block) -> float | None:
        """When *block* can start; None, and the device sleeps, if an input is not ready."""
        start = self.free[device]
        for one in block:
            for key, far in self.needs(device, one):
                end = self.done.get(key)
                if end is None:
                    self.asleep[key].append(device)
                    return None
                if far:
                    end += self.times.communication
                start = max(start, end)
        return start

    def needs(self, device: int, one: Pass) -> list[tuple[tuple[str, int, int], bool]]:
        """The passes that must be done before, and whether each is on another device."""
        kind, m, stage = one
        presumed = self.schedule.presumes(kind, m, stage)
        if kind == "F":
            return [self.from_stage("F", m, stage - 1, device)] if stage and not presumed else []
        if kind == "W":
            return [(("B", m, stage), False)]
        if stage == self.schedule.depth - 1 or presumed:
            return [(("F", m, stage), False)]
        return [(("F", m, stage), False), self.from_stage("B", m, stage + 1, device)]

    def from_stage(self, kind: str, m: int, stage: int, device: int) -> tuple[tuple[str, int, int], bool]:
        far = self.times.communication > 0 and self.schedule.device_of(m, stage) != device
        return (kind, m, stage), far

    def work(self, device: int, block: Block, start: float) -> list[int]:
        """Run *block*, and return the devices that can now continue."""
        woken: list[int] = []
        clock = start
        for kind, m, stage in block:
            end = clock + self.taken[kind]
            self.slots[device].append(Slot(device, kind, m, stage, clock, end))
            clock = end
        self.free[device] = clock
        for kind, m, stage in block:
            if kind == "W":
                continue
            key = ("F" if kind == "F" else "B", m, stage)
            self.done[key] = clock
            woken += self.asleep.pop(key, ())
            to = stage + 1 if kind == "F" else stage - 1
            if 0 <= to < self.schedule.depth and self.schedule.device_of(m, to) != device:
                self.sends[device] += 1
        return woken
