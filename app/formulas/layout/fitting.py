"""Whether a layout can run on a cluster at all."""

from app.formulas.checks import at_least, recorded
from app.formulas.memory import memory_budget
from app.formulas.presets import Cluster, Layout, ModelShape, Recipe
from app.units import Bytes

_MIXED = Recipe.named("mixed")


def fits(
    model: ModelShape,
    cluster: Cluster,
    layout: Layout,
    recipe: Recipe = _MIXED,
    reserved: Bytes = 0.0,
) -> bool:
    """Whether a layout's fullest GPU has room for all that it keeps.

    With S the sum of the memory budget's parts and C the memory of a GPU:

        F = C - S - reserved

    Convention:
        It fits where F is not below zero. The data sheet's bytes: an "80 GB" card is 80e9 here and
        shows 85.5e9 in its tools, which is no reason to count on them.

    Args:
        model: shape of the model.
        cluster: GPUs that it runs on, as many as the layout has.
        layout: how it is laid out.
        recipe: bytes of every kind of number.
        reserved: bytes of each GPU for everything else.

    Raises:
        ValueError: an argument is no such record, the layout does not divide the model, or it has
            another number of GPUs than the cluster.

    Source:
        Counted from memory_budget.
    """
    same_gpus(cluster, layout)
    room = recorded("cluster", cluster, Cluster).gpu.memory - at_least("reserved", reserved, 0)
    return memory_budget(model, layout, recipe).total <= room


def same_gpus(cluster: Cluster, layout: Layout) -> None:
    """Refuse a layout with another number of GPUs than *cluster*."""
    recorded("cluster", cluster, Cluster)
    recorded("layout", layout, Layout)
    if layout.gpus != cluster.gpus:
        raise ValueError(
            f"layout must have as many GPUs as the cluster, {cluster.gpus}, not {layout.gpus}"
        )
