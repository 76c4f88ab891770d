"""When two results agree, and where two programs differ."""

import math

from app.course.kinds.code.agreement import (
    BoundarySearch,
    alike,
    as_float,
    combinations,
    differing,
    failing,
    first,
    program,
    results,
)
from tests.each import each


@each(
    ("value", "expected", "agree"),
    [
        (1.0, 1, True),
        (1, 1.0, True),
        (True, 1, False),
        (1, True, False),
        (True, 1.0, False),
        (1.0000009, 1.0, True),
        (1.0000011, 1.0, False),
        (1.0000001, 1, False),
        (9e-13, 0.0, True),
        (2e-12, 0.0, False),
        ([1, (2, 3.0)], ([1, [2, 3]]), True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ([1, 2], [1], False),
        (1, [1], False),
        ("a", "a", True),
        (None, "a", False),
        (10**400, 1.0, False),
    ],
)
def test_a_number_agrees_with_what_it_equals_and_a_float_with_what_is_close(
    value: object, expected: object, agree: bool
) -> None:
    assert alike(value, expected) is agree
    assert math.isnan(as_float(10**400))


def test_a_call_that_fails_differs_and_the_first_difference_is_told_once_something_ran() -> None:
    right, wrong = program("def f(a, b):\n    return a / b", "f"), program("def f(a, b):\n    return a // b", "f")
    calls = [(4, 2), (4, 0), (5, 2), (6, 3)]
    found, expected = list(results(wrong, calls)), list(results(right, calls[:1])) + [0.0, 2.5, 2.0]
    assert failing(found) == 1
    assert failing(found[:1]) == -1
    assert first(found, expected, alike) == [1, 1]
    assert first(found[1:2], expected[1:2], alike) == [0, 0]
    assert first(found[:1], expected[:1], alike) == [-1, 1]
    assert differing(found, expected, alike) == 0b0110


def test_a_program_that_changes_its_list_does_not_change_the_calls() -> None:
    calls = [([3, 1],)]
    popped = program("def f(values):\n    return values.pop()", "f")
    assert [*results(popped, calls), *results(popped, calls)] == [1, 1]


def test_places_are_those_of_all_rows_the_last_column_first() -> None:
    columns = ("ab", "xyz")
    assert combinations(columns, range(6)) == [(a, b) for a in "ab" for b in "xyz"]


@each("sign", ["<", "<=", ">", ">="])
def test_a_comparison_is_told_from_its_neighbor_at_the_boundary_alone(sign: str) -> None:
    search = BoundarySearch(f"def f(a, b):\n    return 1 if _compared(0, {sign!r}, a, b) else 2", "f", 1)
    assert [search.told((number, 4), 0, alike) for number in (3, 4, 5)] == [False, True, False]
    for number in (3, 4, 5):
        expected = eval(f"{number} {sign} 4")
        assert search._run((number, 4))[0] == (1 if expected else 2)


def test_a_division_is_told_from_its_neighbor_where_nothing_is_left() -> None:
    search = BoundarySearch("def f(a, b):\n    return _divided(0, a, b)", "f", 1)
    assert [search.told((number, 4), 0, alike) for number in (7, 8, 9)] == [False, True, False]
    assert search.untold([(7, 4)], alike) == [0]
    assert search.untold([(7, 4), (8, 4)], alike) == []
    ((place, rows),) = search.rows([(7, 4)], alike)
    assert place == 0
    assert rows
    assert all(isinstance(a, int) and isinstance(b, int) and a % b == 0 for a, b in rows)


@each(("number", "boundary", "found"), [(5, 0, []), (-5, 0, []), (5, 3, [3]), (-5, -3, [-3]), (0, 2, []), (1, 2, [2])])
def test_a_number_keeps_its_sign_on_the_way_to_a_boundary(number: int, boundary: int, found: list[int]) -> None:
    search = BoundarySearch(f"def f(a):\n    return _compared(0, '<', a, {boundary})", "f", 1)
    assert [row for _, rows in search.rows([(number,)], alike) for row in rows] == [[one] for one in found]


def test_a_list_in_order_stays_in_order_on_the_way_to_a_boundary() -> None:
    search = BoundarySearch("def f(a):\n    return _compared(0, '<', a[1], 3)", "f", 1)
    assert [rows for _, rows in search.rows([([2, 5],)], alike)] == [[[[2, 3]]]]
    assert search.rows([([4, 5],)], alike) == []
    assert [rows for _, rows in search.rows([([6, 5],)], alike)] == [[[[6, 3]]]]
