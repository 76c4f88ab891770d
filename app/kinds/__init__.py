"""The kinds of exercise; the list of them is the union `Exercise`."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from app.kinds.answers import Answer, PartVerdict, Verdict
from app.kinds.base import SEEDS, Base, Finding, Variant, Where
from app.kinds.choice import Choice
from app.kinds.code.buggy_line import BuggyLine
from app.kinds.code.function import Function
from app.kinds.code.schedule import Schedule
from app.kinds.design import Design
from app.kinds.expression import Expression
from app.kinds.lab import LabExercise
from app.kinds.match import Match
from app.kinds.numeric import Numeric
from app.kinds.order import Order
from app.kinds.sharding import Sharding

Exercise = (
    Numeric | Expression | Choice | Match | Order | BuggyLine | Function | Design | Sharding
    | Schedule | LabExercise
)  # fmt: skip
EXERCISE: TypeAdapter[Exercise] = TypeAdapter(
    Annotated[Exercise, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)

KINDS: Mapping[str, type[Base]] = {kind.name(): kind for kind in get_args(Exercise)}

__all__ = [
    "EXERCISE", "KINDS", "SEEDS", "Answer", "Base", "Exercise", "Finding", "PartVerdict", "Variant",
    "Verdict", "Where",
]  # fmt: skip
