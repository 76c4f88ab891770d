"""How much of the communication computation hides."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Seconds


def communication_compute_ratio(communication_time: Seconds, compute_time: Seconds) -> Ratio:
    """Seconds of communication per second of computation.

        R = communication_time / compute_time

    Convention:
        Relative to the computation, not to the step: above 1, not all communication can be hidden.
        For the share of the step see batching.communication_share.

    Args:
        communication_time: seconds of communication in a step.
        compute_time: seconds of computation in a step.

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from 2 N FLOP per token; Kaplan et al., arXiv:2001.08361, section 2.1.
    """
    work = at_least("gather_time", gather_time, 0) * positive("rate", rate)
    return work / (2 * whole("layer_parameters", layer_parameters))


def fsdp_tokens_to_hide(peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2) -> Ratio:
    """Tokens on a GPU from which computation hides the traffic of fully sharded data parallelism.

    Forward, a layer of P parameters gathers element_bytes * P bytes and computes two FLOP per
    parameter and token. P cancels out. Backward, both are twice as much: a gather and a
    reduce-scatter beside four FLOP.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training" (B / X > C / W).
    """
    moved = positive("element_bytes", element_bytes) * positive("peak", peak)
    return moved / (2 * positive("bandwidth", bandwidth))
