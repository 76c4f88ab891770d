"""From a configuration to the fields of a model shape."""

from collections.abc import Mapping
from typing import Any

from app.core.formulas.configurations.documents import check_document, document_of
from app.core.formulas.configurations.fields import table_in
from app.core.formulas.configurations.hugging_face import hub_model
from app.core.formulas.configurations.megatron import megatron_model
from app.core.translation import say

Fields = Mapping[str, Any]
_OF_THE_HUB = {
    "model_type", "architectures", "num_hidden_layers", "n_layer", "hidden_size", "text_config",
    "n_embd", "llm_config", "language_config", "num_attention_heads", "vocab_size", "num_layers",
}  # fmt: skip
_LONGEST_NAME = 100
_ENOUGH = 2  # names that tell a configuration from a record with a wrong field
_OF_MEGATRON = {"num_layers", "ffn_hidden_size", "kv_channels"}


def model_fields(given: str | Mapping[str, Any]) -> Fields | None:
    """The fields of a model shape in a configuration; None for another object.

    Raises:
        ValueError: it is not valid, or has no model that a shape can say.
    """
    if isinstance(given, Mapping) and len(_OF_THE_HUB & set(given)) < _ENOUGH:
        return None
    document = document_of(given) if isinstance(given, str) else given
    check_document(document)
    names = set(document)
    if _OF_MEGATRON & names and not names & {"num_hidden_layers", "model_type", "architectures"}:
        return megatron_model(document)
    if _OF_THE_HUB & names:
        return hub_model(document)
    if (table := table_in(document, "model")).get("flavor"):
        return {"name": f"{table.get('name', '')}-{table['flavor']}"[:_LONGEST_NAME]}
    raise ValueError(
        say(
            "the configuration has no model: a config.json of Hugging Face has num_hidden_layers,"
            " arguments of Megatron-LM have --num-layers"
        )
    )
