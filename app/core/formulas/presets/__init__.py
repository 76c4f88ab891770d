"""GPUs, links, clusters and model shapes that were published, each number with its source."""

from app.core.formulas.presets.clusters import CLUSTERS, LINKS, Cluster, Link
from app.core.formulas.presets.gpus import GPUS, Gpu, gpu_printed_as
from app.core.formulas.presets.layouts import GIVEN, LAWS, LAYOUTS, RECIPES, SHARES, Layout, Recipe, ScalingLaw, Shares
from app.core.formulas.presets.models import MODELS, ModelShape
from app.core.formulas.presets.stacks import STACKS, Stack

__all__ = [
    "CLUSTERS",
    "GIVEN",
    "GPUS",
    "LAWS",
    "LAYOUTS",
    "LINKS",
    "MODELS",
    "RECIPES",
    "SHARES",
    "STACKS",
    "Cluster",
    "Gpu",
    "Layout",
    "Link",
    "ModelShape",
    "Recipe",
    "ScalingLaw",
    "Shares",
    "Stack",
    "cluster",
    "gpu",
    "gpu_printed_as",
    "link",
    "model",
]


def gpu(name: str) -> Gpu:
    """The GPU called *name*, such as "H100 SXM".

    Raises:
        ValueError: none is; the message offers the closest name.
    """
    return Gpu.named(name)


def link(name: str) -> Link:
    """The link called *name*, such as "NVLink 4".

    Raises:
        ValueError: none is; the message offers the closest name.
    """
    return Link.named(name)


def cluster(name: str) -> Cluster:
    """The cluster called *name*, such as "Meta 24K H100".

    Raises:
        ValueError: none is; the message offers the closest name.
    """
    return Cluster.named(name)


def model(name: str) -> ModelShape:
    """The shape of the model called *name*, such as "Llama-3.1-405B".

    Raises:
        ValueError: none is; the message offers the closest name.
    """
    return ModelShape.named(name)
