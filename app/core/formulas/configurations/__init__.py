"""Configurations of others, read as the fields of our records.

A `config.json` of Hugging Face, arguments of Megatron-LM, a DeepSpeed JSON, a torchtitan TOML.
"""

from app.core.formulas.configurations.documents import CONFIGURATION_LIMIT, is_configuration
from app.core.formulas.configurations.models import (
    ConfiguredLayout,
    configuration_notes,
    is_layout_configuration,
    layout_fields,
    model_fields,
)

__all__ = [
    "CONFIGURATION_LIMIT",
    "ConfiguredLayout",
    "configuration_notes",
    "is_configuration",
    "is_layout_configuration",
    "layout_fields",
    "model_fields",
]
