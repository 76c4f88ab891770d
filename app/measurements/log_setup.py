"""What a training log says of its model, cluster and layout, as records that formulas take."""

import math

from app.formulas.presets import CLUSTERS, Layout, ModelShape, gpu_printed_as
from app.formulas.presets.models import MODELS
from app.measurements.log_lines import LogReader

_DEGREES = ("tensor", "pipeline", "context")


def model_in(log: LogReader) -> str:
    """The name of the model; empty if the log says neither its name nor a known shape."""
    if log.model:
        try:
            return ModelShape.named(log.model.replace("llama", "llama ")).name
        except ValueError:
            return ""
    layers, hidden = log.settings.get("layers"), log.settings.get("hidden")
    same = [one for one in MODELS.values() if (one.layers, one.hidden) == (layers, hidden)]
    return same[0].name if same else ""


def cluster_in(log: LogReader) -> str:
    """The cluster of the GPUs that the log names and counts; empty if it does not say both."""
    gpu, count = gpu_printed_as(log.gpu) if log.gpu else None, _world(log)
    known = (one for one in CLUSTERS.values() if one.gpu == gpu and one.name.startswith("DGX-"))
    cluster = next(known, None)
    return f"{cluster.name} gpus={count}" if cluster and count else ""


def layout_in(log: LogReader, batch: float | None) -> str:
    """The degrees of parallelism and the batch; empty if the log does not say enough."""
    said, count = log.settings, _world(log)
    degrees = {name: said.get(name, 1) for name in _DEGREES}
    ranks = math.prod(degrees.values())
    if not count or count % ranks or not said.get("sequence"):
        return ""
    data, micro = count // ranks, said.get("micro_batch", 1)
    given = {**degrees, "expert": said.get("expert", 1), "data": data}
    given |= {"microbatches": max(1, round((batch or 0) / data / micro)), "micro_batch": micro}
    stage = {"zero_stage": 3} if "shards" in said else {}
    used = {name: value for name, value in (given | stage).items() if value > 1}
    text = " ".join(f"{k}={v}" for k, v in {**used, "sequence": said["sequence"]}.items())
    try:
        Layout.read(text)
    except ValueError:
        return ""
    return text


def _world(log: LogReader) -> int:
    """The number of GPUs, said or by the degrees; 0 if it is not known."""
    said = log.settings
    if "world" in said:
        return said["world"]
    if "shards" not in said:
        return 0
    return math.prod(said.get(name, 1) for name in (*_DEGREES, "shards", "dp_replicate"))
