"""The model, the cluster and the layout that a log prints, what of them is a guess, and the step that they predict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import capitalize
from app.core.formulas.layout import step_time
from app.core.formulas.presets import CLUSTERS, Cluster, Layout, ModelShape, Shares, gpu_printed_as
from app.core.formulas.presets.models import MODELS
from app.core.measurements.logs.settings import LogSettings
from app.core.measurements.reports import TrainingLog
from app.core.units import SECOND, Seconds, show

_GPT_2 = 51_200  # its vocabulary, padded as Megatron-LM does for many GPUs
_PADDING = 4096  # tokens by which a vocabulary is padded at most
_NEEDED = ("layers", "hidden", "heads", "feed_forward")
Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class PrintedRecord:
    """A model or a layout as a text; what of it is a guess; and what is printed if that is not enough."""

    text: str = ""
    guesses: tuple[str, ...] = ()
    printed: str = ""
    missing: tuple[str, ...] = ()


def printed_model(said: LogSettings) -> PrintedRecord:
    """The model that *said* describes."""
    if said.model:
        try:
            shape = ModelShape.named(said.model.lower().replace("llama", "llama "))
        except ValueError:
            return PrintedRecord()
        agree = all(said.count(name) in {0, getattr(shape, name)} for name in ("layers", "hidden", "heads"))
        return PrintedRecord(shape.name) if agree else PrintedRecord()
    found = _size(said) | _attention(said) | _experts(said)
    needed = [name for name in _NEEDED if not found.get(name)]
    if found.get("experts"):
        needed = [name for name in needed if name != "feed_forward"]
    if said.says("latent_attention"):
        needed.append("latent")
    if found.get("experts") and not found.get("active_experts"):
        needed.append("active_experts")
    if needed:
        needed += [name for name in ("gated", "vocabulary") if name not in found]
        if not {"layers", "hidden"} & set(found):
            return PrintedRecord()
        return PrintedRecord(printed=_layout_text(found), missing=tuple(dict.fromkeys(needed)))
    return _whole_model(said, found)


def _size(said: LogSettings) -> Fields:
    sizes = ("layers", "hidden", "heads", "feed_forward", "vocabulary")
    found: Fields = {name: value for name in sizes if (value := said.count(name))}
    gate = said.says("gated")
    if gate is None and said.text("glu") and said.text("glu").lower() != "none":
        gate = True
    return found if gate is None else found | {"gated": gate}


def _attention(said: LogSettings) -> Fields:
    found: Fields = {}
    heads, groups = said.count("heads"), said.count("groups")
    if said.says("grouped") is False:
        groups = heads
    if groups:
        found["key_value_heads"] = groups
    if size := said.count("head_size"):
        found["head_size"] = size
    untied, query_key = said.says("untied"), said.says("query_key_norm")
    if untied is not None:
        found["tied"] = not untied
    if query_key is not None:
        found["query_key_norm"] = query_key
    if norm := said.text("normalization"):
        found["norm"] = "rms" if "rms" in norm.lower() else "layer"
    if said.text("position_type") == "learned_absolute" and (count := said.count("positions")):
        found["positions"] = count
    return found | _biases(said)


def _biases(said: LogSettings) -> Fields:
    unbiased, biased = said.says("unbiased"), said.says("biased")
    if unbiased is None and biased is None:
        return {}
    every = biased if biased is not None else not unbiased
    return {"biases": "all" if every else "qkv" if said.says("query_bias") else "none"}


def _experts(said: LogSettings) -> Fields:
    experts = said.count("experts")
    if experts <= 1:
        return {}
    width = said.count("expert_feed_forward") or said.count("feed_forward")
    found: Fields = {"experts": experts, "expert_feed_forward": width, "feed_forward": 0}
    if active := said.count("active_experts"):
        found["active_experts"] = active
    if (shared := said.count("shared_width")) and width and shared % width == 0:
        found["shared"] = shared // width
    return found


def _whole_model(said: LogSettings, found: Fields) -> PrintedRecord:
    """A known model with all that is printed; else the shape, with guesses for the rest."""
    like = [one for one in dict.fromkeys(MODELS.values()) if _is_like(one, found)]
    sure = {"gated", "vocabulary", "key_value_heads"} <= found.keys()
    if like and sure:
        return PrintedRecord(like[0].name)
    assumed = {name: value for name, value in _assumed(said, found).items() if name not in found}
    if len({one.vocabulary for one in like}) == 1 and "vocabulary" in assumed:
        assumed["vocabulary"] = like[0].vocabulary
    if "gated" in assumed and found.get("feed_forward") != 4 * _whole_number(found, "hidden"):
        return PrintedRecord(printed=_layout_text(found), missing=("gated",))
    shown = [f"{k}={v}" for k, v in assumed.items() if k in _OF_TIME]
    return PrintedRecord(_layout_text(found | assumed), tuple(shown))


_OF_TIME = ("key_value_heads", "gated", "vocabulary")  # of which a step's time depends


def _assumed(said: LogSettings, found: Fields) -> Fields:
    """What the first versions of Megatron-LM did, which had no argument for it."""
    hidden, heads = _whole_number(found, "hidden"), _whole_number(found, "heads")
    return {
        "key_value_heads": heads,
        "head_size": hidden // heads or 1,
        "gated": False,
        "vocabulary": said.count("own_vocabulary") or _GPT_2,
        "tied": True,
        "biases": "all",
        "norm": "layer",
    }


def _is_like(known: ModelShape, found: Mapping[str, object]) -> bool:
    """Whether all that is printed agrees with *known*; a vocabulary may be padded."""
    for name, value in found.items():
        own = getattr(known, name)
        if name == "vocabulary":
            if not 0 <= _whole_number(found, name) - own < _PADDING:
                return False
        elif value != own:
            return False
    return True


def _whole_number(found: Mapping[str, object], name: str) -> int:
    value = found.get(name)
    return value if isinstance(value, int) else 0


def _layout_text(found: Fields) -> str:
    return " ".join(f"{name}={value}" for name, value in found.items())


_DEGREES = ("tensor", "pipeline", "context")


def printed_cluster(said: LogSettings) -> str:
    """The cluster of the GPUs that the log names and counts; empty if it does not say both."""
    gpu, count = gpu_printed_as(said.gpu) if said.gpu else None, world_of(said)
    known = (one for one in CLUSTERS.values() if one.gpu == gpu and one.name.startswith("DGX-"))
    cluster = next(known, None)
    return f"{cluster.name} gpus={count}" if cluster and count else ""


def printed_layout(said: LogSettings, batch: float | None) -> PrintedRecord:
    """The degrees of parallelism and the batch."""
    count = world_of(said)
    degrees = {name: said.count(name) or 1 for name in _DEGREES}
    ranks = math.prod(degrees.values())
    if not count or count % ranks or not said.count("sequence"):
        return PrintedRecord()
    data, micro = count // ranks, said.count("micro_batch") or 1
    given = {**degrees, "expert": said.count("expert") or 1, "data": data}
    given |= {"expert_tensor": said.count("expert_tensor"), "virtual": _virtual(said)}
    given |= {"microbatches": max(1, round((batch or 0) / data / micro)), "micro_batch": micro}
    used = [f"{name}={value}" for name, value in given.items() if value > 1]
    if given["expert_tensor"] == 1 < given["tensor"] and said.count("experts") > 1:
        used.append("expert_tensor=1")  # where none is given, each expert is on all tensor-parallel ranks
    options, guesses = _options(said, given)
    text = " ".join([*used, *options, f"sequence={said.count('sequence')}"])
    try:
        Layout.read(text)
    except ValueError:
        return PrintedRecord()
    return PrintedRecord(text, tuple(guesses))


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


RECORDS = ("model", "cluster", "layout")
_LOW, _HIGH = 0.05, 1.0  # of the peak
_USUAL = (0.3, 0.8)
_HALVINGS = 30
_MUCH = 0.25  # of a measured step, more than the formulas say
_SMALLEST = 0.01  # of a step: less is not worth a sentence
_TRY = {
    "tensor": "fewer tensor-parallel ranks, all of them in a node",
    "context": "fewer context-parallel ranks, all of them in a node",
    "expert": "experts on fewer nodes, or a limit on the nodes that a token is sent to",
    "data": "more micro-batches in a step, a lower ZeRO stage, or sharding within a node",
    "messages": "fewer stages, or fewer chunks per GPU",
    "bubble": "more micro-batches, chunks that interleave, or a schedule without a bubble",
    "skew": "ranks that are balanced: their data, their stages, or a slow GPU",
    "launches": "CUDA graphs, torch.compile, or larger micro-batches",
    "recompute": "less recomputation, such as selective, if the memory is enough",
    "element_wise": "kernels that are fused, such as with torch.compile",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedStep:
    """The step of *model* on *cluster* in *layout*: what it takes, and its *parts* as a table."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    says: str
    parts: tuple[tuple[str, ...], ...]


def predicted_step(log: TrainingLog, given: Mapping[str, str]) -> PredictedStep | None:
    """The prediction for the records in *given*, else for those that the log says; None without.

    Raises:
        ValueError: a record cannot be read, or the layout does not fit the model.
        ArithmeticError: the time is too large for a number.
    """
    texts = records_of(log, given)
    if not all(texts.values()):
        return None
    model = ModelShape.read(texts["model"])
    cluster = Cluster.read(texts["cluster"])
    layout = Layout.on(texts["layout"], cluster.gpus, model.layers)
    return _compared(log, model, cluster, layout)


def records_of(log: TrainingLog, given: Mapping[str, str]) -> dict[str, str]:
    """The model, cluster and layout as texts: those that are *given*, else those of the log."""
    return {name: given.get(name, "").strip() or getattr(log, name) for name in RECORDS}


def guesses_of(log: TrainingLog, given: Mapping[str, str]) -> tuple[str, ...]:
    """What of the records is a guess: what the log does not print, and nobody has given."""
    of_model = () if given.get("model") else log.model_guesses
    of_layout = () if given.get("layout") else log.layout_guesses
    return (*of_model, *of_layout)


def _compared(log: TrainingLog, model: ModelShape, cluster: Cluster, layout: Layout) -> PredictedStep:
    found, unexplained = step_time(model, cluster, layout), 0.0
    says = f"Predicted: {show(found.total, SECOND)} a step."
    if log.step_time is not None:
        unexplained = log.step_time - found.total
        share = _fitted(model, cluster, layout, log.step_time)
        says += f" Measured: {show(log.step_time, SECOND)}, {log.step_time / found.total:.2f} times as long."
        says += _about(share)
        if share is not None:
            found = step_time(model, cluster, layout, Shares(product=share))
    parts = sorted(found._asdict().items(), key=lambda part: -part[1])
    if log.step_time and unexplained > _MUCH * log.step_time:
        part = f"{100 * unexplained / log.step_time:.0f} %"
        says += f" Try first: profile a step and read its trace here, since {part} of it is not"
        says += " explained by the layout."
    else:
        says += _first(parts, found.total)
    rows = [
        (capitalize(name.replace("_", " ")), show(time, SECOND, 3), f"{100 * time / found.total:.1f} %")
        for name, time in parts
        if time > 0
    ]
    return PredictedStep(
        model=model, cluster=cluster, layout=layout, says=says, parts=(("Part", "Time", "Share"), *rows)
    )


def _first(parts: Sequence[tuple[str, Seconds]], total: Seconds) -> str:
    """The largest part that is not needed for the result itself, and what makes it smaller."""
    for name, time in parts:
        if name in _TRY and time > _SMALLEST * total:
            part = name.replace("_", " ")
            return f" Try first, against {part} ({100 * time / total:.0f} %): {_TRY[name]}."
    return " Hardly anything but computation is left: faster kernels or 8-bit products would help."


def _about(share: float | None) -> str:
    if share is None:
        return " No share of the peak that products can reach explains the difference."
    low, high = _USUAL
    odd = "" if low <= share <= high else f", which is outside of the usual {low} to {high}"
    return (
        f" The parts below are those of a step in which products reach {100 * share:.0f} % of the"
        f" peak{odd}: it takes as long as yours."
    )


def _fitted(model: ModelShape, cluster: Cluster, layout: Layout, measured: Seconds) -> float | None:
    """The share of the peak with which the prediction is *measured*; None if there is none."""
    low, high = _LOW, _HIGH

    def total(share: float) -> Seconds:
        return step_time(model, cluster, layout, Shares(product=share)).total

    if not total(high) <= measured <= total(low):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) > measured else (low, middle)
    return high
