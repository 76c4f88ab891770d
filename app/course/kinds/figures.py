"""The figures of an exercise, as its file names them."""

from typing import Annotated

from pydantic import Field

from app.course.kinds.strict import Strict


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
    plays: str = Field(
        default="", description="the step that a figure that moves plays to, of drawn values and of the learner's `answer`"
    )
