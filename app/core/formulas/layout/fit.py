"""Whether a layout fits on a cluster."""

from app.core.formulas.checks import at_least, recorded
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Cluster, Layout, ModelShape, Recipe
from app.core.formulas.step.cluster_speeds import attention_kernels
from app.core.translation import say
from app.core.units import Bytes

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
        raise ValueError(
            say(
                "{name} must have as many GPUs as the cluster, {gpus}, not {value}",
                name="layout",
                gpus=cluster.gpus,
                value=layout.gpus,
            )
        )
