"""The schedules of papers: with whole and with split backward passes, one way and two ways."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from itertools import count

from app.core.simulators.pipeline import player
from app.core.simulators.pipeline.player import Block, Pass, PassKind, PipelineSchedule, Waits
from app.core.translation import noted, offer, value_error


def _one(kind: PassKind, microbatch: int, stage: int) -> Block:
    return (Pass(kind, microbatch, stage),)


def naive(devices: int, microbatches: int) -> PipelineSchedule:
    """A micro-batch starts when the previous one has finished its forward and backward passes."""
    orders = [[_one(kind, m, device) for m in range(microbatches) for kind in ("F", "B")] for device in range(devices)]
    return PipelineSchedule("naive", devices, microbatches, devices, 1, player.straight(devices), orders)


def gpipe(devices: int, microbatches: int) -> PipelineSchedule:
    """All forward passes, then all backward passes: Huang et al., GPipe, arXiv:1811.06965, section 2.3."""
    orders = [
        [_one("F", m, device) for m in range(microbatches)] + [_one("B", m, device) for m in range(microbatches)]
        for device in range(devices)
    ]
    return PipelineSchedule("gpipe", devices, microbatches, devices, 1, player.straight(devices), orders)


def one_forward_one_backward(devices: int, microbatches: int) -> PipelineSchedule:
    """Enough forward passes to fill the later stages, then one backward pass per forward pass.

    Narayanan et al., arXiv:2104.04473, section 2.2.1 (PipeDream-Flush).
    """
    orders = []
    for device in range(devices):
        ahead = min(devices - device - 1, microbatches)
        order = [_one("F", m, device) for m in range(ahead)]
        for m in range(microbatches):
            if ahead + m < microbatches:
                order.append(_one("F", ahead + m, device))
            order.append(_one("B", m, device))
        orders.append(order)
    return PipelineSchedule("1f1b", devices, microbatches, devices, 1, player.straight(devices), orders)


def interleaved(devices: int, microbatches: int, chunks: int, waits: Waits = "every") -> PipelineSchedule:
    """1F1B with several chunks of layers on each device, visited in rounds of as many
    micro-batches as devices.

    Narayanan et al., arXiv:2104.04473, section 2.2.2; the counts of Megatron-LM. With *waits*
    "first" it is played as Qi et al., arXiv:2401.10241, estimate it: the last micro-batches of the
    step then start before their gradients have arrived.
    """
    visits = [
        (m, chunk)
        for first in range(0, microbatches, devices)
        for chunk in range(chunks)
        for m in range(first, first + devices)
    ]
    orders = []
    for device in range(devices):
        there = [_one("F", m, chunk * devices + device) for m, chunk in visits]
        back = [_one("B", m, (chunks - 1 - chunk) * devices + device) for m, chunk in visits]
        ahead = min(len(there), 2 * (devices - device - 1) + (chunks - 1) * devices)
        order = there[:ahead]
        for forward, backward in zip(there[ahead:], back, strict=False):
            order += [forward, backward]
        orders.append(order + back[len(there) - ahead :])
    depth = devices * chunks
    place = player.straight(devices)
    return PipelineSchedule("interleaved", devices, microbatches, depth, chunks, place, orders, waits)


_TURNS: tuple[tuple[PassKind, int], ...] = (("F", 0), ("I", 0), ("W", 0), ("F", 1), ("I", 1), ("W", 1))


def _split(device: int, microbatches: int, ahead: int, delay: int) -> list[Block]:
    """*ahead* forward passes first; weight gradients come *delay* input gradients later."""
    order = [_one("F", m, device) for m in range(min(ahead, microbatches))]
    for m in range(microbatches):
        order.append(_one("I", m, device))
        if m >= delay:
            order.append(_one("W", m - delay, device))
        if ahead + m < microbatches:
            order.append(_one("F", ahead + m, device))
    waiting = range(max(0, microbatches - delay), microbatches)
    return order + [_one("W", m, device) for m in waiting]


def zb_h1(devices: int, microbatches: int) -> PipelineSchedule:
    """1F1B with delayed weight gradients, so that every device holds p micro-batches: section 2.1; figure 2, top."""
    orders = [_split(d, microbatches, devices - d, d) for d in range(devices)]
    return PipelineSchedule("zb_h1", devices, microbatches, devices, 1, player.straight(devices), orders)


def zb_h2(devices: int, microbatches: int) -> PipelineSchedule:
    """ZB-H1 with twice as many forward passes first, which fill the gap: section 2.2; figure 2, bottom."""
    orders = [_split(d, microbatches, 2 * (devices - d) - 1, 2 * d) for d in range(devices)]
    return PipelineSchedule("zb_h2", devices, microbatches, devices, 1, player.straight(devices), orders)


def zb_v(devices: int, microbatches: int) -> PipelineSchedule:
    """Two chunks per device, down and up again, so that the last stage is on the first: section 6; figure 9."""
    orders = [_folded_order(d, devices, microbatches) for d in range(devices)]
    depth = 2 * devices
    return PipelineSchedule("zb_v", devices, microbatches, depth, 2, player.fold_stages(devices), orders)


def _folded_order(device: int, devices: int, microbatches: int) -> list[Block]:
    """The order with enough micro-batches to fill the pipeline, without the surplus ones."""
    stages = (device, 2 * devices - 1 - device)
    next_of: dict[tuple[PassKind, int], int] = defaultdict(int)
    order = []
    for kind, chunk in _turns(device, devices, max(microbatches, 2 * devices - 1)):
        m = next_of[kind, chunk]
        next_of[kind, chunk] += 1
        if m < microbatches:
            order.append(_one(kind, m, stages[chunk]))
    return order


def _turns(device: int, devices: int, microbatches: int) -> list[tuple[PassKind, int]]:
    """Which kind of pass is next, and on which of the two chunks."""
    f0, i0, w0, f1, i1, w1 = _TURNS
    behind = devices - device
    ahead = 2 * behind - 1 + device
    filling = [f0] * (2 * behind - 1) + [f1, f0] * device + [f1, i1, w1] * behind
    steady = [f0, i0, w0, f1, i1, w1] * (microbatches - ahead)
    ending = [i0, w0, f1, i1, w1] * (ahead - devices)
    draining = [i0, i1] * device + [i0, w0] * behind + [w1] * device + [w0] * device
    return filling + steady + ending + draining


def dualpipe(devices: int, microbatches: int) -> PipelineSchedule:
    """Half of the micro-batches go down the devices, half go up; each device holds two stages."""
    half = devices // 2
    stream = microbatches // 2
    orders = []
    for device in range(devices):
        near = min(device, devices - 1 - device)
        own = 0 if device < half else stream
        other = stream - own
        there, back = near, devices - 1 - near
        orders.append(_Order(near, half, stream, (own, other), (there, back)).blocks())
    place = player.both_ways(devices, microbatches)
    return PipelineSchedule("dualpipe", devices, microbatches, devices, 1, place, orders)


def dualpipe_v(devices: int, microbatches: int) -> PipelineSchedule:
    """DualPipe cut in half: one stream that goes down the devices and up again."""
    orders = []
    for device in range(devices):
        stages = device, 2 * devices - 1 - device
        orders.append(_Order(device, devices, microbatches, (0, 0), stages).blocks())
    return PipelineSchedule("dualpipe_v", devices, microbatches, 2 * devices, 2, player.fold_stages(devices), orders)


class _Order:
    """The order of one device, *near* the end of its half of *half* devices.

    Stream 0 enters at that end, stream 1 comes back to it.
    """

    def __init__(
        self, near: int, half: int, microbatches: int, first: tuple[int, int], stages: tuple[int, int]
    ) -> None:
        self.near, self.half, self.microbatches = near, half, microbatches
        self.stages = stages
        self.next_of = {(k, s): count(first[s]) for k in ("F", "B") for s in (0, 1)}
        self.waiting: deque[Pass] = deque()
        self.order: list[Block] = []

    def blocks(self) -> list[Block]:
        """The whole order, in the eight parts of the published schedule."""
        inner = self.half - self.near - 1
        outer = self.near + 1
        for _ in range(2 * inner):
            self.do(self.forward(0))
        for _ in range(outer):
            self.do(self.forward(0))
            self.do(self.forward(1))
        for _ in range(inner):
            self.do(self.split_backward(1))
            self.weights()
            self.do(self.forward(1))
        self.both_directions(self.microbatches - 2 * self.half + self.near + 1)
        for _ in range(inner):
            self.do(self.backward(1))
            self.do(self.forward(1), self.backward(0))
        self.draining(outer)
        for _ in range(inner):
            self.weights()
            self.do(self.split_backward(0))
        for _ in range(outer):
            self.weights()
        return self.order

    def both_directions(self, rounds: int) -> None:
        """The main part: forward passes of one stream overlap backward passes of the other."""
        for turn in range(rounds):
            if turn == 0 and self.near == self.half - 1:
                self.do(self.forward(0))
                self.do(self.backward(1))
            else:
                self.do(self.forward(0), self.backward(1))
            self.do(self.forward(1), self.backward(0))

    def draining(self, rounds: int) -> None:
        """The last backward passes; the second half of them delays the weight gradients."""
        split = False
        for turn in range(rounds):
            if turn == rounds // 2 and self.near % 2 == 1:
                split = True
            self.do(self.split_backward(1) if split else self.backward(1))
            if turn == rounds // 2 and self.near % 2 == 0:
                split = True
            self.do(self.split_backward(0) if split else self.backward(0))

    def do(self, *passes: Pass) -> None:
        self.order.append(passes)

    def forward(self, stream: int) -> Pass:
        return self._next("F", "F", stream)

    def backward(self, stream: int) -> Pass:
        return self._next("B", "B", stream)

    def split_backward(self, stream: int) -> Pass:
        half = self._next("I", "B", stream)
        self.waiting.append(half._replace(kind="W"))
        return half

    def weights(self) -> None:
        self.do(self.waiting.popleft())

    def _next(self, kind: PassKind, counted: str, stream: int) -> Pass:
        return Pass(kind, next(self.next_of[counted, stream]), self.stages[stream])


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
