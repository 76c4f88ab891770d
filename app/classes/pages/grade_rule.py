"""/classes/ID/grades/rule: the weights of assignments, and the lowest that are left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from starlette.datastructures import FormData

from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit
from app.classes.people.assignments import assignments_of
from app.classes.people.gradebook import GradeRule, change_grade_rule, grade_rule_of
from app.core.errors import InputError
from app.core.translation import noted, translate

router = ClassRouter("/classes/{class_id:int}/grades/rule", "Grades")
_LONGEST = 20  # of a number, as it is said again


class GradeRuleForm(ClassForm):
    """The rule of the overall grade as it was typed, by the names of the fields."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        return cls(texts={name: str(text).strip() for name, text in sent.items()})


@dataclass(frozen=True, slots=True)
class WeightField:
    """The weight of an assignment, as it is or as it was sent; empty: its *points*."""

    name: str
    title: str
    weight: str
    points: float


@dataclass(frozen=True, slots=True)
class GradeRulePage:
    """The rule of the overall grade."""

    lowest: str
    weights: tuple[WeightField, ...]


@router.page("", "grade_rule", noted("Overall grade in {name}"))
def grade_rule_page(visit: ClassVisit, sent: GradeRuleForm | None = None) -> GradeRulePage:
    """The form of the rule."""
    assignments = assignments_of(visit.session, visit.class_id)
    rule = grade_rule_of(visit.row, assignments)
    now = {_weight_field(number): f"{weight:.12g}" for number, weight in rule.weights.items()}
    texts = sent.texts if sent else {"lowest": str(rule.lowest), **now}
    names = [(_weight_field(one.id), one) for one in assignments]
    return GradeRulePage(
        lowest=texts.get("lowest", ""),
        weights=tuple(WeightField(name, one.title, texts.get(name, ""), one.points) for name, one in names),
    )


@router.form("", grade_rule_page)
def post_grade_rule(visit: ClassVisit, sent: GradeRuleForm) -> str:
    """Change the rule; an empty weight is that of the points."""
    weights: Mapping[int, float | None] = {
        one.id: _weight_typed(text, one.title)
        for one in assignments_of(visit.session, visit.class_id)
        if (text := sent.texts.get(_weight_field(one.id), ""))
    }
    what = translate("the number of assignments that are left out")
    lowest = _weight_typed(sent.texts.get("lowest", "") or "0", what)
    if lowest != int(lowest):
        raise InputError(translate("{what} must be a whole number", what=what))
    change_grade_rule(visit.session, visit.row, GradeRule(int(lowest), weights))
    return f"{visit.class_href}/grades"


def _weight_typed(text: str, what: str) -> float:
    plain = text.removesuffix("%").strip().replace(",", ".")
    if not plain.replace(".", "", 1).isdecimal() or len(plain) > _LONGEST:
        raise InputError(
            translate("{what}: cannot read {text!r} as a number such as 12.5", what=what, text=text[:_LONGEST])
        )
    return float(plain)


def _weight_field(number: int) -> str:
    return f"weight-{number}"
