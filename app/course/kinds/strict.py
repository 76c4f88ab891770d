"""What every part of an exercise file is made of, and what is wrong with it in plain words."""

from collections.abc import Callable
from typing import Annotated, ClassVar, TypeVar

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


_REMEMBERED = 512  # values, as of the variants of one exercise: each of a class has its own

_K = TypeVar("_K")
_V = TypeVar("_V")


class Remembered(dict[_K, _V]):
    """A cache of values by key; it starts over when there are too many."""

    most: ClassVar[int] = _REMEMBERED

    def of(self, key: _K, work_out: Callable[[], _V]) -> _V:
        """The value of *key*, which *work_out* returns the first time."""
        known = self.get(key)
        return self.keep(key, work_out()) if known is None else known

    def keep(self, key: _K, value: _V) -> _V:
        """*value*, stored as that of *key*."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


class Embedded(Strict):
    """Figures of an explorer in a state that is fixed, or filled with an exercise's values."""

    explorer: str = Field(description="its name, as in /explore/pipeline")
    state: dict[str, str | int | float] = Field(
        default_factory=dict, description='controls by name; in an exercise "{p}" is a drawn value'
    )
    figure: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="which of its figures, from 0; all if omitted"
    )
    predict: bool = Field(default=False, description="ask for a number before it is shown")


class Illustrated(Strict):
    """A figure of what is asked, drawn with the values of an exercise; it shows no result."""

    draws: str = Field(description="its name: /authoring lists them")
    given: dict[str, str | int | float] = Field(
        default_factory=dict, alias="with", description="its inputs: expressions of drawn values"
    )
