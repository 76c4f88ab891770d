"""How a class is graded: points given by hand, the rule of the overall grade, figures of the exercises."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field, StrictFloat, StrictInt

from app.classes.api.access import LINK, ClassCall, ClassCalls, Number, Paged, persons_called
from app.classes.api.assignments import ASSIGNMENT
from app.classes.api.shapes import NewOverride, OverrideDocument, example_config
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import members_of
from app.classes.people.exercise_statistics import statistics_of_class
from app.classes.people.gradebook import MOST_LOWEST, MOST_WEIGHT, WHOLE, GradeRule, change_grade_rule, grade_rule_of
from app.classes.people.overrides import Override, held, override
from app.core.errors import NotFoundError
from app.server.db.people import REASON_LIMIT

OVERRIDES = ASSIGNMENT + "/overrides"
router = ClassCalls("grades")
Exercise = Annotated[str, Query(max_length=200, description="the exercise; without one, the whole assignment")]


class GradeRuleDocument(BaseModel):
    """Weights of assignments, and how many of the lowest are left out for each student."""

    model_config = example_config(lowest=1, weights={"1": 20, "2": 80})

    lowest: StrictInt = Field(
        default=0,
        ge=0,
        le=MOST_LOWEST,
        description="assignments with the lowest share of the points; the best one always counts",
    )
    weights: dict[int, StrictFloat | None] = Field(
        default={},
        description=f"from 0 to {MOST_WEIGHT:,.0f}, by the number of the assignment; null or "
        "none: it weighs as much as its points",
    )


class ExerciseStatisticsDocument(BaseModel):
    """How the students of a class did with an exercise; shares are from 0 to 1."""

    assignment: int
    title: str = Field(description="of the assignment")
    exercise: str
    values: str = Field(description="of the drawings with these values alone; empty: of all")
    students: int = Field(description="who have answered")
    first_try: float = Field(description="share of those whose first answer was right")
    answers: float = Field(description="mean number of answers")
    solved: float = Field(description="share of those who have a right answer")
    share: float | None = Field(description="mean share of the points; null: of a drawing")
    discrimination: float | None = Field(
        description="correlation of the share of the points with the points in the other exercises "
        "of the assignment, from -1 to 1; null: fewer than 3 students, or they do not differ"
    )


@router.call("GET", OVERRIDES, summary="List points given by hand", responses={200: LINK})
def list_overrides(call: ClassCall, assignment: Number, page: Paged) -> list[OverrideDocument]:
    """Returns the points that were given by hand and hold, by the number of the person.

    All of a person are in one part of the list, however many they are.
    """
    found = _held(call, call.assignment(assignment).id)
    persons = set(page.cut(sorted({one.number for one in found}), lambda number: number))
    return [one for one in found if one.number in persons]


@router.call("POST", OVERRIDES, summary="Give points by hand")
def give_points(call: ClassCall, assignment: Number, body: NewOverride) -> list[OverrideDocument]:
    """Gives these people the same points, and returns what holds for them now."""
    found = call.assignment(assignment)
    persons = persons_called(call.session, call.class_id, body.people)
    given = [Override(one, body.exercise or WHOLE, body.points) for one in sorted(persons)]
    override(call.session, found, given, call.by, body.why)
    return [one for one in _held(call, assignment) if one.number in persons]


@router.call("DELETE", OVERRIDES + "/{person}", status_code=204, summary="Take points back")
def take_points_back(
    call: ClassCall,
    assignment: Number,
    person: Number,
    exercise: Exercise = WHOLE,
    why: Annotated[str, Query(max_length=4 * REASON_LIMIT)] = "taken back",
) -> None:
    """The points of the answers hold again for the person with that number."""
    found = call.assignment(assignment)
    if not any((row.person, row.exercise) == (person, exercise) for row in held(call.session, found.id)):
        raise NotFoundError("this person was not given points by hand for that")
    override(call.session, found, [Override(person, exercise, None)], call.by, why)


@router.call("GET", "/grades/rule", summary="Get the rule of the overall grade")
def get_grade_rule(call: ClassCall) -> GradeRuleDocument:
    """Returns the weights that differ from the points, and how many assignments are left out."""
    rule = grade_rule_of(call.row, assignments_of(call.session, call.class_id))
    return GradeRuleDocument(lowest=rule.lowest, weights=dict(rule.weights))


@router.call("PUT", "/grades/rule", summary="Change the rule of the overall grade")
def put_grade_rule(call: ClassCall, body: GradeRuleDocument) -> GradeRuleDocument:
    """Takes what GET returns; scores that are sent to learning platforms do not change."""
    change_grade_rule(call.session, call.row, GradeRule(body.lowest, body.weights))
    return get_grade_rule(call)


@router.call("GET", "/statistics", summary="Get the statistics of the exercises")
def get_statistics(
    call: ClassCall, drawings: Annotated[bool, Query(description="also by the values of the drawings")] = False
) -> list[ExerciseStatisticsDocument]:
    """Returns the figures of each exercise with an answer, by assignment."""
    site = call.site
    found = statistics_of_class(call.session, site.secret, site.catalog, call.class_id, drawings=drawings)
    return [ExerciseStatisticsDocument(**asdict(one)) for one in found]


def _held(call: ClassCall, assignment: int) -> list[OverrideDocument]:
    members = {one.person: one for one in members_of(call.session, call.class_id)}
    return [
        OverrideDocument(
            number=row.person,
            id=members[row.person].outside_id,
            name=members[row.person].name,
            exercise=row.exercise or None,
            points=row.points or 0.0,
            by=row.by,
            why=row.why,
            at=row.at,
        )
        for row in held(call.session, assignment)
        if row.person in members
    ]
