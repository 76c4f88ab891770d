"""The cluster and the layout that a log prints, and what of the layout is a guess."""

import math
from dataclasses import dataclass

from app.core.formulas.presets import CLUSTERS, Layout, gpu_printed_as
from app.core.measurements.logs.settings import LogSettings

_DEGREES = ("tensor", "pipeline", "context")


@dataclass(frozen=True, slots=True)
class PrintedLayout:
    """The layout as a text, empty if the log does not print enough, and what of it is a guess."""

    text: str = ""
    guesses: tuple[str, ...] = ()


def printed_cluster(said: LogSettings) -> str:
    """The cluster of the GPUs that the log names and counts; empty if it does not say both."""
    gpu, count = gpu_printed_as(said.gpu) if said.gpu else None, world_of(said)
    known = (one for one in CLUSTERS.values() if one.gpu == gpu and one.name.startswith("DGX-"))
    cluster = next(known, None)
    return f"{cluster.name} gpus={count}" if cluster and count else ""


def printed_layout(said: LogSettings, batch: float | None) -> PrintedLayout:
    """The degrees of parallelism and the batch."""
    count = world_of(said)
    degrees = {name: said.count(name) or 1 for name in _DEGREES}
    ranks = math.prod(degrees.values())
    if not count or count % ranks or not said.count("sequence"):
        return PrintedLayout()
    data, micro = count // ranks, said.count("micro_batch") or 1
    given = {**degrees, "expert": said.count("expert") or 1, "data": data}
    given |= {"expert_tensor": said.count("expert_tensor"), "virtual": _virtual(said)}
    given |= {"microbatches": max(1, round((batch or 0) / data / micro)), "micro_batch": micro}
    used = [f"{name}={value}" for name, value in given.items() if value > 1]
    options, guesses = _options(said, given)
    text = " ".join([*used, *options, f"sequence={said.count('sequence')}"])
    try:
        Layout.read(text)
    except ValueError:
        return PrintedLayout()
    return PrintedLayout(text, tuple(guesses))


def world_of(said: LogSettings) -> int:
    """The number of GPUs, said or by the degrees; 0 if it is not known."""
    if count := said.count("world"):
        return count
    if not said.count("shards"):
        return 0
    return math.prod(said.count(name) or 1 for name in (*_DEGREES, "shards", "dp_replicate"))


def _virtual(said: LogSettings) -> int:
    """Chunks of each stage."""
    if chunks := said.count("virtual"):
        return chunks
    each, stages = said.count("layers_per_chunk"), said.count("pipeline") or 1
    layers = said.count("layers")
    return layers // stages // each if each and layers else 1


def _options(said: LogSettings, given: dict[str, int]) -> tuple[list[str], list[str]]:
    """What is not a degree: as printed where it differs from the layout's own, and guesses."""
    found, guesses = [], []
    recompute, stage, sharded = _recompute(said), _zero_stage(said), said.says("sequence_parallel")
    if recompute:
        found.append(f"recompute={recompute}")
    else:
        guesses.append("recompute=selective")
    if stage is not None:
        found += [f"zero_stage={stage}"] * (stage != 1)
    elif given["data"] > 1:
        guesses.append("zero_stage=1")
    if given["tensor"] > 1 and sharded is False:
        found.append("sequence_parallel=False")
    elif given["tensor"] > 1 and sharded is None:
        guesses.append("sequence_parallel=True")
    if not said.count("micro_batch"):
        guesses.append("micro_batch=1")
    if said.eight_bits:
        found.append("precision=8-bit")
    return found, guesses


def _zero_stage(said: LogSettings) -> int | None:
    if "shards" in said.values:
        return 3
    if said.text("zero_stage") in {"0", "1", "2", "3"}:
        return int(said.text("zero_stage"))
    sharded = said.says("sharded_optimizer")
    return None if sharded is None else int(sharded)


def _recompute(said: LogSettings) -> str:
    """What is computed again, as a layout calls it; empty if the log does not say."""
    what = said.text("recompute").lower()
    if what in {"full", "selective", "operations"}:
        return what
    if said.says("recompute_all"):
        return "full"
    if said.says("recompute_scores"):
        return "selective"
    if what != "none" and said.says("recompute_all") is None:
        return ""
    # Fused attention never stores its scores, even if nothing else is computed again.
    return "selective" if said.says("flash_attention") else "none"
