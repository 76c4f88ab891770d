"""GPUs, links, clusters and model shapes that were published, each number with its source."""

from app.core.formulas.presets.clusters import CLUSTERS, LINKS, Cluster, Link
from app.core.formulas.presets.gpus import GPUS, Gpu, gpu_printed_as
from app.core.formulas.presets.layouts import GIVEN, LAWS, LAYOUTS, RECIPES, SHARES, Layout, Recipe, ScalingLaw, Shares
from app.core.formulas.presets.models import MODELS, ModelShape
from app.core.formulas.presets.stacks import STACKS, Stack

__all__ = [
    "CLUSTERS", "GIVEN", "GPUS", "LAWS", "LAYOUTS", "LINKS", "MODELS", "RECIPES", "SHARES", "STACKS", "Cluster", "Gpu",
    "Layout", "Link", "ModelShape", "Recipe", "ScalingLaw", "Shares", "Stack", "cluster", "gpu", "gpu_printed_as",
    "link", "model",
]  # fmt: skip

gpu, link, cluster, model = Gpu.named, Link.named, Cluster.named, ModelShape.named
