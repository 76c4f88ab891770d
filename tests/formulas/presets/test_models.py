"""Models since 2024: the parameters that their shapes give are those that are published."""

import pytest

from app.core.formulas.presets import MODELS, ModelShape, model
from app.core.formulas.presets.models import ROWS, ModelRow
from app.core.formulas.transformer import active_parameters, model_parameters
from tests.each import each

_UNITS = {"B": 1e9, "T": 1e12}
# What the hub counts beside the model that the shape describes.
_VISION = 0.87e9  # Llama 4: 34 layers of width 1,408 and two projections
_BESIDE = {"Llama-4-Scout": _VISION, "Llama-4-Maverick": _VISION}
_FURTHER = ("GLM-4.5", "GLM-4.5-Air")  # a module for a further token, with tables of its own


def counted(row: ModelRow) -> float:
    name = row.shape.name
    text = model(name).text
    if name in _FURTHER:
        tables = 2 * row.shape.vocabulary * row.shape.hidden
        return model_parameters(ModelShape.read(f"{text} multi_token=1")) + tables
    return model_parameters(ModelShape.read(text)) + _BESIDE.get(name, 0)


@each("row", [row for row in ROWS if row.published], ids=lambda row: row.shape.name)
def test_the_parameters_of_a_shape_are_those_that_are_published(row: ModelRow) -> None:
    digits, unit = row.published[:-1], _UNITS[row.published[-1]]
    decimals = len(digits.partition(".")[2])
    assert round(counted(row) / unit, decimals) == float(digits)


@each(
    ("name", "active"),
    [
        ("Kimi-K2", 32.9e9), ("GLM-4.5", 33.6e9), ("Qwen3-Coder-480B-A35B", 35.5e9), ("MiniMax-M2", 11e9),
        ("GPT-OSS-20B", 4.2e9), ("Llama-4-Maverick", 17.2e9), ("Llama-4-Scout", 17.2e9), ("Mixtral-8x22B", 39.2e9),
    ],
)  # fmt: skip
def test_the_active_parameters_of_mixtures_are_those_of_their_names(name: str, active: float) -> None:
    assert active_parameters(model(name)) == pytest.approx(active, rel=0.01)


@each(
    ("text", "name"),
    [
        ("Qwen/Qwen3-8B", "Qwen3-8B"), ("Qwen3-8B-Base", "Qwen3-8B"), ("google/gemma-3-27b-it", "Gemma-3-27B"),
        ("moonshotai/Kimi-K2-Instruct", "Kimi-K2"), ("Kimi-K2-Thinking", "Kimi-K2"), ("zai-org/GLM-4.6", "GLM-4.5"),
        ("meta-llama/Llama-3.3-70B-Instruct", "Llama-3.3-70B"), ("mistralai/Mistral-7B-v0.3", "Mistral-7B"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama-4-Scout"), ("deepseek-ai/DeepSeek-R1", "DeepSeek-V3"),
        ("openai/gpt-oss-20b", "GPT-OSS-20B"), ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "Llama-3.1-70B"),
        ("Qwen3-235B-A22B-Instruct-2507", "Qwen3-235B-A22B"), ("Llama-2-7b-hf", "Llama-2-7B"),
    ],
)  # fmt: skip
def test_a_model_is_found_as_the_hub_calls_it(text: str, name: str) -> None:
    assert ModelShape.named(text) == MODELS[name]


def test_an_unknown_model_is_not_taken_for_another() -> None:
    for text in ("Qwen/Qwen3-9B", "GLM-9", "Gemma-3-28B-it"):
        with pytest.raises(ValueError, match=f"no model shape is called '{text}'"):
            ModelShape.named(text)
