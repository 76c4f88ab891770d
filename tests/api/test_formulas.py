"""Formulas as a list describes them, and their values."""

import asyncio

import pytest

from app.core.errors import InputError, NotFoundError
from app.core.formulas import FORMULAS, Single
from app.site.api.formulas import list_formulas, result_of
from tests.each import each


def test_a_formula_is_described_by_its_arguments() -> None:
    listed = asyncio.run(list_formulas())
    for summary, formula in zip(listed, FORMULAS.values(), strict=True):
        assert (summary.name, summary.says, summary.unit) == (formula.name, formula.says, formula.result.symbol)
        for told, (name, argument) in zip(summary.arguments, formula.inputs.items(), strict=True):
            assert (told.name, told.many, told.required) == (name, argument.many, argument.required)
            assert told.unit == (argument.unit.symbol if argument.unit else None)
            assert [one.lower() for one in told.choices] == told.choices
            assert told.default == (argument.default if isinstance(argument.default, Single) else None)
    ring = next(one for one in listed if one.name == "collectives.ring_all_reduce_time")
    assert [(one.name, one.unit, one.required, one.default) for one in ring.arguments] == [
        ("size", "B", True, None), ("ranks", "", True, None), ("bandwidth", "B/s", True, None), ("latency", "s", False, 0.0),
    ]  # fmt: skip


def test_a_value_is_in_the_base_unit_and_as_text() -> None:
    found = result_of("collectives.ring_all_reduce_time", {"size": "2 GB", "ranks": 8, "bandwidth": "50 GB/s"})
    assert found.value == pytest.approx(0.07)
    assert (found.unit, found.text) == ("s", "70 ms")


@each(
    ("name", "arguments", "error", "says"),
    [
        ("collectives.ring", {}, NotFoundError, "collectives.ring"),
        ("collectives.ring_all_reduce_time", {"size": 1}, InputError, "ranks"),
        ("collectives.ring_all_reduce_time", {"size": 1, "ranks": 0, "bandwidth": 1}, InputError, "ranks"),
        ("collectives.ring_all_reduce_time", {"size": 1, "ranks": 2, "bandwidth": 1, "x": 1}, InputError, "x"),
    ],
)
def test_what_cannot_be_worked_out_is_told(
    name: str, arguments: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        result_of(name, arguments)
