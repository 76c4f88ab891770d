"""Models since 2024, as rows: what they are called, how many parameters, and their shape."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

_VARIANT = re.compile(r"(?:-(?:instruct|base|chat|it|pt|hf|thinking|v0\.\d|fp8|bf16|\d{4}))+$", re.IGNORECASE)
_More: TypeAlias = Mapping[str, int | bool | str]


class ModelRow(NamedTuple):
    """A released model.

    *published* is the number of its parameters, as the publisher or the hub counts its weights;
    *more* are the fields of a shape that are not numbers of every model.
    """

    name: str
    published: str
    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    more: _More
    source: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its shape."""
        given = {k: v for k, v in self._asdict().items() if k not in {"published", "more"}}
        return {**given, **self.more}


def name_without_variant(name: str) -> str:
    """*name* as the hub has it, without the organization and what it was tuned for."""
    return _VARIANT.sub("", name.rpartition("/")[2])


_QWEN_3 = "Qwen3 Technical Report, arXiv:2505.09388, and the released configuration"
_QWEN_25 = "Qwen2.5 Technical Report, arXiv:2412.15115, and the released configuration"
_GLM_45 = (
    "GLM-4.5, arXiv:2508.06471, table 1, and the released configuration; multi_token=1 is the"
    " module that predicts a further token, whose own tables the hub counts, too"
)
_GEMMA = (
    "Gemma 3 Technical Report, arXiv:2503.19786, table 1, and the released configuration; text"
    " alone, without the two more norms of a layer and the windows of five layers of six"
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


def _mixture(experts: int, active: int, size: int, **more: int | bool | str) -> _More:
    """The fields of a mixture whose *experts* have this *size*."""
    given = {"experts": experts, "active_experts": active, "expert_feed_forward": size}
    return {**given, **more}


ROWS = (
    ModelRow("Qwen3-0.6B", "0.60B", 28, 1_024, 16, 8, 128, 3_072, 151_936, _BOTH, _QWEN_3),
    ModelRow("Qwen3-1.7B", "1.7B", 28, 2_048, 16, 8, 128, 6_144, 151_936, _BOTH, _QWEN_3),
    ModelRow("Qwen3-4B", "4.0B", 36, 2_560, 32, 8, 128, 9_728, 151_936, _BOTH, _QWEN_3),
    ModelRow("Qwen3-8B", "8.2B", 36, 4_096, 32, 8, 128, 12_288, 151_936, _QUERY_KEY, _QWEN_3),
    ModelRow("Qwen3-14B", "14.8B", 40, 5_120, 40, 8, 128, 17_408, 151_936, _QUERY_KEY, _QWEN_3),
    ModelRow(
        "Qwen3-Coder-480B-A35B", "480B", 62, 6_144, 96, 8, 128, 0, 151_936, _mixture(160, 8, 2560,
        **_QUERY_KEY),
        _QWEN_3,
    ),
    ModelRow("Qwen2.5-0.5B", "0.49B", 24, 896, 14, 2, 64, 4_864, 151_936, _QKV_TIED, _QWEN_25),
    ModelRow("Qwen2.5-1.5B", "1.54B", 28, 1_536, 12, 2, 128, 8_960, 151_936, _QKV_TIED, _QWEN_25),
    ModelRow("Qwen2.5-3B", "3.09B", 36, 2_048, 16, 2, 128, 11_008, 151_936, _QKV_TIED, _QWEN_25),
    ModelRow("Qwen2.5-7B", "7.6B", 28, 3_584, 28, 4, 128, 18_944, 152_064, _QKV, _QWEN_25),
    ModelRow("Qwen2.5-14B", "14.8B", 48, 5_120, 40, 8, 128, 13_824, 152_064, _QKV, _QWEN_25),
    ModelRow("Qwen2.5-32B", "32.8B", 64, 5_120, 40, 8, 128, 27_648, 152_064, _QKV, _QWEN_25),
    ModelRow(
        "Kimi-K2", "1.0T", 61, 7_168, 64, 64, 128, 18_432, 163_840, _mixture(384, 8, 2048, shared=1,
        dense_layers=1, router_bias=True, **_LATENT),
        "Kimi K2, arXiv:2507.20534, table 2",
    ),
    ModelRow(
        "Moonlight-16B-A3B", "16.0B", 27, 2_048, 16, 16, 128, 11_264, 163_840, _mixture(64, 6, 1408,
        shared=2, dense_layers=1, router_bias=True, latent=512, rope=64),
        "Muon is Scalable for LLM Training, arXiv:2502.16982, and the released configuration",
    ),
    ModelRow(
        "DeepSeek-V3.2", "671B", 61, 7_168, 128, 128, 128, 18_432, 129_280, _mixture(256, 8, 2048,
        shared=1, dense_layers=3, router_bias=True, **_LATENT),
        "DeepSeek-V3.2, arXiv:2512.02556: the shape of DeepSeek-V3; its indexer, 0.1 % more,"
        " is left out",
    ),
    ModelRow(
        "GLM-4.5", "358B", 92, 5_120, 96, 8, 128, 12_288, 151_552, _mixture(160, 8, 1536, shared=1,
        dense_layers=3, router_bias=True, biases="qkv", **_QUERY_KEY),
        _GLM_45,
    ),
    ModelRow(
        "GLM-4.5-Air", "110B", 46, 4_096, 96, 8, 128, 10_944, 151_552, _mixture(128, 8, 1408,
        shared=1, dense_layers=1, router_bias=True, **_QKV),
        _GLM_45,
    ),
    ModelRow(
        "GLM-4-9B", "9.4B", 40, 4_096, 32, 2, 128, 13_696, 151_552, _QKV,
        "GLM team, ChatGLM, arXiv:2406.12793, and the released configuration",
    ),
    ModelRow(
        "MiniMax-M2", "229B", 62, 3_072, 48, 8, 128, 0, 200_064, _mixture(256, 8, 1536,
        router_bias=True, **_QUERY_KEY),
        "released configuration of MiniMax-M2; its three further modules are left out",
    ),
    ModelRow("Gemma-3-1B", "1.00B", 26, 1_152, 4, 1, 256, 6_912, 262_144, _BOTH, _GEMMA),
    ModelRow("Gemma-3-4B", "3.88B", 34, 2_560, 8, 4, 256, 10_240, 262_208, _BOTH, _GEMMA),
    ModelRow("Gemma-3-12B", "11.77B", 48, 3_840, 16, 8, 256, 15_360, 262_208, _BOTH, _GEMMA),
    ModelRow("Gemma-3-27B", "27.0B", 62, 5_376, 32, 16, 128, 21_504, 262_208, _BOTH, _GEMMA),
    ModelRow(
        "OLMo-3-7B", "7.3B", 32, 4_096, 32, 32, 128, 11_008, 100_278, _QUERY_KEY,
        "OLMo 3, arXiv:2512.13961, and the released configuration",
    ),
    ModelRow(
        "OLMo-3-32B", "32.2B", 64, 5_120, 40, 8, 128, 27_648, 100_278, _QUERY_KEY,
        "OLMo 3, arXiv:2512.13961, and the released configuration",
    ),
    ModelRow(
        "OLMo-2-13B", "13.7B", 40, 5_120, 40, 40, 128, 13_824, 100_352, _QUERY_KEY,
        "2 OLMo 2 Furious, arXiv:2501.00656, and the released configuration",
    ),
    ModelRow(
        "GPT-OSS-20B", "20.9B", 24, 2_880, 64, 8, 64, 0, 201_088, _mixture(32, 4, 2880,
        biases="all", router_bias=True),
        "OpenAI, gpt-oss model card, arXiv:2508.10925, and the released configuration",
    ),
    ModelRow(
        "Llama-4-Scout", "109B", 48, 5_120, 40, 8, 128, 0, 202_048, _mixture(16, 1, 8192, shared=1),
        _LLAMA_4,
    ),
    ModelRow(
        "Llama-4-Maverick", "402B", 48, 5_120, 40, 8, 128, 16_384, 202_048, _mixture(128, 1, 8192,
        shared=1, dense_layers=24),
        _LLAMA_4,
    ),
    ModelRow(
        "Llama-3.2-1B", "1.24B", 16, 2_048, 32, 8, 64, 8_192, 128_256, _TIED,
        "Meta, model card of Llama 3.2, and the released configuration",
    ),
    ModelRow(
        "Llama-3.2-3B", "3.21B", 28, 3_072, 24, 8, 128, 8_192, 128_256, _TIED,
        "Meta, model card of Llama 3.2, and the released configuration",
    ),
    ModelRow(
        "Llama-3.3-70B", "70.6B", 80, 8_192, 64, 8, 128, 28_672, 128_256, _PLAIN,
        "Meta, model card of Llama 3.3: the shape of Llama 3.1 70B",
    ),
    ModelRow("Mistral-7B", "7.25B", 32, 4_096, 32, 8, 128, 14_336, 32_768, _PLAIN, _MISTRAL),
    ModelRow("Mistral-Nemo-12B", "12.2B", 40, 5_120, 32, 8, 128, 14_336, 131_072, _PLAIN, _MISTRAL),
    ModelRow(
        "Mistral-Small-3-24B", "23.6B", 40, 5_120, 32, 8, 128, 32_768, 131_072, _PLAIN,
        _MISTRAL,
    ),
    ModelRow("Mistral-Large-2", "123B", 88, 12_288, 96, 8, 128, 28_672, 32_768, _PLAIN, _MISTRAL),
    ModelRow("Ministral-8B", "8.02B", 36, 4_096, 32, 8, 128, 12_288, 131_072, _PLAIN, _MISTRAL),
    ModelRow(
        "Mixtral-8x22B", "141B", 56, 6_144, 48, 8, 128, 0, 32_768, _mixture(8, 2, 16384),
        _MISTRAL,
    ),
    ModelRow(
        "Nemotron-4-340B", "341B", 96, 18_432, 96, 8, 192, 73_728, 256_000, _NO_GATE,
        "Nemotron-4 340B, arXiv:2406.11704, table 1",
    ),
    ModelRow(
        "Nemotron-Mini-4B", "4.19B", 32, 3_072, 24, 8, 128, 9_216, 256_000, _NO_GATE,
        "NVIDIA, model card of Nemotron-Mini-4B, and the released configuration",
    ),
    ModelRow(
        "Phi-4", "14.7B", 40, 5_120, 40, 10, 128, 17_920, 100_352, _PLAIN,
        "Phi-4, arXiv:2412.08905, and the released configuration",
    ),
    ModelRow(
        "Phi-4-mini", "3.84B", 32, 3_072, 24, 8, 128, 8_192, 200_064, _TIED,
        "Phi-4-Mini, arXiv:2503.01743, and the released configuration",
    ),
    ModelRow(
        "SmolLM3-3B", "3.08B", 36, 2_048, 16, 4, 128, 11_008, 128_256, _TIED,
        "Hugging Face, SmolLM, released configuration",
    ),
    ModelRow(
        "SmolLM2-1.7B", "1.71B", 24, 2_048, 32, 32, 64, 8_192, 49_152, _TIED,
        "Hugging Face, SmolLM, released configuration",
    ),
    ModelRow(
        "SmolLM2-135M", "0.135B", 30, 576, 9, 3, 64, 1_536, 49_152, _TIED,
        "Hugging Face, SmolLM, released configuration",
    ),
    ModelRow(
        "TinyLlama-1.1B", "1.10B", 22, 2_048, 32, 4, 64, 5_632, 32_000, _PLAIN,
        "TinyLlama, arXiv:2401.02385",
    ),
    ModelRow(
        "GPT-2", "0.124B", 12, 768, 12, 12, 64, 3_072, 50_257, _GPT,
        "Radford et al., GPT-2, released weights",
    ),
    ModelRow(
        "GPT-2 XL", "1.56B", 48, 1_600, 25, 25, 64, 6_400, 50_257, _GPT,
        "Radford et al., GPT-2, released weights",
    ),
    ModelRow(
        "Seed-OSS-36B", "36B", 64, 5_120, 80, 8, 128, 27_648, 155_136, _QKV,
        "ByteDance, Seed-OSS, released configuration",
    ),
    ModelRow(
        "MiMo-7B", "7.6B", 36, 4_096, 32, 8, 128, 11_008, 151_680, _QKV,
        "MiMo, arXiv:2505.07608, and the released configuration; without its further module",
    ),
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
