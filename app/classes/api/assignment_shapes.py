"""What the interface to assignments sends and takes."""

from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, Field, StrictStr, create_model

from app.classes.api.shapes import Moment, example_config
from app.classes.people.assignment_copies import MOST_WEEKS
from app.classes.people.assignments import MOST_EXERCISES, MOST_GROUPS
from app.classes.people.policy import DATES, RULE_TYPES, USUAL
from app.server.db.tables import NAME_LIMIT

_DUE = "2027-05-07T21:59:00Z"
_RING = "collectives/ring-all-reduce-time"


class EntryDocument(BaseModel):
    """An exercise of an assignment."""

    model_config = example_config(exercise=_RING, points=2.0)

    exercise: StrictStr = Field(max_length=200)
    points: float = 1.0


class PoolDocument(BaseModel):
    """Exercises of which each student has some, the same at any time and in copies."""

    model_config = example_config(draw=1, of=[_RING, "collectives/steps-of-a-ring"], points=2.0)

    draw: int = Field(le=MOST_EXERCISES, description="how many a student has, from 1 to all of them")
    of: list[StrictStr] = Field(max_length=MOST_EXERCISES, description="the exercises")
    points: float = Field(default=1.0, description="of each that is drawn")


class GroupDatesDocument(BaseModel):
    """The dates of a group of the class; null: everyone's date holds."""

    model_config = example_config(group="Monday", due=_DUE)

    group: StrictStr = Field(max_length=4 * NAME_LIMIT)
    opens: Moment | None = None
    due: Moment | None = None
    closes: Moment | None = Field(default=None, description="null: as long after its due date as for everyone")


class AssignmentContent(BaseModel):
    """The exercises of an assignment."""

    model_config = example_config(title="Collectives", due=_DUE, late=0.1, exercises=[{"exercise": _RING, "points": 2}])

    title: StrictStr = Field(max_length=4 * NAME_LIMIT)
    exercises: list[EntryDocument] = Field(default=[], max_length=MOST_EXERCISES, description="which every student has")
    pools: list[PoolDocument] = Field(
        default=[], max_length=MOST_EXERCISES, description="of which each student has some"
    )


_RULES: dict[str, Any] = dict.fromkeys(DATES, (Moment | None, None)) | {
    name: (kind, getattr(USUAL, name)) for name, kind in RULE_TYPES.items()
}
AssignmentRules: type[AssignmentContent] = create_model("AssignmentRules", __base__=AssignmentContent, **_RULES)


class NewAssignment(AssignmentRules):
    """An assignment to make or to change; times have an offset."""

    groups: list[GroupDatesDocument] = Field(
        default=[], max_length=MOST_GROUPS, description="groups with dates of their own"
    )
    id: int | None = Field(default=None, description="as GET says it; a new one gets its own")
    points: float | None = Field(default=None, description="of all exercises, as GET says it")


class AssignmentDocument(NewAssignment):
    """An assignment."""

    id: int
    points: float = Field(description="of all exercises")


class NewCopies(BaseModel):
    """Assignments to copy from another class, with their dates moved."""

    model_config = example_config(source=1, start="2027-04-12")

    source: int = Field(ge=1, le=2**63 - 1, description="the class that has them")
    assignments: list[int] = Field(
        default=[], max_length=1_000, description="their numbers; without any, all of the class"
    )
    weeks: int = Field(default=0, ge=-MOST_WEEKS, le=MOST_WEEKS, description="by which all dates are moved")
    start: date | None = Field(
        default=None, description="instead of weeks: the first date comes into the week of this day"
    )


class CopyDocument(BaseModel):
    """A copy of an assignment."""

    source: int = Field(description="the assignment that it is a copy of")
    id: int | None = Field(description="null in a dry run")
    title: str
    opens: datetime | None
    due: datetime | None
    closes: datetime | None
    left_out: list[str] = Field(description="exercises that the course does not have anymore")
    notes: list[str] = Field(description="what was decided where clocks are changed")


class CopiedAssignments(BaseModel):
    """Copies of assignments."""

    applied: bool = Field(description="false: this is a dry run, nothing was changed")
    weeks: int = Field(description="by which their dates are moved")
    copies: list[CopyDocument]


class PersonVariants(BaseModel):
    """The drawing of each exercise that counts for a student."""

    number: int
    id: str
    name: str
    exercises: list[str] = Field(description="which the student has: of pools, those drawn")
    seeds: dict[str, int] = Field(description="by exercise; empty if any drawing counts")
