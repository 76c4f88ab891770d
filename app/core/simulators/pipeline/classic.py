"""Schedules with a whole backward pass: naive, GPipe, 1F1B and interleaved 1F1B."""

from app.core.simulators.pipeline.passes import Block, Pass, PassKind, PipelineSchedule, Waits
from app.core.simulators.pipeline.placement import straight


def _one(kind: PassKind, microbatch: int, stage: int) -> Block:
    return (Pass(kind, microbatch, stage),)


def naive(devices: int, microbatches: int) -> PipelineSchedule:
    """A micro-batch starts when the previous one has finished its forward and backward passes."""
    orders = [[_one(kind, m, device) for m in range(microbatches) for kind in ("F", "B")] for device in range(devices)]
    return PipelineSchedule("naive", devices, microbatches, devices, 1, straight(devices), orders)


def gpipe(devices: int, microbatches: int) -> PipelineSchedule:
    """All forward passes, then all backward passes.

    Huang et al., GPipe, arXiv:1811.06965, section 2.3.
    """
    orders = [
        [_one("F", m, device) for m in range(microbatches)] + [_one("B", m, device) for m in range(microbatches)]
        for device in range(devices)
    ]
    return PipelineSchedule("gpipe", devices, microbatches, devices, 1, straight(devices), orders)


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
    return PipelineSchedule("1f1b", devices, microbatches, devices, 1, straight(devices), orders)


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
    place = straight(devices)
    return PipelineSchedule("interleaved", devices, microbatches, depth, chunks, place, orders, waits)
