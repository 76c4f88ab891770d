"""The time of a layout's step, part by part."""

from typing import NamedTuple

from app.formulas.checks import fraction, recorded
from app.formulas.collectives import (
    all_to_all_time,
    ring_all_gather_time,
    ring_all_reduce_time,
    ring_reduce_scatter_time,
)
from app.formulas.layout.fitting import same_gpus
from app.formulas.memory.placing import ParameterShare, fits_together
from app.formulas.overlap import exposed_communication_time
from app.formulas.pipeline import bubble_ratio
from app.formulas.presets import Cluster, Layout, ModelShape
from app.formulas.transformer import active_parameters, token_flops
from app.units import Ratio, Seconds

_ELEMENT, _GRADIENT, _OPTIMIZER = 2, 4, 12  # bytes: activations, FP32 gradients, Adam's state


class StepTime(NamedTuple):
    """Exposed seconds of a step, by part."""

    compute: Seconds
    recompute: Seconds
    tensor: Seconds
    context: Seconds
    expert: Seconds
    messages: Seconds
    bubble: Seconds
    data: Seconds
    optimizer: Seconds

    @property
    def total(self) -> Seconds:
        """The sum of all parts."""
        return sum(self)


def step_time(
    model: ModelShape, cluster: Cluster, layout: Layout, efficiency: Ratio = 0.6
) -> StepTime:
    """Time of a training step, by part.

    C, the model's FLOP over the peak that kernels reach; R, recomputation; T, X and E, the
    all-reduces of tensor parallelism, the keys and values of context parallelism and the
    all-to-alls of expert parallelism, none of them hidden; P, the first and last messages between
    stages; B, the bubble over all of these except the messages; D, the gradients and weights that
    the last micro-batch's backward pass does not hide; O, reading and writing the optimizer state.

        C = flops / (gpus * peak * efficiency)
        B = (pipeline - 1) / (virtual * microbatches) * (C + R + T + X + E)

    Convention:
        A projection from first principles, not a measurement: kernels at one efficiency, links at
        their full bandwidth, one-forward-one-backward. Groups larger than a node use the network.
        Skew, jitter and slow kernels are not included. The default efficiency is a round number for
        large matrix products; measure your own.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: an argument is not such a record, the layout does not divide the model, or it
            has another number of GPUs than the cluster.

    Source:
        Narayanan et al., arXiv:2104.04473, section 3; Korthikanti et al., arXiv:2205.05198,
        section 4; Grattafiori et al., arXiv:2407.21783, section 3.3.2; each part by its own
        formula.
    """
    recorded("model", model, ModelShape)
    same_gpus(cluster, layout)
    fits_together(model, layout)
    return _Step(model, cluster, layout, fraction("efficiency", efficiency)).parts()


def total_step_time(
    model: ModelShape, cluster: Cluster, layout: Layout, efficiency: Ratio = 0.6
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
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: as in step_time.

    Source:
        The sum of step_time.
    """
    return step_time(model, cluster, layout, efficiency).total


def projected_utilization(
    model: ModelShape, cluster: Cluster, layout: Layout, efficiency: Ratio = 0.6
) -> Ratio:
    """Model FLOPs utilization (MFU) of a projected step.

    The FLOP of the model over the FLOP that the GPUs could compute in the step. C and S are the
    computation and the sum of all parts of step_time.

        U = efficiency * C / S

    Convention:
        Model FLOP count only the half of the scores that the causal mask keeps, so the result is a
        little below that of papers that count all scores.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: as in step_time.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, appendix B (MFU).
    """
    parts = step_time(model, cluster, layout, efficiency)
    return efficiency * parts.compute / parts.total


class _Step:
    """A step of a layout, with the quantities that several parts use."""

    def __init__(
        self, model: ModelShape, cluster: Cluster, layout: Layout, efficiency: float
    ) -> None:
        self.model, self.cluster, self.layout = model, cluster, layout
        self.rate = cluster.gpu.peak * efficiency
        self.share = ParameterShare.of(model, layout, 0)
        self.layers = model.layers / layout.pipeline
        self.batch_tokens = layout.micro_batch * layout.sequence / layout.context

    def parts(self) -> StepTime:
        layout = self.layout
        compute, again = self.computing()
        busy = compute + again, self.tensor(), self.context(), self.experts()
        bubble = bubble_ratio(layout.pipeline, layout.microbatches, layout.virtual) * sum(busy)
        return StepTime(
            compute, again, *busy[1:], self.messages(), bubble, self.data(compute), self.optimizer()
        )

    def computing(self) -> tuple[float, float]:
        shape, layout = self.model, self.layout
        per_token = token_flops(
            active_parameters(shape),
            shape.layers,
            shape.heads,
            shape.head_size,
            layout.sequence,
            causal=True,
        )
        compute = per_token * layout.tokens / layout.gpus / self.rate
        scores = per_token - 6.0 * active_parameters(shape)
        again = {"none": 0.0, "selective": scores / per_token / 3, "full": 1 / 3}
        return compute, compute * again[layout.recompute]

    def link(self, span: int) -> tuple[float, float]:
        """Bandwidth and latency of a group whose ranks are within *span* consecutive GPUs."""
        if span <= self.cluster.gpus_per_node:
            return self.cluster.intra_bandwidth, self.cluster.intra_latency
        return self.cluster.inter_bandwidth, self.cluster.inter_latency

    def tensor(self) -> float:
        size = self.batch_tokens * self.model.hidden * _ELEMENT
        passes = 3 if self.layout.recompute == "full" else 2
        times = 2 * passes * self.layers * self.layout.microbatches
        ranks = self.layout.tensor
        return times * ring_all_reduce_time(size, ranks, *self.link(ranks))

    def context(self) -> float:
        """Keys and values gathered forward and again backward, their gradients reduce-scattered."""
        layout, shape = self.layout, self.model
        wide = 2 * shape.key_value_heads * shape.head_size / layout.tensor
        size = layout.micro_batch * layout.sequence * wide * _ELEMENT
        link = self.link(layout.tensor * layout.context)
        gather = ring_all_gather_time(size, layout.context, *link)
        scatter = ring_reduce_scatter_time(size, layout.context, *link)
        return self.layers * layout.microbatches * (2 * gather + scatter)

    def experts(self) -> float:
        """Tokens sent to their experts and back, forward and backward."""
        layout, shape = self.layout, self.model
        if not shape.experts or layout.expert == 1:
            return 0.0
        size = self.batch_tokens / layout.tensor * shape.active_experts * shape.hidden * _ELEMENT
        link = self.link(layout.tensor * layout.context * layout.expert)
        journey = all_to_all_time(size, layout.expert, *link)
        mixtures = shape.expert_layers / layout.pipeline
        return 4 * mixtures * layout.microbatches * journey

    def messages(self) -> float:
        layout = self.layout
        split = layout.tensor if layout.sequence_parallel else 1
        size = self.batch_tokens * self.model.hidden * _ELEMENT / split
        bandwidth, latency = self.link(layout.tensor * layout.context * layout.pipeline)
        message = latency + size / bandwidth
        if layout.pipeline == 1:
            return 0.0
        if layout.virtual > 1:
            return 2 * (layout.pipeline * layout.virtual - 1) * message
        waits = layout.pipeline + layout.microbatches - 2
        waits -= -(-(layout.microbatches - 1) // layout.pipeline)
        return 2 * waits * message

    def data(self, compute: float) -> float:
        """Gradients and weights layer by layer, overlapped with the last backward pass."""
        ranks, layers = self.layout.shards, max(1, self.share.layers)
        link = self.link(self.layout.tensor * ranks)
        weights = (self.share.dense + self.share.experts) / layers
        gathers = 2 if self.layout.zero_stage == 3 else 1  # noqa: PLR2004
        each = ring_reduce_scatter_time(weights * _GRADIENT, ranks, *link)
        each += gathers * ring_all_gather_time(weights * _ELEMENT, ranks, *link)
        backward = compute * 2 / 3 / self.layout.microbatches / layers
        return exposed_communication_time(layers, backward, each)

    def optimizer(self) -> float:
        held = self.share.dense / (self.layout.shards if self.layout.zero_stage else 1)
        held += self.share.experts / (
            self.layout.shards / self.layout.expert if self.layout.zero_stage else 1
        )
        moved = 2 * held * _OPTIMIZER + held * (_GRADIENT + _ELEMENT)
        return moved / self.cluster.gpu.memory_bandwidth
