"""Configurations of others, read as the fields of our records.

A `config.json` of Hugging Face, arguments of Megatron-LM, files of NeMo, DeepSpeed, torchtitan, accelerate, axolotl,
LLaMA-Factory, TRL, MaxText and verl.
"""

from app.core.formulas.configurations.configured_layout import ConfiguredLayout, configuration_notes, stack_doubt
from app.core.formulas.configurations.documents import CONFIGURATION_LIMIT, is_configuration
from app.core.formulas.configurations.models import model_fields
from app.core.formulas.configurations.programs import configured_stack, is_layout_configuration, layout_fields

__all__ = [
    "CONFIGURATION_LIMIT", "ConfiguredLayout", "configuration_notes", "configured_stack", "is_configuration",
    "is_layout_configuration", "layout_fields", "model_fields", "stack_doubt",
]  # fmt: skip
