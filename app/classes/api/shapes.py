"""What the interface to classes and assignments sends and takes."""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, StrictStr, create_model

from app.classes.people.assignment_copies import MOST_WEEKS
from app.classes.people.assignments import MOST_EXERCISES, MOST_GROUPS, MOST_POINTS
from app.classes.people.gradebook import COLUMNS
from app.classes.people.policy import DATES, MOST_FACTOR, RULE_TYPES, USUAL
from app.server.db.people import REASON_LIMIT
from app.server.db.tables import NAME_LIMIT
from app.site.grading.offline import PersonKey

RoleName = Literal["student", "assistant", "teacher"]
_FIRST, _LAST = 2000, 2200  # years
_RING = "collectives/ring-all-reduce-time"


def _in_range(moment: datetime) -> datetime:
    if not _FIRST <= moment.year <= _LAST:
        raise ValueError(f"a date from {_FIRST} to {_LAST} is expected")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_in_range)]


def example_config(**fields: Any) -> ConfigDict:
    """The configuration of a document that forbids other fields, with an example."""
    return ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [fields]})


class NewClass(BaseModel):
    """A class to make."""

    model_config = example_config(name="Distributed training, spring", zone="Europe/Berlin")

    name: StrictStr = Field(max_length=4 * NAME_LIMIT)
    zone: StrictStr = Field(default="UTC", max_length=NAME_LIMIT, description="IANA, of its dates")
    pseudonyms: bool = Field(default=False, description="students are asked for an invented name")
    teacher: StrictStr = Field(default="Teacher", max_length=4 * NAME_LIMIT)


class ClassDocument(BaseModel):
    """A class."""

    id: int
    name: str
    zone: str
    joining: str = Field(description="open, roster or closed")
    join: str = Field(
        description="where students join: at the configured address of the server, or else at the "
        "one that this request was sent to"
    )
    pseudonyms: bool
    archived: bool
    students: int


class MadeClass(ClassDocument):
    """A class that was just made."""

    code: str = Field(description="the seat code of its teacher, sent only once")


class NewPerson(BaseModel):
    """A person on a roster."""

    model_config = example_config(id="4711", name="Ada Lovelace", role="student")

    name: StrictStr = Field(max_length=4 * NAME_LIMIT)
    id: StrictStr = Field(default="", max_length=255, description="in other systems")
    role: RoleName | None = Field(
        default=None, description="without one, a new person is a student, others keep theirs"
    )
    number: int | None = Field(default=None, description="of a member, as GET says it")
    group: StrictStr | None = Field(
        default=None,
        max_length=4 * NAME_LIMIT,
        description="such as a section; empty: none; without one, others keep theirs",
    )
    time_factor: float | None = Field(
        default=None,
        strict=True,
        ge=1,
        le=MOST_FACTOR,
        description="times the usual time in every exam of the class; without one, others keep theirs",
    )


class PersonDocument(BaseModel):
    """A person in a class."""

    number: int
    id: str = Field(description="in other systems; may be empty")
    name: str
    role: RoleName
    group: str = Field(description="empty: in none")
    time_factor: float = Field(description="times the usual time in every exam of the class")


class PersonChange(BaseModel):
    """A person whom a roster changes."""

    before: PersonDocument
    after: NewPerson


class NewMerge(BaseModel):
    """Two students who are one person, by number or by the id in other systems."""

    model_config = example_config(kept="4711", gone="4712")

    kept: PersonKey = Field(description="stays, and gets everything of the other")
    gone: PersonKey = Field(description="leaves the class")


class MergeDocument(BaseModel):
    """A merge that can be undone."""

    id: int
    kept: int = Field(description="the number of the person who stays")
    gone: int
    by: str
    at: datetime
    waits: list[int] = Field(description="persons whose yes is missing until it is done, or undone")


class RosterDifference(BaseModel):
    """What a roster changes."""

    applied: bool = Field(description="false: this is a dry run, nothing was changed")
    added: list[NewPerson]
    known: list[NewPerson] = Field(description="persons of earlier classes of the same teachers, found by id")
    changed: list[PersonChange]
    missing: list[PersonDocument] = Field(description="students who are not on the roster")
    removed: bool = Field(description="whether those who are missing are removed")
    doubled: list[int] = Field(description="lines left out: an earlier one is the same person")
    same: int
    left_out: list[str] = Field(description="lines of a file that are left out, and why")
    unused: list[str] = Field(description="columns of a file that are not used")


People = Annotated[
    list[PersonKey],
    Field(min_length=1, max_length=10_000, description="the id of each in other systems, or the number"),
]


class OfPerson(BaseModel):
    """What is about a person in a class."""

    number: int = Field(description="of the person")
    id: str = Field(description="in other systems; may be empty")
    name: str


class NewExtension(BaseModel):
    """A later date for some students."""

    model_config = example_config(people=["4711"], until="2027-05-09T21:59:00Z", why="at a conference")

    people: People
    until: Moment
    why: StrictStr = Field(default="", max_length=500)


class ExtensionDocument(OfPerson):
    """A later date of a person."""

    until: datetime
    by: str
    why: str


class NewOverride(BaseModel):
    """Points given by hand, or taken back."""

    model_config = example_config(people=["4711"], exercise=_RING, points=2.0, why="right on paper")

    people: People
    exercise: StrictStr | None = Field(default=None, max_length=200, description="without one, the whole assignment")
    points: float | None = Field(
        default=None,
        strict=True,
        ge=0,
        le=MOST_POINTS,
        allow_inf_nan=False,
        description="null: the points of the answers hold again, unless it is excused",
    )
    excused: StrictBool = Field(default=False, description="left out of every sum; it has no points")
    why: StrictStr = Field(max_length=4 * REASON_LIMIT, description="students see it")


class OverrideDocument(OfPerson):
    """Points of a person that were given by hand."""

    exercise: str | None = Field(description="null: the whole assignment")
    points: float | None = Field(description="null: excused")
    excused: bool = Field(description="left out of every sum")
    by: str
    why: str
    at: datetime


class PointsChangeDocument(OfPerson):
    """Points in a file that are not those of now."""

    assignment: int
    exercise: str | None = Field(description="null: the whole assignment")
    before: float | None = Field(description="null: there is no answer")
    after: float | None = Field(description="null: excused")


class GradesDifference(BaseModel):
    """What a file of grades changes."""

    applied: bool = Field(description="false: this is a dry run, nothing was changed")
    changes: list[PointsChangeDocument]
    same: int
    left_out: list[str] = Field(description="lines and columns that are left out, and why")


class AssignmentSum(BaseModel):
    """An assignment in the head of the grades."""

    id: int
    title: str
    points: float
    weight: float | None = Field(description="in the overall grade; null: its points")


class PersonPoints(OfPerson):
    """The points of a student, by assignment; null: nothing was begun, or all is excused."""

    group: str = Field(description="empty: in none")
    points: dict[str, float | None]
    excused: list[int] = Field(description="assignments that are left out of every sum of this student")


_SUMS: dict[str, Any] = {
    one.name: (float | None if one.is_percent else float, Field(description=one.says or None)) for one in COLUMNS
}
PersonGrades = create_model("PersonGrades", __base__=PersonPoints, __doc__=PersonPoints.__doc__, **_SUMS)


class GradesDocument(BaseModel):
    """The points of a class."""

    assignments: list[AssignmentSum]
    lowest: int = Field(description="assignments of each student that are left out overall")
    people: list[PersonGrades]


_DUE = "2027-05-07T21:59:00Z"


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


class PersonVariants(OfPerson):
    """The drawing of each exercise that counts for a student."""

    exercises: list[str] = Field(description="which the student has: of pools, those drawn")
    seeds: dict[str, int] = Field(description="by exercise; empty if any drawing counts")
