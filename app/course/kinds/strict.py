"""What every part of an exercise file is made of."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Markdown = Annotated[str, Field(min_length=1)]
Quotes = Annotated[
    list[Markdown],
    BeforeValidator(
        lambda quote: [quote] if isinstance(quote, str) else quote, json_schema_input_type=Markdown | list[Markdown]
    ),
]  # one or several, of the texts of a file


class Strict(BaseModel):
    """A part of an exercise file: no unknown keys, and never changed after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)
