"""A figure of an explorer, shown where it helps."""

from typing import Annotated

from pydantic import Field

from app.kinds.strict import Strict


class Embedded(Strict):
    """Figures of an explorer in a state that is fixed, or filled with an exercise's values."""

    explorer: str = Field(description="its name, as in /explore/pipeline")
    state: dict[str, str | int | float] = Field(
        default_factory=dict, description='controls by name; in an exercise "{p}" is a drawn value'
    )
    figure: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="which of its figures, from 0; all where left out"
    )
    predict: bool = Field(default=False, description="ask for a number before it is shown")
