"""How long a layout's step takes, part by part."""

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
    """Seconds of a step that show; they add up."""

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
        """The whole step."""
        return sum(self)


def step_time(
    model: ModelShape, cluster: Cluster, layout: Layout, efficiency: Ratio = 0.6
) -> StepTime:
    """Time of a training step by what takes it.

    C, the model's FLOP over the peak that kernels reach; R, what is computed again; T, X and E, the
    all-reduces of tensor parallelism, the keys and values of context parallelism and the journeys
    of tokens to experts, none of them hidden; P, the first and last messages between stages; B, the
    bubble over all of these but the messages; D, what is left of gradients and weights once the
    last micro-batch's backward pass has hidden what it can; O, reading and writing the optimizer's
    state.

        C = flops / (gpus * peak * efficiency)
        B = (pipeline - 1) / (virtual * microbatches) * (C + R + T + X + E)

    Convention:
        A projection from first principles, not a measurement: kernels at one efficiency, links at
        their wire speed, one-forward-one-backward. Groups that span more ranks than a node has pay
        the network's price. It leaves out what skew, jitter and slow kernels cost. The efficiency
        is a round figure for large matrix products; measure yours.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: an argument is no such record, the layout does not divide the model, or it has
            another number of GPUs than the cluster.

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
    """Time of a training step.

    The sum of all that step_time tells apart, S.

        T = S

    Convention:
        As step_time.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: as step_time.

    Source:
        Added up from step_time.
    """
    return step_time(model, cluster, layout, efficiency).total


def projected_utilization(
    model: ModelShape, cluster: Cluster, layout: Layout, efficiency: Ratio = 0.6
) -> Ratio:
    """Share of the peak that the model's computation takes of a projected step: MFU.

    What is computed for the model, over what could be computed in the whole step; with C and S the
    computing and the whole step of step_time:

        U = efficiency * C / S

    Convention:
        Model FLOP with the causal mask's half of the scores, so a little below what papers print
        that count all of them.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        efficiency: share of the peak that kernels reach while they compute, at most 1.

    Raises:
        ValueError: as step_time.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, appendix B (MFU).
    """
    parts = step_time(model, cluster, layout, efficiency)
    return efficiency * parts.compute / parts.total


class _Step:
    """One step of a layout, with the quantities that several parts need."""

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
        """Bandwidth and latency of a group whose ranks lie within *span* GPUs."""
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
        """Keys and values gathered forward, their gradients scattered back, gathered again."""
        layout, shape = self.layout, self.model
        wide = 2 * shape.key_value_heads * shape.head_size / layout.tensor
        size = layout.micro_batch * layout.sequence * wide * _ELEMENT
        link = self.link(layout.tensor * layout.context)
        gather = ring_all_gather_time(size, layout.context, *link)
        scatter = ring_reduce_scatter_time(size, layout.context, *link)
        return self.layers * layout.microbatches * (2 * gather + scatter)

    def experts(self) -> float:
        """Tokens to their experts and back, forward and backward."""
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
        """Gradients and weights layer by layer, behind the last micro-batch's backward pass."""
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
