"""The overall grade of a class: its assignments by weight, without the lowest of each student."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment
from app.core.errors import InputError, NotFoundError
from app.core.translation import translate
from app.server.db.people import AssignmentRow, ClassRow

MOST_WEIGHT = 1_000.0
MOST_LOWEST = 100


@dataclass(frozen=True, slots=True)
class GradeRule:
    """How a class adds up; *lowest*: how many assignments are left out for each student.

    *weights* are by the number of the assignment; one without weighs as much as its points.
    """

    lowest: int
    weights: Mapping[int, float | None]


def grade_rule_of(row: ClassRow, assignments: Sequence[Assignment]) -> GradeRule:
    """The rule of a class that has these *assignments*."""
    own = {one.id: one.weight for one in assignments if one.weight is not None}
    return GradeRule(row.lowest, own)


def overall_percent(assignments: Sequence[Assignment], points: Mapping[int, float], lowest: int) -> float | None:
    """The weighted mean of the shares of the points of a student, in percent.

    The *lowest* shares are left out, of equal ones the heaviest; the best one always counts. None
    if no assignment has points and a weight.

        percent = 100 * sum(weight * points / possible) / sum(weight)
    """
    shares = [
        (points.get(one.id, 0.0) / one.points, one.weighs) for one in assignments if one.points > 0 and one.weighs > 0
    ]
    shares.sort(key=lambda entry: (entry[0], -entry[1]))
    kept = shares[min(lowest, len(shares) - 1) :] if shares else []
    whole = sum(weight for _, weight in kept)
    return 100 * sum(share * weight for share, weight in kept) / whole if kept else None


def change_grade_rule(session: Session, row: ClassRow, rule: GradeRule) -> None:
    """Let a class add up by *rule*; not committed.

    Raises:
        InputError: a number is out of range.
        NotFoundError: an assignment is not in the class.
    """
    if not 0 <= rule.lowest <= MOST_LOWEST:
        raise InputError(
            translate("from 0 to {most} assignments can be left out, not {count}", most=MOST_LOWEST, count=rule.lowest)
        )
    assignments = session.exec(
        select(AssignmentRow).where(AssignmentRow.class_id == row.id).order_by(col(AssignmentRow.id)).with_for_update()
    ).all()
    if unknown := rule.weights.keys() - {one.id for one in assignments}:
        raise NotFoundError(translate("this class has no assignment {number}", number=min(unknown)))
    row.lowest = rule.lowest
    session.add(row)
    for one in assignments:
        one.weight = _weight(one.title, rule.weights.get(one.id or 0))
        session.add(one)
    session.flush()


def grade_rule_in_words(assignments: Sequence[Assignment], lowest: int) -> Sequence[str]:
    """The rule of a class, a sentence for each part of it."""
    if any(one.weight is not None for one in assignments):
        weights = ", ".join(f"{one.title} {one.weighs:g}" for one in assignments)
        first = translate("Overall is the mean of the shares of the points, by weight: {weights}.", weights=weights)
    else:
        first = translate("Overall is the share of the points of all assignments.")
    if not lowest:
        return [first]
    return [
        first,
        translate("The assignments with the lowest share are left out for each student: {count}.", count=lowest),
    ]


def _weight(title: str, weight: float | None) -> float | None:
    if weight is not None and not 0 <= weight <= MOST_WEIGHT:
        raise InputError(
            translate(
                "{title}: a weight is from 0 to {most:,.0f}, not {weight:g}",
                title=title,
                most=MOST_WEIGHT,
                weight=weight,
            )
        )
    return weight
