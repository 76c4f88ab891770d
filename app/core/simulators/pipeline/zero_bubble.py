"""Schedules that split the backward pass, so that weight gradients fill the gaps.

Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241.
"""

from collections import defaultdict

from app.core.simulators.pipeline.passes import Block, Pass, PassKind, PipelineSchedule
from app.core.simulators.pipeline.placement import fold_stages, straight

_TURNS: tuple[tuple[PassKind, int], ...] = (("F", 0), ("I", 0), ("W", 0), ("F", 1), ("I", 1), ("W", 1))


def _one(kind: PassKind, microbatch: int, stage: int) -> Block:
    return (Pass(kind, microbatch, stage),)


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
    """1F1B with delayed weight gradients, so that every device holds p micro-batches.

    Section 2.1 and figure 2, top.
    """
    orders = [_split(d, microbatches, devices - d, d) for d in range(devices)]
    return PipelineSchedule("zb_h1", devices, microbatches, devices, 1, straight(devices), orders)


def zb_h2(devices: int, microbatches: int) -> PipelineSchedule:
    """ZB-H1 with twice as many forward passes first, which fills the gap before the backward ones.

    Section 2.2 and figure 2, bottom.
    """
    orders = [_split(d, microbatches, 2 * (devices - d) - 1, 2 * d) for d in range(devices)]
    return PipelineSchedule("zb_h2", devices, microbatches, devices, 1, straight(devices), orders)


def zb_v(devices: int, microbatches: int) -> PipelineSchedule:
    """Two chunks per device, down and up again, so that the last stage is on the first device.

    Section 6 and figure 9.
    """
    orders = [_folded_order(d, devices, microbatches) for d in range(devices)]
    depth = 2 * devices
    return PipelineSchedule("zb_v", devices, microbatches, depth, 2, fold_stages(devices), orders)


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
