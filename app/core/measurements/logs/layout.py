"""The model, the cluster and the layout that a log prints, and what of them is a guess."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.formulas.presets import CLUSTERS, Layout, ModelShape, gpu_printed_as
from app.core.formulas.presets.models import MODELS
from app.core.measurements.logs.settings import LogSettings

_GPT_2 = 51_200  # its vocabulary, padded as Megatron-LM does for many GPUs
_PADDING = 4096  # tokens by which a vocabulary is padded at most
_NEEDED = ("layers", "hidden", "heads", "feed_forward")
Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class PrintedModel:
    """The model as a text; what of it is a guess; and what is printed if that is not enough."""

    text: str = ""
    guesses: tuple[str, ...] = ()
    printed: str = ""
    missing: tuple[str, ...] = ()


def printed_model(said: LogSettings) -> PrintedModel:
    """The model that *said* describes."""
    if said.model:
        return _by_name(said)
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
        return _incomplete(found, needed)
    return _whole_model(said, found)


def _by_name(said: LogSettings) -> PrintedModel:
    """The model that the log calls by its name, if what else it prints agrees."""
    try:
        shape = ModelShape.named(said.model.lower().replace("llama", "llama "))
    except ValueError:
        return PrintedModel()
    agree = all(said.count(name) in {0, getattr(shape, name)} for name in ("layers", "hidden", "heads"))
    return PrintedModel(shape.name) if agree else PrintedModel()


def _size(said: LogSettings) -> Fields:
    sizes = ("layers", "hidden", "heads", "feed_forward", "vocabulary")
    found: Fields = {name: value for name in sizes if (value := said.count(name))}
    gate = said.says("gated")
    if gate is None and said.text("glu") and said.text("glu").lower() != "none":
        gate = True
    return found if gate is None else found | {"gated": gate}


def _attention(said: LogSettings) -> Fields:
    """Heads, biases and norms, as far as they are printed."""
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
    return found | _biases(said) | _positions(said)


def _biases(said: LogSettings) -> Fields:
    unbiased, biased = said.says("unbiased"), said.says("biased")
    if unbiased is None and biased is None:
        return {}
    every = biased if biased is not None else not unbiased
    return {"biases": "all" if every else "qkv" if said.says("query_bias") else "none"}


def _positions(said: LogSettings) -> Fields:
    learned, count = said.text("position_type"), said.count("positions")
    return {"positions": count} if learned == "learned_absolute" and count else {}


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


def _incomplete(found: Fields, needed: list[str]) -> PrintedModel:
    if not {"layers", "hidden"} & set(found):
        return PrintedModel()
    return PrintedModel(printed=_layout_text(found), missing=tuple(dict.fromkeys(needed)))


def _whole_model(said: LogSettings, found: Fields) -> PrintedModel:
    """A known model with all that is printed; else the shape, with guesses for the rest."""
    like = [one for one in dict.fromkeys(MODELS.values()) if _is_like(one, found)]
    sure = {"gated", "vocabulary", "key_value_heads"} <= found.keys()
    if like and sure:
        return PrintedModel(like[0].name)
    assumed = {name: value for name, value in _assumed(said, found).items() if name not in found}
    if len({one.vocabulary for one in like}) == 1 and "vocabulary" in assumed:
        assumed["vocabulary"] = like[0].vocabulary
    if "gated" in assumed and found.get("feed_forward") != 4 * _whole_number(found, "hidden"):
        return PrintedModel(printed=_layout_text(found), missing=("gated",))
    shown = [f"{k}={v}" for k, v in assumed.items() if k in _OF_TIME]
    return PrintedModel(_layout_text(found | assumed), tuple(shown))


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
