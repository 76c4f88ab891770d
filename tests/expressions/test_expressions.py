import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.expressions import ExpressionError, Quantity, evaluate, fill, holds, latex, names_in, parse_expression
from app.core.units import BYTE, SECOND
from app.site.markdown import mathml
from tests.each import each

NAMES = {
    "n": Quantity(8.0),
    "size": Quantity(2e9, BYTE.dimension),
    "alpha": Quantity(5e-6, SECOND.dimension),
    "bandwidth": Quantity(50e9, evaluate("1 B/s", {}).dimension),
    "ranks": Quantity(8.0),
}


@each(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14), ("2 ^ 3 ^ 2", 512), ("-2 ^ 2", -4), ("2 (n - 1) / n", 1.75),
        ("ceil(9.6)", 10), ("log2(n)", 3), ("min(n, 3)", 3), ("max(0, 2 GB) / 1 GB", 2), ("1 GB / 1 MB", 1000), ("50 %", 0.5),
        ("1 GiB / 1 B", 2**30), ("2 size (n - 1) / n / bandwidth / 1 ms", 70),
        ("collectives.ring_all_reduce_time / 1 ms", 70),
        ("collectives.ring_all_reduce_time(1 GB, 4, 50 GB/s) / 1 ms", 30),
        ("collectives.ring_all_reduce_time(size, n, bandwidth, latency=alpha) / 1 ms", 70.07),
        ("(n >= 8) + (n > 8)", 1),
    ],
)  # fmt: skip
def test_an_expression_comes_to(text: str, value: float) -> None:
    assert evaluate(text, NAMES).value == pytest.approx(value, rel=1e-12)


@each(
    "text",
    ["", "2 +", "(1", "1)", "x", "size + alpha", "size + 1", "1 / 0", "9 ^ 9 ^ 9", "log2(size)", "f(1)",
     "collectives.ring_time(1)", "__import__('os')", "n.real", "1 if n else 2", "(" * 100 + ")" * 100,
     "1" * 3000, "2 ** size", "sqrt(-1)", "lambda: 1", "n = 3"],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


@given(st.text(max_size=80))
def test_any_text_has_a_finite_value_or_is_refused(text: str) -> None:
    try:
        value = evaluate(text, NAMES).value
    except ExpressionError:
        return
    assert math.isfinite(value)


def test_an_unknown_name_is_offered_the_nearest() -> None:
    with pytest.raises(ExpressionError, match="did you mean 'bandwidth'"):
        evaluate("bandwith", NAMES)


@each(("text", "truth"), [("n == 8", True), ("n < 8", False), ("1/3 * 3 == 1", True), ("size > 1 GB", True)])
def test_a_comparison_holds_or_not(text: str, truth: bool) -> None:
    assert holds(text, NAMES) is truth


@each(
    ("text", "filled"),
    [
        ("{n} ranks", "eight ranks"), ("{n - 1} steps", "7 steps"), ("{size / 2 | MB}", "1,000 MB"),
        ("{1 / 3 | % 2}", "33 %"), ("$N = {{n - 1}}$", "$N = 7$"), (r"$\frac{1}{2}$", r"$\frac{1}{2}$"),
        ("costs 5 $ or {n}", "costs 5 $ or eight"),
    ],
)  # fmt: skip
def test_slots_are_filled(text: str, filled: str) -> None:
    assert fill(text, NAMES, {"n": "eight"}) == filled


@each("text", ["{m}", "{size | ms}", "{n | parsec}", "{1 +}"])
def test_a_slot_that_cannot_be_filled_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        fill(text, NAMES, {})


@each(
    ("text", "written"),
    [("2 (n - 1) / n", r"\frac{2"), ("n ^ 2", "^{2}"), ("log2(n)", r"\log_2"), ("ceil(n)", r"\lceil")],
)
def test_expressions_are_written_as_mathematics(text: str, written: str) -> None:
    as_latex = latex(parse_expression(text, ["n"]))
    assert written in as_latex
    assert mathml(as_latex).startswith("<math")


@each(
    ("text", "symbols", "names"),
    [("2/s", {"s"}, {"s"}), ("2/s", set(), set()), ("3 /s-1", {"s"}, {"s"}), ("2 B/s", {"s"}, set())],
)
def test_a_number_over_a_symbol_is_no_number_per_second(text: str, symbols: set[str], names: set[str]) -> None:
    assert names_in(parse_expression(text, symbols)) == names
