"""Models with published shapes: what they are called, how many parameters, and their dimensions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self, TypedDict

from app.core.formulas.checks import divides, larger_than
from app.core.formulas.configurations import is_configuration, model_fields
from app.core.formulas.presets.layouts import MODEL_FIELDS
from app.core.formulas.records import Record
from app.core.translation import noted, value_error
from app.core.units import Count

_VARIANT = re.compile(r"(?:-(?:instruct|base|chat|it|pt|hf|thinking|v0\.\d|fp8|bf16|\d{4}))+$", re.IGNORECASE)
Biases = Literal["none", "qkv", "all"]
Norm = Literal["rms", "layer"]


class _More(TypedDict, total=False):
    """The fields of a shape that are not numbers of every model."""

    gated: bool
    tied: bool
    biases: Biases
    norm: Norm
    query_key_norm: bool
    positions: int
    experts: int
    active_experts: int
    expert_feed_forward: int
    shared: int
    dense_layers: int
    router_bias: bool
    latent: int
    query_latent: int
    rope: int
    multi_token: int
    window: int
    whole_every: int


def name_without_variant(name: str) -> str:
    """*name* as the hub has it, without the organization and what it was tuned for."""
    return _VARIANT.sub("", name.rpartition("/")[2]).removeprefix("Meta-")


@dataclass(frozen=True, kw_only=True)
class ModelShape(Record):
    """A decoder-only transformer.

    A layer is dense, with a feed-forward of size *feed_forward*, or a mixture of *experts* of size
    *expert_feed_forward* each, of which *active_experts* and the *shared* ones process a token; *dense_layers* layers
    of a mixture model are dense. If *latent* is not 0, keys and values are compressed to that size (multi-head latent
    attention) and queries to *query_latent*, with *rope* more dimensions per head for positions. *positions* is the
    number of learned positions. *multi_token* modules behind the last layer predict one further token each (multi-token
    prediction): a layer like the last one and a projection each, with the model's embedding and output head. If
    *window* is not 0, a token attends to as many tokens before it, but in every *whole_every*-th layer to all of them.
    """

    what: ClassVar[str] = noted("model shape")
    elsewhere: ClassVar[Mapping[str, str]] = MODEL_FIELDS
    least: ClassVar[Mapping[str, float]] = {"feed_forward": 0}

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
    window: Count = 0
    whole_every: Count = 0
    source: str = "as given"

    @classmethod
    def _changed(cls, known: Self, given: Mapping[str, object]) -> Self:
        """As in Record; where every head has its own keys and values, other heads have theirs, too."""
        if "heads" in given and known.key_value_heads == known.heads:
            given = {"key_value_heads": given["heads"], **given}
        return super()._changed(known, given)

    def __post_init__(self) -> None:
        super().__post_init__()
        divides("key_value_heads", self.key_value_heads, noted("heads"), self.heads)
        if self.active_experts > self.experts:
            raise larger_than("active_experts", self.active_experts, noted("the experts"), self.experts)
        if self.dense_layers > self.layers:
            raise larger_than("dense_layers", self.dense_layers, noted("the layers"), self.layers)
        if not self.experts and not self.feed_forward:
            raise value_error("{name} must be at least 1, not 0, in a model without experts", name="feed_forward")

    def keys(self, sequence: float) -> float:
        """Tokens of which a token sees half with a causal mask, mean over the layers: *sequence*, or fewer."""
        if not self.window or sequence <= 2 * self.window:
            return sequence
        whole_share = 1 / self.whole_every if self.whole_every else 0.0
        return whole_share * sequence + (1 - whole_share) * 2 * self.window

    @property
    def expert_layers(self) -> int:
        """Layers that are a mixture of experts."""
        return self.layers - self.dense_layers if self.experts else 0

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
        if fields.keys() == {"name"}:
            return cls.named(str(fields["name"]))
        made = super().of(fields)
        own = {name: getattr(made, name) for name in ("name", "source")}
        if not made.window:  # a reader may leave windows out
            own |= {"window": 0, "whole_every": 0}
        return next((one for one in cls.known().values() if replace(one, **own) == made), made)

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

_SC21 = "Narayanan et al., arXiv:2104.04473, table 1"
_KORTHIKANTI = "Korthikanti et al., arXiv:2205.05198, table 3"
_MAXTEXT = "AI-Hypercomputer/maxtext, src/maxtext/configs/base.yml, whose widths are scaled by global_parameter_scale"
_MAXTEXT_V4 = (
    "AI-Hypercomputer/maxtext, src/maxtext/configs/tpu/v4; no gate, heads of 256, which give the"
    " parameters that the file is named after"
)
_QWEN_3 = "Qwen3 Technical Report, arXiv:2505.09388, and the released configuration"
_QWEN_25 = "Qwen2.5 Technical Report, arXiv:2412.15115, and the released configuration"
_GLM_45 = (
    "GLM-4.5, arXiv:2508.06471, table 1, and the released configuration; multi_token=1 is the"
    " module that predicts a further token, whose own tables the hub counts, too"
)
_GEMMA = (
    "Gemma 3 Technical Report, arXiv:2503.19786, table 1, and the released configuration; text"
    " alone, without the two more norms of a layer"
)
_LLAMA_4 = "Meta, model card of Llama 4, and the released configuration; text alone"
_MISTRAL = "Mistral AI, released configuration"
_QUERY_KEY: _More = {"query_key_norm": True}
_TIED: _More = {"tied": True}
_BOTH: _More = {**_QUERY_KEY, **_TIED}
_QKV: _More = {"biases": "qkv"}
_QKV_TIED: _More = {**_QKV, **_TIED}
_PLAIN: _More = {}
_LATENT: _More = {"latent": 512, "query_latent": 1536, "rope": 64}
_NO_GATE: _More = {"gated": False, "norm": "layer"}
_GPT: _More = {**_NO_GATE, "tied": True, "biases": "all", "positions": 1024}
_GPT_3: _More = {**_GPT, "positions": 2048}


def _windowed(window: int) -> _More:
    """The fields of a model of Gemma 3: five layers of six have a window."""
    return {**_BOTH, "window": window, "whole_every": 6}


def _mixture(
    count: int, active: int, size: int, more: _More, shared: int = 0, dense_layers: int = 0, router_bias: bool = False
) -> _More:
    """The fields of a mixture of *count* experts of this *size*."""
    return {
        "experts": count,
        "active_experts": active,
        "expert_feed_forward": size,
        "shared": shared,
        "dense_layers": dense_layers,
        "router_bias": router_bias,
        **more,
    }


class ModelRow(NamedTuple):
    """The *shape* of a released model, and the *published* number of its parameters.

    That is how the publisher or the hub counts its weights; empty where the source has no exact one.
    """

    shape: ModelShape
    published: str


def _row(
    name: str, published: str, layers: int, hidden: int, heads: int, key_value_heads: int, head_size: int,
    feed_forward: int, vocabulary: int, more: _More, source: str,
) -> ModelRow:  # fmt: skip
    shape = ModelShape(
        name=name, layers=layers, hidden=hidden, heads=heads, key_value_heads=key_value_heads, head_size=head_size,
        feed_forward=feed_forward, vocabulary=vocabulary, source=source, **more,
    )  # fmt: skip
    return ModelRow(shape, published)


def _llama_3(name: str, layers: int, hidden: int, heads: int, feed_forward: int) -> ModelRow:
    return _row(name, "", layers, hidden, heads, 8, 128, feed_forward, 128_256, _PLAIN, _LLAMA_3)


def _megatron(name: str, layers: int, hidden: int, heads: int, source: str) -> ModelRow:
    size, more = hidden // heads, _GPT_3
    return _row(f"Megatron-LM {name}", "", layers, hidden, heads, heads, size, 4 * hidden, 51_200, more, source)


def _maxtext(name: str, layers: int, hidden: int, heads: int, feed_forward: int) -> ModelRow:
    return _row(f"MaxText {name}", "", layers, hidden, heads, heads, 128, feed_forward, 32_000, _PLAIN, _MAXTEXT)


# Name, published parameters, layers, hidden, heads, key-value heads, head size, feed-forward, vocabulary, more, source.
ROWS = (
    _row("Llama-2-7B", "", 32, 4096, 32, 32, 128, 11_008, 32_000, _PLAIN, _LLAMA_2),
    _row("Llama-2-13B", "", 40, 5120, 40, 40, 128, 13_824, 32_000, _PLAIN, _LLAMA_2),
    _row("Llama-2-70B", "", 80, 8192, 64, 8, 128, 28_672, 32_000, _PLAIN, _LLAMA_2),
    _llama_3("Llama-3-8B", 32, 4096, 32, 14_336),
    _llama_3("Llama-3-70B", 80, 8192, 64, 28_672),
    _llama_3("Llama-3.1-8B", 32, 4096, 32, 14_336),
    _llama_3("Llama-3.1-70B", 80, 8192, 64, 28_672),
    _llama_3("Llama-3.1-405B", 126, 16_384, 128, 53_248),
    _row("GPT-3 175B", "", 96, 12_288, 96, 96, 128, 49_152, 50_257, _GPT_3,
        "Brown et al., arXiv:2005.14165, table 2.1"),
    _row("Mixtral-8x7B", "", 32, 4096, 32, 8, 128, 0, 32_000, _mixture(8, 2, 14_336, _PLAIN),
        "Jiang et al., Mixtral of Experts, arXiv:2401.04088"),
    _row("DeepSeek-V3", "", 61, 7168, 128, 128, 128, 18_432, 129_280,
        _mixture(256, 8, 2048, _LATENT, shared=1, dense_layers=3, router_bias=True),
        "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; main model; with multi_token=1 also the module"
        " that predicts a further token, section 2.2"),
    _row("Qwen2.5-72B", "", 80, 8192, 64, 8, 128, 29_568, 152_064, _QKV,
        "Qwen2.5 Technical Report, arXiv:2412.15115, and the released configuration"),
    _row("Qwen3-32B", "", 64, 5120, 64, 8, 128, 25_600, 151_936, _QUERY_KEY, _QWEN_3),
    _row("Qwen3-30B-A3B", "", 48, 2048, 32, 4, 128, 0, 151_936, _mixture(128, 8, 768, _QUERY_KEY), _QWEN_3),
    _row("Qwen3-235B-A22B", "", 94, 4096, 64, 4, 128, 0, 151_936, _mixture(128, 8, 1536, _QUERY_KEY), _QWEN_3),
    _row("GPT-OSS-120B", "", 36, 2880, 64, 8, 64, 0, 201_088,
        _mixture(128, 4, 2880, {"biases": "all", "window": 128, "whole_every": 2}, router_bias=True),
        "OpenAI, gpt-oss model card, arXiv:2508.10925, and the released configuration; the sinks of attention are"
        " left out"),
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
    _row("MaxText 22B", "", 48, 6144, 24, 24, 256, 24_576, 32_000, {"gated": False}, _MAXTEXT_V4),
    _maxtext("32B", 32, 8192, 64, 28_672),
    _row("MaxText 52B", "", 32, 12_288, 32, 32, 256, 49_152, 32_000, {"gated": False}, _MAXTEXT_V4),
    _maxtext("64B", 64, 8192, 64, 28_672),
    _maxtext("128B", 64, 8192, 128, 57_344),
    _maxtext("256B", 64, 16_384, 128, 57_344),
    _maxtext("512B", 128, 16_384, 128, 57_344),
    _maxtext("1024B", 128, 16_384, 256, 114_688),
    _row("Qwen3-0.6B", "0.60B", 28, 1_024, 16, 8, 128, 3_072, 151_936, _BOTH, _QWEN_3),
    _row("Qwen3-1.7B", "1.7B", 28, 2_048, 16, 8, 128, 6_144, 151_936, _BOTH, _QWEN_3),
    _row("Qwen3-4B", "4.0B", 36, 2_560, 32, 8, 128, 9_728, 151_936, _BOTH, _QWEN_3),
    _row("Qwen3-8B", "8.2B", 36, 4_096, 32, 8, 128, 12_288, 151_936, _QUERY_KEY, _QWEN_3),
    _row("Qwen3-14B", "14.8B", 40, 5_120, 40, 8, 128, 17_408, 151_936, _QUERY_KEY, _QWEN_3),
    _row("Qwen3-Coder-480B-A35B", "480B", 62, 6_144, 96, 8, 128, 0, 151_936, _mixture(160, 8, 2560, _QUERY_KEY),
        _QWEN_3),
    _row("Qwen2.5-0.5B", "0.49B", 24, 896, 14, 2, 64, 4_864, 151_936, _QKV_TIED, _QWEN_25),
    _row("Qwen2.5-1.5B", "1.54B", 28, 1_536, 12, 2, 128, 8_960, 151_936, _QKV_TIED, _QWEN_25),
    _row("Qwen2.5-3B", "3.09B", 36, 2_048, 16, 2, 128, 11_008, 151_936, _QKV_TIED, _QWEN_25),
    _row("Qwen2.5-7B", "7.6B", 28, 3_584, 28, 4, 128, 18_944, 152_064, _QKV, _QWEN_25),
    _row("Qwen2.5-14B", "14.8B", 48, 5_120, 40, 8, 128, 13_824, 152_064, _QKV, _QWEN_25),
    _row("Qwen2.5-32B", "32.8B", 64, 5_120, 40, 8, 128, 27_648, 152_064, _QKV, _QWEN_25),
    _row("Kimi-K2", "1.0T", 61, 7_168, 64, 64, 128, 18_432, 163_840,
        _mixture(384, 8, 2048, _LATENT, shared=1, dense_layers=1, router_bias=True),
        "Kimi K2, arXiv:2507.20534, table 2"),
    _row("Moonlight-16B-A3B", "16.0B", 27, 2_048, 16, 16, 128, 11_264, 163_840,
        _mixture(64, 6, 1408, {"latent": 512, "rope": 64}, shared=2, dense_layers=1, router_bias=True),
        "Muon is Scalable for LLM Training, arXiv:2502.16982, and the released configuration"),
    _row("DeepSeek-V3.2", "671B", 61, 7_168, 128, 128, 128, 18_432, 129_280,
        _mixture(256, 8, 2048, _LATENT, shared=1, dense_layers=3, router_bias=True),
        "DeepSeek-V3.2, arXiv:2512.02556: the shape of DeepSeek-V3; its indexer, 0.1 % more, is left out"),
    _row("GLM-4.5", "358B", 92, 5_120, 96, 8, 128, 12_288, 151_552,
        _mixture(160, 8, 1536, {**_QUERY_KEY, "biases": "qkv"}, shared=1, dense_layers=3, router_bias=True), _GLM_45),
    _row("GLM-4.5-Air", "110B", 46, 4_096, 96, 8, 128, 10_944, 151_552,
        _mixture(128, 8, 1408, _QKV, shared=1, dense_layers=1, router_bias=True), _GLM_45),
    _row("GLM-4-9B", "9.4B", 40, 4_096, 32, 2, 128, 13_696, 151_552, _QKV,
        "GLM team, ChatGLM, arXiv:2406.12793, and the released configuration"),
    _row("MiniMax-M2", "229B", 62, 3_072, 48, 8, 128, 0, 200_064, _mixture(256, 8, 1536, _QUERY_KEY, router_bias=True),
        "released configuration of MiniMax-M2; its three further modules are left out"),
    _row("Gemma-3-1B", "1.00B", 26, 1_152, 4, 1, 256, 6_912, 262_144, _windowed(512), _GEMMA),
    _row("Gemma-3-4B", "3.88B", 34, 2_560, 8, 4, 256, 10_240, 262_208, _windowed(1024), _GEMMA),
    _row("Gemma-3-12B", "11.77B", 48, 3_840, 16, 8, 256, 15_360, 262_208, _windowed(1024), _GEMMA),
    _row("Gemma-3-27B", "27.0B", 62, 5_376, 32, 16, 128, 21_504, 262_208, _windowed(1024), _GEMMA),
    _row("OLMo-3-7B", "7.3B", 32, 4_096, 32, 32, 128, 11_008, 100_278, _QUERY_KEY,
        "OLMo 3, arXiv:2512.13961, and the released configuration"),
    _row("OLMo-3-32B", "32.2B", 64, 5_120, 40, 8, 128, 27_648, 100_278, _QUERY_KEY,
        "OLMo 3, arXiv:2512.13961, and the released configuration"),
    _row("OLMo-2-13B", "13.7B", 40, 5_120, 40, 40, 128, 13_824, 100_352, _QUERY_KEY,
        "2 OLMo 2 Furious, arXiv:2501.00656, and the released configuration"),
    _row("GPT-OSS-20B", "20.9B", 24, 2_880, 64, 8, 64, 0, 201_088,
        _mixture(32, 4, 2880, {"biases": "all", "window": 128, "whole_every": 2}, router_bias=True),
        "OpenAI, gpt-oss model card, arXiv:2508.10925, and the released configuration"),
    _row("Llama-4-Scout", "109B", 48, 5_120, 40, 8, 128, 0, 202_048, _mixture(16, 1, 8192, _PLAIN, shared=1), _LLAMA_4),
    _row("Llama-4-Maverick", "402B", 48, 5_120, 40, 8, 128, 16_384, 202_048,
        _mixture(128, 1, 8192, _PLAIN, shared=1, dense_layers=24), _LLAMA_4),
    _row("Llama-3.2-1B", "1.24B", 16, 2_048, 32, 8, 64, 8_192, 128_256, _TIED,
        "Meta, model card of Llama 3.2, and the released configuration"),
    _row("Llama-3.2-3B", "3.21B", 28, 3_072, 24, 8, 128, 8_192, 128_256, _TIED,
        "Meta, model card of Llama 3.2, and the released configuration"),
    _row("Llama-3.3-70B", "70.6B", 80, 8_192, 64, 8, 128, 28_672, 128_256, _PLAIN,
        "Meta, model card of Llama 3.3: the shape of Llama 3.1 70B"),
    _row("Mistral-7B", "7.25B", 32, 4_096, 32, 8, 128, 14_336, 32_768, _PLAIN, _MISTRAL),
    _row("Mistral-Nemo-12B", "12.2B", 40, 5_120, 32, 8, 128, 14_336, 131_072, _PLAIN, _MISTRAL),
    _row("Mistral-Small-3-24B", "23.6B", 40, 5_120, 32, 8, 128, 32_768, 131_072, _PLAIN, _MISTRAL),
    _row("Mistral-Large-2", "123B", 88, 12_288, 96, 8, 128, 28_672, 32_768, _PLAIN, _MISTRAL),
    _row("Ministral-8B", "8.02B", 36, 4_096, 32, 8, 128, 12_288, 131_072, _PLAIN, _MISTRAL),
    _row("Mixtral-8x22B", "141B", 56, 6_144, 48, 8, 128, 0, 32_768, _mixture(8, 2, 16384, _PLAIN), _MISTRAL),
    _row("Nemotron-4-340B", "341B", 96, 18_432, 96, 8, 192, 73_728, 256_000, _NO_GATE,
        "Nemotron-4 340B, arXiv:2406.11704, table 1"),
    _row("Nemotron-Mini-4B", "4.19B", 32, 3_072, 24, 8, 128, 9_216, 256_000, _NO_GATE,
        "NVIDIA, model card of Nemotron-Mini-4B, and the released configuration"),
    _row("Phi-4", "14.7B", 40, 5_120, 40, 10, 128, 17_920, 100_352, _PLAIN,
        "Phi-4, arXiv:2412.08905, and the released configuration"),
    _row("Phi-4-mini", "3.84B", 32, 3_072, 24, 8, 128, 8_192, 200_064, _TIED,
        "Phi-4-Mini, arXiv:2503.01743, and the released configuration"),
    _row("SmolLM3-3B", "3.08B", 36, 2_048, 16, 4, 128, 11_008, 128_256, _TIED,
        "Hugging Face, SmolLM, released configuration"),
    _row("SmolLM2-1.7B", "1.71B", 24, 2_048, 32, 32, 64, 8_192, 49_152, _TIED,
        "Hugging Face, SmolLM, released configuration"),
    _row("SmolLM2-135M", "0.135B", 30, 576, 9, 3, 64, 1_536, 49_152, _TIED,
        "Hugging Face, SmolLM, released configuration"),
    _row("TinyLlama-1.1B", "1.10B", 22, 2_048, 32, 4, 64, 5_632, 32_000, _PLAIN, "TinyLlama, arXiv:2401.02385"),
    _row("GPT-2", "0.124B", 12, 768, 12, 12, 64, 3_072, 50_257, _GPT, "Radford et al., GPT-2, released weights"),
    _row("GPT-2 XL", "1.56B", 48, 1_600, 25, 25, 64, 6_400, 50_257, _GPT, "Radford et al., GPT-2, released weights"),
    _row("Seed-OSS-36B", "36B", 64, 5_120, 80, 8, 128, 27_648, 155_136, _QKV,
        "ByteDance, Seed-OSS, released configuration"),
    _row("MiMo-7B", "7.6B", 36, 4_096, 32, 8, 128, 11_008, 151_680, _QKV,
        "MiMo, arXiv:2505.07608, and the released configuration; without its further module"),
)  # fmt: skip

# Models of the same shape, and short names.
OTHER_NAMES = {
    "405B": "Llama-3.1-405B", "GPT-3": "GPT-3 175B", "Mixtral": "Mixtral-8x7B",
    "DeepSeek-R1": "DeepSeek-V3", "DeepSeek-V3.1": "DeepSeek-V3", "Kimi-K2.5": "Kimi-K2",
    "GLM-4.6": "GLM-4.5", "GLM-4.7": "GLM-4.5", "Qwen3-Coder-30B-A3B": "Qwen3-30B-A3B",
    "MiniMax-M2.1": "MiniMax-M2", "MiniMax-M2.5": "MiniMax-M2", "OLMo-3.1-32B": "OLMo-3-32B",
    "OLMo-2-7B": "OLMo-3-7B", "OLMo-2-32B": "OLMo-3-32B",
    "Mistral-Small-24B": "Mistral-Small-3-24B",
    "Devstral-Small": "Mistral-Small-3-24B", "Magistral-Small": "Mistral-Small-3-24B",
    "Llama-3.1-Nemotron-70B": "Llama-3.1-70B", "Llama-4-Scout-17B-16E": "Llama-4-Scout",
    "Llama-4-Maverick-17B-128E": "Llama-4-Maverick", "GPT-2 124M": "GPT-2",
}  # fmt: skip

MODELS = ModelShape.publish(
    {row.shape.name: row.shape for row in ROWS}
    | {short: row.shape for row in ROWS for short, name in OTHER_NAMES.items() if name == row.shape.name}
)
