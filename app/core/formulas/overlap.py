"""Communication beside computation: what hides, and what shows."""

from app.core.formulas.checks import at_least, fraction, positive, too_large, whole
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, PerSecond, Ratio, Seconds


def utilization_with_exposed(utilization: Ratio, compute_time: Seconds, exposed_time: Seconds) -> Ratio:
    """Utilization of a step with exposed communication.

    The same work in a longer step.

        U = utilization * compute_time / (compute_time + exposed_time)

    Convention:
        The argument *utilization* is that of the computation alone; the result is that of the step.

    Args:
        utilization: share of peak while computing, at most 1.
        compute_time: seconds of computation in a step.
        exposed_time: seconds of communication that computation does not hide.

    Source:
        From the definition of MFU: Chowdhery et al., arXiv:2204.02311, appendix B.
    """
    working = positive("compute_time", compute_time)
    step = working + at_least("exposed_time", exposed_time, 0)
    return fraction("utilization", utilization) * working / step


def scaling_efficiency(ranks: Count, rate_of_one: PerSecond, rate: PerSecond) -> Ratio:
    """Throughput of many ranks, relative to the same number of independent ranks.

        E = rate / (ranks * rate_of_one)

    Convention:
        Weak scaling if the work per rank stays the same, strong scaling if the total work stays
        the same; the batch size of the run says which.

    Args:
        ranks: ranks that work together.
        rate_of_one: samples per second of one rank alone.
        rate: samples per second of all ranks.

    Source:
        Gustafson, Reevaluating Amdahl's Law, CACM 31(5), 1988.
    """
    alone = whole("ranks", ranks) * positive("rate_of_one", rate_of_one)
    return positive("rate", rate) / alone


def amdahl_speedup(serial_fraction: Ratio, ranks: Count) -> Ratio:
    """Speedup of many ranks when a part of the work cannot be divided.

        S = 1 / (serial_fraction + (1 - serial_fraction) / ranks)

    Convention:
        The total work stays the same. The speedup never exceeds 1 / serial_fraction, however many
        ranks there are: a step that waits for 40 % of its time is at best 1 / 0.6 times as fast
        without waiting.

    Args:
        serial_fraction: share of the time on one rank that cannot be divided, at most 1.
        ranks: ranks that share the rest.

    Source:
        Amdahl, Validity of the single processor approach, AFIPS 30, 1967.
    """
    serial = at_least("serial_fraction", serial_fraction, 0)
    if serial > 1:
        raise too_large("serial_fraction", serial_fraction, 1)
    return 1 / (serial + (1 - serial) / whole("ranks", ranks))


def communication_compute_ratio(communication_time: Seconds, compute_time: Seconds) -> Ratio:
    """Seconds of communication per second of computation.

        R = communication_time / compute_time

    Convention:
        Relative to the computation, not to the step: above 1, not all communication can be hidden.
        For the share of the step see batching.communication_share.

    Args:
        communication_time: seconds of communication in a step.
        compute_time: seconds of computation in a step.

    Source:
        From the definition.
    """
    talking = at_least("communication_time", communication_time, 0)
    return talking / positive("compute_time", compute_time)


def exposed_communication_time(
    layers: Count, layer_compute_time: Seconds, layer_communication_time: Seconds
) -> Seconds:
    """Time by which the all-reduces of a backward pass outlast its computation.

    Each layer's gradients are reduced as soon as they are ready, one layer after another, while
    earlier layers are still being computed. Nothing is left to hide the last all-reduce; if an
    all-reduce takes longer than a layer, a backlog builds up.

        B = (layers - 1) * max(0, layer_communication_time - layer_compute_time)
        E = layer_communication_time + B

    Convention:
        One bucket per layer, identical layers, and links that computation does not slow down.

    Args:
        layers: layers of the model.
        layer_compute_time: seconds of one layer's backward pass.
        layer_communication_time: seconds of one layer's all-reduce.

    Source:
        Li et al., PyTorch Distributed, arXiv:2006.15704, section 3.2 (bucketed overlap).
    """
    talking = at_least("layer_communication_time", layer_communication_time, 0)
    overrun = max(0.0, talking - positive("layer_compute_time", layer_compute_time))
    return talking + (whole("layers", layers) - 1) * overrun


def overlapped_fraction(layers: Count, layer_compute_time: Seconds, layer_communication_time: Seconds) -> Ratio:
    """Share of a backward pass's communication that its computation hides.

    E is the exposed part.

        B = (layers - 1) * max(0, layer_communication_time - layer_compute_time)
        E = layer_communication_time + B
        F = 1 - E / (layers * layer_communication_time)

    Convention:
        As in exposed_communication_time. The last bucket is never hidden: at most 1 - 1/L.

    Args:
        layers: layers of the model.
        layer_compute_time: seconds of one layer's backward pass.
        layer_communication_time: seconds of one layer's all-reduce.

    Source:
        Li et al., PyTorch Distributed, arXiv:2006.15704, section 3.2.
    """
    each = at_least("layer_communication_time", layer_communication_time, 0)
    exposed = exposed_communication_time(layers, layer_compute_time, each)
    return 1 - exposed / (whole("layers", layers) * each) if each else 1.0


def exposed_gather_time(gather_time: Seconds, compute_time: Seconds) -> Seconds:
    """Time by which gathering the next layer's weights outlasts the current layer's computation.

        E = max(0, gather_time - compute_time)

    Convention:
        Fully sharded data parallelism that prefetches one layer, in its steady state; the first
        layer's all-gather is always exposed.

    Args:
        gather_time: seconds of one layer's all-gather.
        compute_time: seconds of one layer's computation.

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3.3.2 (prefetching).
    """
    fetched = at_least("gather_time", gather_time, 0)
    return max(0.0, fetched - positive("compute_time", compute_time))


def tokens_to_hide(gather_time: Seconds, layer_parameters: Count, rate: FlopsPerSecond) -> Ratio:
    """Tokens on a GPU at which a layer's forward pass takes as long as gathering the next layer.

    The pass costs two FLOP per parameter and token.

        T = gather_time * rate / (2 FLOP * layer_parameters)

    Convention:
        For one GPU and the forward pass. The backward pass takes twice as long, so it needs half
        as many tokens.

    Args:
        gather_time: seconds of one layer's all-gather.
        layer_parameters: parameters of the layer.
        rate: FLOP per second that the GPU reaches.

    Source:
        Solved from 2 N FLOP per token; Kaplan et al., arXiv:2001.08361, section 2.1.
    """
    work = at_least("gather_time", gather_time, 0) * positive("rate", rate)
    return work / (2 * whole("layer_parameters", layer_parameters))


def fsdp_tokens_to_hide(peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2) -> Ratio:
    """Tokens on a GPU from which computation hides the traffic of fully sharded data parallelism.

    Forward, a layer of P parameters gathers element_bytes * P bytes and computes two FLOP per parameter and token. P
    cancels out. Backward, both are twice as much: a gather and a reduce-scatter beside four FLOP.

        T = element_bytes * peak / (2 FLOP * bandwidth)

    Convention:
        For one GPU, with (n - 1) / n taken as 1, and gradients in as many bytes as weights. In a
        group with one GPU of each node, the bandwidth is that of one network adapter. A ring over
        all GPUs enters each node once, so the adapters of a node carry it together. At less than
        the peak, fewer tokens suffice.

    Args:
        peak: dense peak FLOP per second of one GPU.
        bandwidth: bytes per second at which a GPU receives what it gathers.
        element_bytes: bytes of a weight on its way.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training" (B / X > C / W).
    """
    moved = positive("element_bytes", element_bytes) * positive("peak", peak)
    return moved / (2 * positive("bandwidth", bandwidth))
