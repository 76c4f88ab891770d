"""The overall grade: by weight, without the lowest, and what cannot be a weight."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from sqlmodel import Session

from app.classes.people.assignments import Assignment, AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import class_with, create_class, number_of
from app.classes.people.gradebook import (
    GradeRule,
    change_grade_rule,
    grade_rule_in_words,
    grade_rule_of,
    overall_percent,
)
from app.classes.people.policy import Policy
from app.core.errors import InputError, NotFoundError

RING = "collectives/ring-all-reduce-time"


def weeks(*points: float, weights: Sequence[float | None] = ()) -> list[Assignment]:
    """An assignment for each of *points*, numbered from 1."""
    return [
        Assignment(
            id=number,
            class_id=1,
            title=f"Week {number}",
            policy=Policy(),
            entries=(AssignmentEntry(RING, most),),
            weight=weights[number - 1] if weights else None,
        )
        for number, most in enumerate(points, 1)
    ]


def a_class(session: Session, *points: float) -> int:
    class_id = number_of(create_class(session, "secret", "Systems"))
    for week, most in enumerate(points, 1):
        entries = [AssignmentEntry(RING, most)]
        create_assignment(session, class_id, f"Week {week}", Policy(), entries)
    return class_id


def test_without_a_rule_it_is_the_share_of_all_points() -> None:
    assert overall_percent(weeks(2, 6), {1: 2, 2: 3}, 0) == pytest.approx(100 * 5 / 8)


def test_what_is_not_begun_counts_as_nothing() -> None:
    assert overall_percent(weeks(2, 6), {1: 2}, 0) == pytest.approx(25)


def test_a_weight_counts_in_place_of_the_points() -> None:
    found = overall_percent(weeks(2, 6, weights=(30, 10)), {1: 1, 2: 6}, 0)
    assert found == pytest.approx((30 * 50 + 10 * 100) / 40)


def test_the_share_decides_what_is_lowest_not_the_points() -> None:
    # 3 of 4 is worse than 1 of 1
    assert overall_percent(weeks(1, 4), {1: 1, 2: 3}, 1) == pytest.approx(100)


def test_of_equal_shares_the_heaviest_is_left_out() -> None:
    points = {1: 0.0, 2: 0.0, 3: 5.0}
    found = overall_percent(weeks(5, 5, 5, weights=(60, 20, 20)), points, 1)
    assert found == pytest.approx(50)


def test_with_equal_weights_no_other_choice_of_assignments_is_better() -> None:
    points, assignments = {1: 1.0, 2: 3.5, 3: 0.5, 4: 4.0}, weeks(4, 4, 4, 4)
    best = max(sum(points[one] for one in kept) / 8 for kept in combinations(points, 2))
    assert overall_percent(assignments, points, 2) == pytest.approx(100 * best)


def test_the_best_one_always_counts() -> None:
    assert overall_percent(weeks(2, 2), {1: 1}, 7) == pytest.approx(50)


def test_what_has_no_points_or_no_weight_is_neither_counted_nor_left_out() -> None:
    assignments = weeks(0, 4, 4, 4, weights=(None, 0, None, None))
    assert overall_percent(assignments, {1: 0, 2: 0, 3: 4, 4: 2}, 1) == pytest.approx(100)
    assert overall_percent(weeks(0), {}, 1) is None
    assert overall_percent([], {}, 0) is None


def test_more_points_never_lower_it_with_equal_weights() -> None:
    assignments = weeks(4, 4, 4, weights=(1, 1, 1))
    for lowest in range(3):
        found = [overall_percent(assignments, {1: n, 2: 2, 3: 3}, lowest) for n in range(5)]
        assert found == sorted(found)  # type: ignore[type-var]


def test_a_rule_is_stored_whole(session: Session) -> None:
    class_id = a_class(session, 2, 3)
    row = class_with(session, class_id)
    first, second = (one.id for one in assignments_of(session, class_id))
    change_grade_rule(session, row, GradeRule(1, {first: 20.0}))
    change_grade_rule(session, row, GradeRule(2, {first: None, second: 7.5}))
    assert grade_rule_of(row, assignments_of(session, class_id)) == GradeRule(2, {second: 7.5})


@pytest.mark.parametrize("weight", [-1, 1001, math.inf, math.nan])
def test_a_weight_out_of_range_is_refused_by_name(session: Session, weight: float) -> None:
    class_id = a_class(session, 2)
    (one,) = assignments_of(session, class_id)
    with pytest.raises(InputError, match="Week 1: a weight is from 0 to 1,000"):
        change_grade_rule(session, class_with(session, class_id), GradeRule(0, {one.id: weight}))


def test_a_rule_may_reach_its_limits(session: Session) -> None:
    class_id = a_class(session, 2, 3)
    row = class_with(session, class_id)
    first, second = (one.id for one in assignments_of(session, class_id))
    for rule in (GradeRule(0, {first: 0.0, second: 1000.0}), GradeRule(100, {first: 1.0})):
        change_grade_rule(session, row, rule)
        session.expire_all()
        assert grade_rule_of(row, assignments_of(session, class_id)) == rule


@pytest.mark.parametrize("lowest", [-1, 101, 10**30])
def test_so_many_cannot_be_left_out(session: Session, lowest: int) -> None:
    with pytest.raises(InputError, match="from 0 to 100 assignments can be left out"):
        change_grade_rule(session, class_with(session, a_class(session, 2)), GradeRule(lowest, {}))


def test_an_assignment_of_another_class_has_no_weight_here(session: Session) -> None:
    other = assignments_of(session, a_class(session, 2))[0]
    row = class_with(session, a_class(session, 2))
    with pytest.raises(NotFoundError, match="no assignment"):
        change_grade_rule(session, row, GradeRule(0, {other.id: 3.0}))


def test_the_rule_in_words_names_weights_and_what_is_left_out() -> None:
    assert grade_rule_in_words(weeks(2, 3), 0) == ["Overall is the share of the points of all assignments."]
    one, other = weeks(2, 3)
    by_weight, left_out = grade_rule_in_words([replace(one, weight=20.0), other], 2)
    assert "Week 1 20, Week 2 3" in by_weight
    assert left_out.endswith(": 2.")
