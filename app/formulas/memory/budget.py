"""The memory of a GPU of a layout, part by part."""

from typing import NamedTuple

from app.formulas.checks import recorded
from app.formulas.memory.placing import ParameterShare, fits_together
from app.formulas.pipeline import in_flight_microbatches
from app.formulas.pipeline.schedules import ScheduleName
from app.formulas.presets import Layout, ModelShape, Recipe
from app.units import Bytes

_MIXED = Recipe.named("mixed")
_LOGIT_BYTES = 4


class Budget(NamedTuple):
    """Bytes of the fullest GPU, by part."""

    weights: Bytes
    gradients: Bytes
    optimizer: Bytes
    activations: Bytes
    buffers: Bytes

    @property
    def total(self) -> Bytes:
        """The sum of all parts."""
        return sum(self)


def memory_budget(model: ModelShape, layout: Layout, recipe: Recipe = _MIXED) -> Budget:
    """Bytes of weights, gradients, optimizer state, activations and buffers on the fullest GPU.

    P are the parameters of a stage, split by tensor and expert parallelism; N ranks hold the same
    ones, and ZeRO shards over them what its stage says. M micro-batches are in flight, each with A
    bytes for every layer of the stage. The buffers are 32-bit logits on the last stage and, if
    weights are sharded, two gathered layers.

        W = P * weight_bytes
        G = P * gradient_bytes
        O = P * optimizer_bytes
        X = M * layers * A

    where ZeRO 1 divides O by N, ZeRO 2 also G, and ZeRO 3 also W.

    Convention:
        One-forward-one-backward, interleaved if *virtual* is above 1. A counts the tensors that a
        current layer stores, in the recipe's element size and without dropout: both inputs of both
        norms, queries, keys, values, and the results of attention and feed-forward. Selective
        recomputation and fused attention store no scores. For the layer of 2022 with dropout see
        layer_activation_bytes. Overhead of frameworks and fragmentation is not included.

    Args:
        model: shape of the model.
        layout: how it is laid out.
        recipe: bytes of each kind of number.

    Raises:
        ValueError: an argument is not such a record, or the layout does not fit the model's shape.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; Korthikanti et al.,
        arXiv:2205.05198, section 4 (stored tensors); Narayanan et al., arXiv:2104.04473, section 2.
    """
    recorded("model", model, ModelShape)
    recorded("layout", layout, Layout)
    recorded("recipe", recipe, Recipe)
    fits_together(model, layout)
    stages = {0, min(1, layout.pipeline - 1), layout.pipeline - 1}
    budgets = [_of_stage(model, layout, recipe, stage) for stage in sorted(stages)]
    return max(budgets, key=sum)


def _of_stage(model: ModelShape, layout: Layout, recipe: Recipe, stage: int) -> Budget:
    share = ParameterShare.of(model, layout, stage)
    zero = layout.zero_stage
    weights = _kept(share, layout, zero >= 3)  # noqa: PLR2004
    gradients = _kept(share, layout, zero >= 2)  # noqa: PLR2004
    optimizer = _kept(share, layout, zero >= 1)
    return Budget(
        weights * recipe.weight_bytes,
        gradients * recipe.gradient_bytes,
        optimizer * recipe.optimizer_bytes,
        _activations(model, layout, recipe, stage, share),
        _buffers(model, layout, recipe, stage, share),
    )


def _kept(share: ParameterShare, layout: Layout, sharded: bool) -> float:
    """Parameters whose state a rank holds, of a kind that is *sharded* or not."""
    if not sharded:
        return float(share.dense + share.experts)
    return share.dense / layout.shards + share.experts / (layout.shards / layout.expert)


def _activations(
    model: ModelShape, layout: Layout, recipe: Recipe, stage: int, share: ParameterShare
) -> float:
    schedule: ScheduleName = "interleaved" if layout.virtual > 1 else "1f1b"
    in_flight = in_flight_microbatches(
        schedule, layout.pipeline, layout.microbatches, stage, layout.virtual
    )
    tokens = layout.micro_batch * layout.sequence / layout.context
    return in_flight * share.layers * tokens * _token_bytes(model, layout, recipe)


def _token_bytes(model: ModelShape, layout: Layout, recipe: Recipe) -> float:
    """Bytes that one layer stores for one token."""
    split = layout.tensor if layout.sequence_parallel else 1
    if layout.recompute == "full":
        return recipe.element_bytes * model.hidden / split
    outside, inside = 4.0 * model.hidden, _inside(model)
    if layout.recompute == "none":
        inside += 2.0 * model.heads * layout.sequence / layout.context
    return recipe.element_bytes * (outside / split + inside / layout.tensor)


def _inside(model: ModelShape) -> float:
    """Elements that tensor parallelism divides: attention, and the feed-forward of a mean layer."""
    keys = 2 * model.key_value_heads * model.head_size
    attention = 2 * model.heads * (model.head_size + model.rope) + keys
    bent = 3 if model.gated else 2
    met = (model.active_experts + model.shared) * model.expert_feed_forward
    mixture = bent * met + model.active_experts * model.hidden
    dense = model.layers - model.expert_layers
    total = dense * bent * model.feed_forward + model.expert_layers * mixture
    return attention + total / model.layers


def _buffers(
    model: ModelShape, layout: Layout, recipe: Recipe, stage: int, share: ParameterShare
) -> float:
    tokens = layout.micro_batch * layout.sequence / layout.context
    logits = tokens * model.vocabulary / layout.tensor * _LOGIT_BYTES
    gathered = 0.0
    if layout.zero_stage == 3:  # noqa: PLR2004
        gathered = 2 * share.layer * recipe.weight_bytes
    return (logits if stage == layout.pipeline - 1 else 0.0) + gathered
