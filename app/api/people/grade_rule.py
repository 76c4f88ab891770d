"""How the assignments of a class add up to the overall grade."""

from pydantic import BaseModel, Field, StrictFloat, StrictInt

from app.api.people.access import ERRORS, ONE_CLASS, Number, Scoped, class_for, class_to_change
from app.api.people.shapes import example_config
from app.db.session import open_session, open_writing_session
from app.network.routes import Router
from app.people.assignments import assignments_of
from app.people.gradebook import MOST_LOWEST, MOST_WEIGHT, GradeRule, change_grade_rule, grade_rule_of
from app.site import Here

RULE = ONE_CLASS + "/grades/rule"
router = Router(tags=["grades"], responses=ERRORS)


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


@router.get(RULE, summary="Get the rule of the overall grade")
def get_grade_rule(site: Here, grant: Scoped, class_id: Number) -> GradeRuleDocument:
    """Returns the weights that differ from the points, and how many assignments are left out."""
    with open_session(site.engine) as session:
        row = class_for(session, grant, class_id)
        return _document(grade_rule_of(row, assignments_of(session, class_id)))


@router.put(RULE, summary="Change the rule of the overall grade")
def put_grade_rule(site: Here, grant: Scoped, class_id: Number, body: GradeRuleDocument) -> GradeRuleDocument:
    """Takes what GET returns; scores that are sent to learning platforms do not change."""
    with open_writing_session(site.engine) as session:
        row = class_to_change(session, grant, class_id)
        change_grade_rule(session, row, GradeRule(body.lowest, body.weights))
        session.commit()
        return _document(grade_rule_of(row, assignments_of(session, class_id)))


def _document(rule: GradeRule) -> GradeRuleDocument:
    return GradeRuleDocument(lowest=rule.lowest, weights=dict(rule.weights))
