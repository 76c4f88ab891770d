"""The points of a class: how it is graded, the answers behind them, and its groups."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import AwareDatetime, BaseModel, Field, StrictFloat, StrictInt, StrictStr

from app.classes.api import shapes
from app.classes.api.access import LINK, ClassCall, ClassCalls, Number, Paged, persons_called
from app.classes.api.assignments import ASSIGNMENT
from app.classes.people import gradebook
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import members_of
from app.classes.people.csv_grades import Format, PointsChange, class_grades_file, difference_in, store_difference
from app.classes.people.csv_text import decode_csv
from app.classes.people.erasure import results_of_class
from app.classes.people.exercise_statistics import statistics_of_class
from app.classes.people.members import class_groups, dissolve_group, rename_group
from app.core.errors import InputError, NotFoundError
from app.server.db.people import REASON_LIMIT
from app.server.db.tables import NAME_LIMIT
from app.site.api.documents import text_body, text_content

router = ClassCalls("grades")
_CSV = "text/csv", "number,id,name,Collectives,total,overall %\n7,4711,Ada Lovelace,1.5,1.5,75\n"
InGroup = Annotated[str | None, Query(max_length=4 * NAME_LIMIT, description="of this group alone; empty: of none")]
_RESULT = {
    "number": 1,
    "exercise": "collectives/ring-all-reduce-time",
    "seed": 7,
    "answer": "70 ms",
    "verdict": "correct",
    "score": 1.0,
    "hints": 0,
    "revealed": False,
    "seconds": 61.0,
    "mistake": None,
    "digest": "5f1d...",
    "at": "2027-05-01T10:00:00+00:00",
    "learner": "4711",
}


async def _body(request: Request) -> bytes:
    return await request.body()


@router.call("GET", "/grades", summary="Get grades", responses={200: LINK})
def get_grades(call: ClassCall, page: Paged, group: InGroup = None) -> shapes.GradesDocument:
    """Returns the points of each student in each assignment, by the number of the student."""
    found = gradebook.grades_of(
        call.session,
        call.site.secret,
        call.class_id,
        group,
        lambda students: page.cut(students, lambda one: one.person),
    )
    return shapes.GradesDocument.model_validate(found.described())


@router.call(
    "GET",
    "/grades.csv",
    summary="Get grades as CSV",
    response_class=PlainTextResponse,
    responses={200: {"content": text_content(*_CSV), "description": "CSV"}},
)
def get_grades_file(
    call: ClassCall,
    format: Annotated[Format, Query(description="whose columns")] = "ours",
    assignment: Annotated[
        int, Query(ge=0, lt=2**63, description="the points in each exercise of this one; 0: of all")
    ] = 0,
    group: InGroup = None,
) -> Response:
    """Returns the file that Wallclock's page, Canvas or Moodle imports."""
    found = gradebook.grades_of(call.session, call.site.secret, call.class_id, group)
    return Response(class_grades_file(found, format, assignment), media_type="text/csv")


@router.call(
    "PUT",
    "/grades.csv",
    summary="Give the points of a CSV file by hand",
    openapi_extra={"requestBody": text_body(*_CSV)},
)
def put_grades_file(
    call: ClassCall,
    content: Annotated[bytes, Depends(_body)],
    dry_run: Annotated[bool, Query(description="change nothing, and return the difference")] = False,
    why: Annotated[str, Query(max_length=4 * REASON_LIMIT, description="the reason, which students see")] = "",
) -> shapes.GradesDifference:
    """Takes what GET writes in its own format; only points that are not those of now are given."""
    found = difference_in(call.session, call.site.secret, call.class_id, decode_csv(content))
    if not dry_run:
        store_difference(call.session, found, call.by, why)
    return shapes.GradesDifference(
        applied=not dry_run,
        changes=[_changed(one) for one in found.changes],
        same=found.same,
        left_out=list(found.left_out),
    )


def _changed(one: PointsChange) -> shapes.PointsChangeDocument:
    return shapes.PointsChangeDocument(
        **one.member.named(),
        assignment=one.column.assignment.id,
        exercise=one.column.exercise or None,
        before=one.before,
        after=one.after,
    )


@router.call(
    "GET",
    "/results",
    summary="List answers",
    response_model=None,
    responses={
        200: {
            **LINK,
            "description": "answers and verdicts, oldest first",
            "content": {
                "application/json": {"schema": {"type": "array", "items": {"type": "object"}}, "example": [_RESULT]}
            },
        }
    },
)
def get_results(
    call: ClassCall,
    page: Paged,
    since: Annotated[
        AwareDatetime | None, Query(description="only those given at this time or later, such as 2026-11-29T00:00:00Z")
    ] = None,
) -> list[Mapping[str, Any]]:
    """Returns the answers of the students of a class, as `wallclock results` writes them."""
    more = page.limit + 1
    found = list(results_of_class(call.session, call.site.secret, call.class_id, page.after, more, since))
    return list(page.cut(found, lambda row: int(str(row["number"]))))


OVERRIDES = ASSIGNMENT + "/overrides"
Exercise = Annotated[str, Query(max_length=200, description="the exercise; without one, the whole assignment")]


class GradeRuleDocument(BaseModel):
    """Weights of assignments, and how many of the lowest are left out for each student."""

    model_config = shapes.example_config(lowest=1, weights={"1": 20, "2": 80})

    lowest: StrictInt = Field(
        default=0,
        ge=0,
        le=gradebook.MOST_LOWEST,
        description="assignments with the lowest share of the points; the best one always counts",
    )
    weights: dict[int, StrictFloat | None] = Field(
        default={},
        description=f"from 0 to {gradebook.MOST_WEIGHT:,.0f}, by the number of the assignment; null or "
        "none: it weighs as much as its points",
    )


class ExerciseStatisticsDocument(BaseModel):
    """How the students of a class did with an exercise; shares are from 0 to 1."""

    assignment: int
    title: str = Field(description="of the assignment")
    exercise: str
    students: int = Field(description="who have answered")
    first_try: float = Field(description="share of those whose first answer was right")
    answers: float = Field(description="mean number of answers")
    solved: float = Field(description="share of those who have a right answer")
    share: float | None = Field(description="mean share of the points; null: it has no points")
    discrimination: float | None = Field(
        description="correlation of the share of the points with the points in the other exercises "
        "of the assignment, from -1 to 1; null: fewer than 3 students, or they do not differ"
    )


@router.call("GET", OVERRIDES, summary="List points given by hand", responses={200: LINK})
def list_overrides(call: ClassCall, assignment: Number, page: Paged) -> list[shapes.OverrideDocument]:
    """Returns the points that were given by hand and hold, by the number of the person.

    All of a person are in one part of the list, however many they are.
    """
    found = _held(call, call.assignment(assignment).id)
    persons = set(page.cut(sorted({one.number for one in found}), lambda number: number))
    return [one for one in found if one.number in persons]


@router.call("POST", OVERRIDES, summary="Give points by hand")
def give_points(call: ClassCall, assignment: Number, body: shapes.NewOverride) -> list[shapes.OverrideDocument]:
    """Gives these people the same points, or excuses them, and returns what holds for them now."""
    found = call.assignment(assignment)
    persons = persons_called(call.session, call.class_id, body.people)
    if body.excused and body.points is not None:
        raise InputError("body.points: what is excused has no points; send null, or excused: false")
    given = [
        gradebook.Override(one, body.exercise or gradebook.WHOLE, body.points, body.excused) for one in sorted(persons)
    ]
    gradebook.override(call.session, found, given, call.by, body.why)
    return [one for one in _held(call, assignment) if one.number in persons]


@router.call("DELETE", OVERRIDES + "/{person}", status_code=204, summary="Take points back")
def take_points_back(
    call: ClassCall,
    assignment: Number,
    person: Number,
    exercise: Exercise = gradebook.WHOLE,
    why: Annotated[str, Query(max_length=4 * REASON_LIMIT)] = "taken back",
) -> None:
    """The points of the answers hold again for the person with that number."""
    found = call.assignment(assignment)
    if not any(
        (row.person, row.exercise) == (person, exercise) for row in gradebook.overrides_in_force(call.session, found.id)
    ):
        raise NotFoundError("this person was not given points by hand for that")
    gradebook.override(call.session, found, [gradebook.Override(person, exercise, None)], call.by, why)


@router.call("GET", "/grades/rule", summary="Get the rule of the overall grade")
def get_grade_rule(call: ClassCall) -> GradeRuleDocument:
    """Returns the weights that differ from the points, and how many assignments are left out."""
    rule = gradebook.grade_rule_of(call.row, assignments_of(call.session, call.class_id))
    return GradeRuleDocument(lowest=rule.lowest, weights=dict(rule.weights))


@router.call("PUT", "/grades/rule", summary="Change the rule of the overall grade")
def put_grade_rule(call: ClassCall, body: GradeRuleDocument) -> GradeRuleDocument:
    """Takes what GET returns; scores that are sent to learning platforms do not change."""
    gradebook.change_grade_rule(call.session, call.row, gradebook.GradeRule(body.lowest, body.weights))
    return get_grade_rule(call)


@router.call("GET", "/statistics", summary="Get the statistics of the exercises")
def get_statistics(call: ClassCall) -> list[ExerciseStatisticsDocument]:
    """Returns the figures of each exercise with an answer, by assignment."""
    found = statistics_of_class(call.session, call.site.secret, call.class_id)
    return [ExerciseStatisticsDocument(**asdict(one)) for one in found]


def _held(call: ClassCall, assignment: int) -> list[shapes.OverrideDocument]:
    members = {one.person: one for one in members_of(call.session, call.class_id)}
    return [
        shapes.OverrideDocument(
            **members[row.person].named(),
            exercise=row.exercise or None,
            points=row.points,
            excused=row.excused,
            by=row.by,
            why=row.why,
            at=row.at,
        )
        for row in gradebook.overrides_in_force(call.session, assignment)
        if row.person in members
    ]


_groups_router = ClassCalls("roster")
GroupName = Annotated[str, Query(alias="group", max_length=4 * NAME_LIMIT, description="its name", examples=["Mon"])]


class NewGroupName(BaseModel):
    """Another name for a group."""

    model_config = shapes.example_config(name="Monday, room 5")

    name: StrictStr = Field(max_length=4 * NAME_LIMIT)


class GroupDocument(BaseModel):
    """A group of a class, such as a section."""

    name: str
    students: int
    assignments: int = Field(description="with dates of its own for this group")


@_groups_router.call("GET", "/groups", summary="List groups")
def list_groups(call: ClassCall) -> list[GroupDocument]:
    """Returns the groups by name: those that a member is in, or that have dates of their own."""
    return [GroupDocument(**asdict(one)) for one in class_groups(call.session, call.class_id)]


@_groups_router.call("PUT", "/groups", summary="Rename a group")
def put_group_name(call: ClassCall, body: NewGroupName, group: GroupName = "") -> list[GroupDocument]:
    """Returns all groups; the members and the dates of the one are under its new name."""
    rename_group(call.session, call.class_id, group, body.name)
    return list_groups(call)


@_groups_router.call("DELETE", "/groups", status_code=204, summary="Dissolve a group")
def remove_group(call: ClassCall, group: GroupName = "") -> None:
    """Takes everyone out of it and deletes its dates: those of everyone hold again."""
    dissolve_group(call.session, call.class_id, group)


router.routes += _groups_router.routes
