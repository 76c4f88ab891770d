"""The strictness of everything in an exercise file."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A part of an exercise file: nothing unknown in it, nothing changed after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid")
