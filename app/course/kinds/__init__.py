"""The kinds of exercise; the list of them is the union `Exercise`."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from app.course.kinds.base import SEEDS, Answer, Base, Finding, PartVerdict, Variant, Verdict, Where
from app.course.kinds.choice import Choice, LabExercise
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.code.function import Function
from app.course.kinds.code.schedule import Schedule
from app.course.kinds.design import Design
from app.course.kinds.expression import Expression
from app.course.kinds.numeric import Numeric
from app.course.kinds.order import Match, Order
from app.course.kinds.sharding import Sharding

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
