"""A whole layout: whether it fits, and the time of its step, part by part.

The record itself, Layout, is among the presets, with the layouts of published runs.
"""

import math
from typing import NamedTuple

from app.core.formulas.checks import at_least, positive, recorded, whole
from app.core.formulas.memory import memory_budget
from app.core.formulas.memory.budget import fits_together
from app.core.formulas.parallelism import PLAIN
from app.core.formulas.presets import GIVEN, Cluster, ModelShape, Recipe, Shares
from app.core.formulas.presets import Layout as Layout
from app.core.formulas.step.layer import counted_flops
from app.core.formulas.step.speeds import Side, attention_kernels, peak_of, reduced_by, speeds_of
from app.core.formulas.step.step import StepTime as StepTime
from app.core.formulas.step.step import step_parts
from app.core.translation import noted, value_error
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Seconds

_MEGATRON = Recipe.named("Megatron")


def fits(
    model: ModelShape, cluster: Cluster, layout: Layout, recipe: Recipe = _MEGATRON, reserved: Bytes = 0.0
) -> bool:
    """Whether a layout fits in the memory of its fullest GPU.

    S is the sum of the parts of memory_budget, C the memory of a GPU.

        F = C - S - reserved

    Convention:
        The layout fits if F is not negative. Memory is as in the datasheet: an "80 GB" card has
        80e9 bytes here. Its tools show 85.5e9, but do not rely on that.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        recipe: bytes of each kind of number.
        reserved: bytes of each GPU for everything else.

    Raises:
        ValueError: an argument is not such a record, the layout does not divide the model, or it
            has another number of GPUs than the cluster.

    Source:
        Follows from memory_budget.
    """
    same_gpus(cluster, layout)
    room = recorded("cluster", cluster, Cluster).gpu.memory - at_least("reserved", reserved, 0)
    kernels = attention_kernels(recorded("model", model, ModelShape), cluster.gpu)
    return memory_budget(model, layout, recipe, kernels).total <= room


def same_gpus(cluster: Cluster, layout: Layout) -> None:
    """Refuse a layout with another number of GPUs than *cluster*."""
    recorded("cluster", cluster, Cluster)
    recorded("layout", layout, Layout)
    if layout.gpus != cluster.gpus:
        form = noted("{name} must have as many GPUs as the cluster, {gpus}, not {value}")
        raise value_error(form, name="layout", gpus=cluster.gpus, value=layout.gpus)


class StepRange(NamedTuple):
    """The shortest and the longest step that shares without a source allow."""

    low: Seconds
    high: Seconds


def step_time(
    model: ModelShape, cluster: Cluster, layout: Layout, shares: Shares = GIVEN, recipe: Recipe = _MEGATRON
) -> StepTime:
    """Time of a training step, by part.

    Kernels take what they compute or move over what they reach: products W, attention A and the element-wise kernels E
    of the layers, the output head and the embedding H, layers that are computed again R, and launches L where those are
    longer. T, X and N are the all-reduces of tensor parallelism, the keys and values of context parallelism and the
    all-to-alls of expert parallelism. P are the first messages through the stages and the last ones back, B the bubble
    and what stages wait for the slowest one, D the gradients and weights that nothing hides, O the optimizer, and S the
    skew: the share skew of all the others.

        S = skew * (W + A + E + H + R + L + T + X + N + P + B + D + O)

    Convention:
        A product reaches the GPU's share of its peak, and less where its tiles do not fill whole
        waves of multiprocessors, or where the GPU has less power than others with the same chip.
        Element-wise kernels and written attention scores move bytes that are counted operation by
        operation in a 16-bit layer; fused attention computes half of the scores forward and 2.5
        times that backward. With recompute=operations, every second product, experts and what is
        not a product are computed again. Only the products of the layers run in 8 or 4 bits, and
        their operands have to be cast; attention, the head and all else stay in 16 bits.
        Collectives have a start, steps, and the effective bandwidth of the link; groups of a node
        share its network. With unfused kernels nothing is hidden; with fused ones, the gradients
        and weights of a layer are hidden behind the computing of the next one, from which they take
        20 of 132 multiprocessors. A share without a source has the middle of what was seen; see
        step_time_range.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        shares: what kernels and links reach, where you know it better than the presets.
        recipe: bytes in which gradients are reduced and weights gathered.

    Raises:
        ValueError: an argument is not such a record, the layout does not divide the model, or it
            has another number of GPUs than the cluster.

    Source:
        Narayanan et al., arXiv:2104.04473, table 1, and Korthikanti et al., arXiv:2205.05198, table 5: the two shares
        of the A100 are those that agree best with these 18 times, 3.5 % off on average. Bang et al., vTrain,
        arXiv:2312.12391: start and bandwidth of all-reduces, launches, optimizer. DeepSeek-V3 Technical Report,
        arXiv:2412.19437, section 3.2.2: multiprocessors that traffic takes. 0.90 of the network, 0.75 of a product's
        rate in attention, 0.4 ms between layers, 30 bytes of a logit and 20 of an embedded element are priors.
    """
    return _step(model, cluster, layout, shares, recipe, "middle")


def total_step_time(
    model: ModelShape, cluster: Cluster, layout: Layout, shares: Shares = GIVEN, recipe: Recipe = _MEGATRON
) -> Seconds:
    """Total time of a training step.

    The sum of all parts of step_time, S.

        T = S

    Convention:
        As in step_time.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        shares: what kernels and links reach, where you know it better than the presets.
        recipe: bytes in which gradients are reduced and weights gathered.

    Raises:
        ValueError: as in step_time.

    Source:
        The sum of step_time.
    """
    return step_time(model, cluster, layout, shares, recipe).total


def step_time_range(
    model: ModelShape, cluster: Cluster, layout: Layout, shares: Shares = GIVEN, recipe: Recipe = _MEGATRON
) -> StepRange:
    """Shortest and longest time of a training step that is plausible.

    Where neither the presets nor *shares* say what is reached, the step is computed at both ends of
    what was seen: L with the fast ones, H with the slow ones.

        L = low
        H = high

    Convention:
        Ends without a source: products 0.87 and 0.49 of the peak, on Blackwell 0.70 and 0.49, in 8
        bits also 0.7 of a GPU's own share; memory 0.90 and 0.60; products of experts 1 and 0.5 of
        other products; traffic of expert parallelism hidden or not, and in fewer than 16 bits that
        of tensor and context parallelism, too; casts fused into other kernels or with a pass of
        their own. If every share has a source, both ends are total_step_time. Identical layouts of
        mixtures of experts have differed by up to 77 % between releases of a framework.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        shares: what kernels and links reach, where you know it better than the presets.
        recipe: bytes in which gradients are reduced and weights gathered.

    Raises:
        ValueError: as in step_time.

    Source:
        Follows from step_time.
    """
    low, high = (sum(_step(model, cluster, layout, shares, recipe, side)) for side in ("fast", "slow"))
    return StepRange(low, high)


def projected_utilization(
    model: ModelShape, cluster: Cluster, layout: Layout, shares: Shares = GIVEN, recipe: Recipe = _MEGATRON
) -> Ratio:
    """Model FLOPs utilization (MFU) of a projected step.

    The FLOP F of the model in a step over the FLOP that the GPUs, with the peak P, could compute in its time T.

        U = F / (gpus * P * T)

    Convention:
        Model FLOP count only the half of the scores that the causal mask keeps, so the result is a
        little below that of papers that count all scores. Modules that predict further tokens
        count, as in Megatron Core. The peak is that of the precision in which the layout's products
        run.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        shares: what kernels and links reach, where you know it better than the presets.
        recipe: bytes in which gradients are reduced and weights gathered.

    Raises:
        ValueError: as in step_time.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, appendix B (MFU).
    """
    total = total_step_time(model, cluster, layout, shares, recipe)
    flops = counted_flops(model, layout.sequence)
    peak = peak_of(cluster.gpu, layout.precision)
    return flops * layout.tokens / (layout.gpus * peak * total)


def _step(model: ModelShape, cluster: Cluster, layout: Layout, shares: Shares, recipe: Recipe, side: Side) -> StepTime:
    recorded("model", model, ModelShape)
    same_gpus(cluster, layout)
    fits_together(model, layout)
    recorded("shares", shares, Shares)
    recorded("recipe", recipe, Recipe)
    speeds = speeds_of(model, cluster, shares, layout.precision, side)
    return step_parts(model, speeds, layout.degrees(speeds.fused), PLAIN, reduced_by(recipe))


def best_data_degree(batch_tokens: Count, gpus: Count, feed_forward: Count) -> Ratio:
    """Number of groups with different tokens at which a feed-forward sends the fewest bytes.

    Of N GPUs, X groups hold different tokens, and the N/X GPUs of a group cut each layer. A GPU
    gathers its share of the weights, in proportion to F X / N, and the tokens of its group, in
    proportion to B / X. The sum is smallest where both are equal.

        X = sqrt(batch_tokens * gpus / feed_forward)

    Convention:
        Not rounded. Above the number of GPUs, use fully sharded data parallelism alone; below 1,
        tensor parallelism alone. All GPUs share one network, and (n - 1) / n is taken as 1.

    Args:
        batch_tokens: tokens of the whole batch.
        gpus: GPUs of both kinds of parallelism together.
        feed_forward: inner size of the feed-forward.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training", combining FSDP and tensor
        parallelism (there with a set of links for each axis, so with another factor).
    """
    together = 1.0 * whole("batch_tokens", batch_tokens) * whole("gpus", gpus)
    return math.sqrt(together / whole("feed_forward", feed_forward))


def mixed_tokens_to_hide(
    peak: FlopsPerSecond, bandwidth: BytesPerSecond, feed_forward: Count, element_bytes: Bytes = 2
) -> Ratio:
    """Tokens per GPU from which computation hides the traffic of the best mix.

    At the best number of groups, weights and tokens are equal parts: with b tokens per GPU, a GPU sends 4 d *
    element_bytes * sqrt(F b) bytes and computes 4 b d F FLOP in a forward pass. b is where both take as long.

        T = (element_bytes * peak / (1 FLOP * bandwidth))^2 / feed_forward

    Convention:
        As in best_data_degree: one network for both, the forward pass of a feed-forward without a
        gate, at the peak. Below this, no split of the GPUs hides the traffic.

    Args:
        peak: dense peak FLOP per second of one GPU.
        bandwidth: bytes per second that a GPU sends while it receives as much.
        feed_forward: inner size of the feed-forward.
        element_bytes: bytes of one number.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training", combining FSDP and tensor
        parallelism (there with a set of links for each axis, so with another factor).
    """
    moved = positive("element_bytes", element_bytes) * positive("peak", peak)
    ratio = moved / positive("bandwidth", bandwidth)
    return ratio * ratio / whole("feed_forward", feed_forward)
