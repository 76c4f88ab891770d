"""Shapes of transformers, and models with published shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from app.core.formulas.checks import larger_than, one_of, whole
from app.core.formulas.configurations import is_configuration, model_fields
from app.core.formulas.presets.layouts import MODEL_FIELDS
from app.core.formulas.presets.recent_models import OTHER_NAMES, ROWS, name_without_variant
from app.core.formulas.records import Record
from app.core.translation import noted, say
from app.core.units import Count

Biases = Literal["none", "qkv", "all"]
Norm = Literal["rms", "layer"]


@dataclass(frozen=True, kw_only=True)
class ModelShape(Record):
    """A decoder-only transformer.

    A layer is dense, with a feed-forward of size *feed_forward*, or a mixture of *experts* of size
    *expert_feed_forward* each, of which *active_experts* and the *shared* ones process a token;
    *dense_layers* layers of a mixture model are dense. If *latent* is not 0, keys and values are
    compressed to that size (multi-head latent attention) and queries to *query_latent*, with *rope*
    more dimensions per head for positions. *positions* is the number of learned positions.
    *multi_token* modules behind the last layer predict one further token each (multi-token
    prediction): a layer like the last one and a projection each, with the model's embedding and
    output head.
    """

    what: ClassVar[str] = noted("model shape")
    elsewhere: ClassVar[Mapping[str, str]] = MODEL_FIELDS

    name: str = "as given"
    layers: Count
    hidden: Count
    heads: Count
    key_value_heads: Count
    head_size: Count
    feed_forward: Count
    vocabulary: Count
    gated: bool = True
    tied: bool = False
    biases: Biases = "none"
    norm: Norm = "rms"
    query_key_norm: bool = False
    positions: Count = 0
    experts: Count = 0
    active_experts: Count = 0
    expert_feed_forward: Count = 0
    shared: Count = 0
    dense_layers: Count = 0
    router_bias: bool = False
    latent: Count = 0
    query_latent: Count = 0
    rope: Count = 0
    multi_token: Count = 0
    source: str = "as given"

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "key_value_heads", "head_size", "vocabulary"):
            whole(name, getattr(self, name))
        for name in (
            "positions", "experts", "active_experts", "expert_feed_forward", "shared",
            "dense_layers", "latent", "query_latent", "rope", "feed_forward", "multi_token",
        ):  # fmt: skip
            whole(name, getattr(self, name), 0)
        for name in ("gated", "tied", "query_key_norm", "router_bias"):
            one_of(name, getattr(self, name), (False, True))
        one_of("biases", self.biases, ("none", "qkv", "all"))
        one_of("norm", self.norm, ("rms", "layer"))
        self._check_parts()

    def _check_parts(self) -> None:
        if self.heads % self.key_value_heads:
            raise ValueError(
                say(
                    "{name} must divide the {what}, {whole}, not {value}",
                    name="key_value_heads",
                    what=noted("heads"),
                    whole=self.heads,
                    value=self.key_value_heads,
                )
            )
        if self.active_experts > self.experts:
            raise larger_than("active_experts", self.active_experts, noted("the experts"), self.experts)
        if self.dense_layers > self.layers:
            raise larger_than("dense_layers", self.dense_layers, noted("the layers"), self.layers)
        if not self.experts and not self.feed_forward:
            raise ValueError(say("{name} must be at least 1, not 0, in a model without experts", name="feed_forward"))

    @property
    def expert_layers(self) -> int:
        """Layers that are a mixture of experts."""
        return self.layers - self.dense_layers if self.experts else 0

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return MODELS  # type: ignore[return-value]

    @classmethod
    def read(cls, text: str) -> Self:
        """The shape written as *text*, or in a configuration: a config.json, or arguments.

        Raises:
            ValueError: a name or a field is unknown, or a value is not valid.
        """
        given = model_fields(text) if is_configuration(text) else None
        return super().read(text) if given is None else cls._known_or_new(given)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """The shape with the fields *given*, which may be those of a config.json.

        Raises:
            ValueError: a field is unknown or missing, or a value is not valid.
        """
        found = model_fields(given)
        return super().of(given) if found is None else cls._known_or_new(found)

    @classmethod
    def _known_or_new(cls, fields: Mapping[str, object]) -> Self:
        """The shape with these *fields*: a known record, if there is one that is alike."""
        made = super().of(fields)
        alike = (one for one in cls.known().values() if replace(one, name=made.name, source=made.source) == made)
        return next(alike, made)

    @classmethod
    def named(cls, name: str) -> Self:
        """The model called *name*, also as the hub calls it: Qwen/Qwen3-8B-Base.

        Raises:
            ValueError: there is none; the message offers the closest name.
        """
        short = name_without_variant(name)
        return super().named(short if cls.has(short) and not cls.has(name) else name)


_LLAMA_2 = "Touvron et al., Llama 2, arXiv:2307.09288, and the released configuration"
_LLAMA_3 = (
    "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 3; vocabulary as"
    " released, 128,256 (the table says 128,000)"
)
_QWEN_3 = "Qwen3 Technical Report, arXiv:2505.09388, and the released configuration"


def _llama_3(name: str, layers: int, hidden: int, heads: int, feed_forward: int) -> ModelShape:
    return ModelShape(
        name=name, layers=layers, hidden=hidden, heads=heads, key_value_heads=8, head_size=128,
        feed_forward=feed_forward, vocabulary=128_256, source=_LLAMA_3,
    )  # fmt: skip


def _megatron(name: str, layers: int, hidden: int, heads: int, source: str) -> ModelShape:
    return ModelShape(
        name=f"Megatron-LM {name}", layers=layers, hidden=hidden, heads=heads,
        key_value_heads=heads, head_size=hidden // heads, feed_forward=4 * hidden,
        vocabulary=51_200, gated=False, tied=True, biases="all", norm="layer", positions=2048,
        source=source,
    )  # fmt: skip


def _maxtext(name: str, layers: int, hidden: int, heads: int, feed_forward: int) -> ModelShape:
    return ModelShape(
        name=f"MaxText {name}", layers=layers, hidden=hidden, heads=heads, key_value_heads=heads,
        head_size=128, feed_forward=feed_forward, vocabulary=32_000, source=_MAXTEXT,
    )  # fmt: skip


_SC21 = "Narayanan et al., arXiv:2104.04473, table 1"
_KORTHIKANTI = "Korthikanti et al., arXiv:2205.05198, table 3"
_MAXTEXT = "AI-Hypercomputer/maxtext, src/maxtext/configs/base.yml, whose widths are scaled by global_parameter_scale"
_MAXTEXT_V4 = (
    "AI-Hypercomputer/maxtext, src/maxtext/configs/tpu/v4; no gate, heads of 256, which give the"
    " parameters that the file is named after"
)
_MODELS = (
    ModelShape(
        name="Llama-2-7B", layers=32, hidden=4096, heads=32, key_value_heads=32, head_size=128,
        feed_forward=11_008, vocabulary=32_000, source=_LLAMA_2,
    ),
    ModelShape(
        name="Llama-2-13B", layers=40, hidden=5120, heads=40, key_value_heads=40, head_size=128,
        feed_forward=13_824, vocabulary=32_000, source=_LLAMA_2,
    ),
    ModelShape(
        name="Llama-2-70B", layers=80, hidden=8192, heads=64, key_value_heads=8, head_size=128,
        feed_forward=28_672, vocabulary=32_000, source=_LLAMA_2,
    ),
    _llama_3("Llama-3-8B", 32, 4096, 32, 14_336),
    _llama_3("Llama-3-70B", 80, 8192, 64, 28_672),
    _llama_3("Llama-3.1-8B", 32, 4096, 32, 14_336),
    _llama_3("Llama-3.1-70B", 80, 8192, 64, 28_672),
    _llama_3("Llama-3.1-405B", 126, 16_384, 128, 53_248),
    ModelShape(
        name="GPT-3 175B", layers=96, hidden=12_288, heads=96, key_value_heads=96, head_size=128,
        feed_forward=49_152, vocabulary=50_257, gated=False, tied=True, biases="all", norm="layer",
        positions=2048, source="Brown et al., arXiv:2005.14165, table 2.1",
    ),
    ModelShape(
        name="Mixtral-8x7B", layers=32, hidden=4096, heads=32, key_value_heads=8, head_size=128,
        feed_forward=0, vocabulary=32_000, experts=8, active_experts=2,
        expert_feed_forward=14_336, source="Jiang et al., Mixtral of Experts, arXiv:2401.04088",
    ),
    ModelShape(
        name="DeepSeek-V3", layers=61, hidden=7168, heads=128, key_value_heads=128, head_size=128,
        feed_forward=18_432, vocabulary=129_280, experts=256, active_experts=8,
        expert_feed_forward=2048, shared=1, dense_layers=3, router_bias=True, latent=512,
        query_latent=1536, rope=64,
        source="DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; main model; with"
        " multi_token=1 also the module that predicts a further token, section 2.2",
    ),
    ModelShape(
        name="Qwen2.5-72B", layers=80, hidden=8192, heads=64, key_value_heads=8, head_size=128,
        feed_forward=29_568, vocabulary=152_064, biases="qkv",
        source="Qwen2.5 Technical Report, arXiv:2412.15115, and the released configuration",
    ),
    ModelShape(
        name="Qwen3-32B", layers=64, hidden=5120, heads=64, key_value_heads=8, head_size=128,
        feed_forward=25_600, vocabulary=151_936, query_key_norm=True, source=_QWEN_3,
    ),
    ModelShape(
        name="Qwen3-30B-A3B", layers=48, hidden=2048, heads=32, key_value_heads=4, head_size=128,
        feed_forward=0, vocabulary=151_936, query_key_norm=True, experts=128, active_experts=8,
        expert_feed_forward=768, source=_QWEN_3,
    ),
    ModelShape(
        name="Qwen3-235B-A22B", layers=94, hidden=4096, heads=64, key_value_heads=4, head_size=128,
        feed_forward=0, vocabulary=151_936, query_key_norm=True, experts=128, active_experts=8,
        expert_feed_forward=1536, source=_QWEN_3,
    ),
    ModelShape(
        name="GPT-OSS-120B", layers=36, hidden=2880, heads=64, key_value_heads=8, head_size=64,
        feed_forward=0, vocabulary=201_088, biases="all", experts=128, active_experts=4,
        expert_feed_forward=2880, router_bias=True,
        source="OpenAI, gpt-oss model card, arXiv:2508.10925, and the released configuration; the"
        " windows of every second layer and the sinks of attention are left out",
    ),
    _megatron("1.7B", 24, 2304, 24, _SC21),
    _megatron("3.6B", 30, 3072, 32, _SC21),
    _megatron("7.5B", 36, 4096, 32, _SC21),
    _megatron("18B", 40, 6144, 48, _SC21),
    _megatron("22B", 48, 6144, 64, _KORTHIKANTI),
    _megatron("39B", 48, 8192, 64, _SC21),
    _megatron("76B", 60, 10_240, 80, _SC21),
    _megatron("145B", 80, 12_288, 96, _SC21),
    _megatron("175B", 96, 12_288, 96, _KORTHIKANTI),
    _megatron("310B", 96, 16_384, 128, _SC21),
    _megatron("530B", 105, 20_480, 128, f"{_SC21}, and {_KORTHIKANTI}"),
    _megatron("1T", 128, 25_600, 160, f"{_SC21}, and {_KORTHIKANTI}"),
    _maxtext("16B", 32, 4096, 64, 28_672),
    ModelShape(
        name="MaxText 22B", layers=48, hidden=6144, heads=24, key_value_heads=24, head_size=256,
        feed_forward=24_576, vocabulary=32_000, gated=False, source=_MAXTEXT_V4,
    ),
    _maxtext("32B", 32, 8192, 64, 28_672),
    ModelShape(
        name="MaxText 52B", layers=32, hidden=12_288, heads=32, key_value_heads=32, head_size=256,
        feed_forward=49_152, vocabulary=32_000, gated=False, source=_MAXTEXT_V4,
    ),
    _maxtext("64B", 64, 8192, 64, 28_672),
    _maxtext("128B", 64, 8192, 128, 57_344),
    _maxtext("256B", 64, 16_384, 128, 57_344),
    _maxtext("512B", 128, 16_384, 128, 57_344),
    _maxtext("1024B", 128, 16_384, 256, 114_688),
    *(ModelShape(**row.fields) for row in ROWS),
)  # fmt: skip

MODELS: Mapping[str, ModelShape] = MappingProxyType(
    {known.name: known for known in _MODELS}
    | {short: known for known in _MODELS for short, name in OTHER_NAMES.items() if name == known.name}
)
