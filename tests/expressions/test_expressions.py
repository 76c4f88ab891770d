import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.expressions import ExpressionError, Quantity, evaluate, fill, holds, latex, names_in, parse_expression
from app.core.expressions.evaluation import same_kind, unrounded, values_of_terms
from app.core.expressions.template import blank_slots, conditions, fill_known, slots, words_after_slots
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
        ("ceil(1/3 * 3)", 1), ("ceil(3.000001)", 4), ("floor(0.1 * 30)", 3), ("floor(2.999999)", 2),
        ("round(2.5)", 3), ("round(2.4999)", 2), ("log(n, 2)", 3), ("log10(1000)", 3), ("exp2(3)", 8), ("exp(0)", 1),
        ("abs(3 - n)", 5), ("abs(0 - size) / size", 1), ("min(size, 0)", 0), ("max(n, 9, 3)", 9),
        ("sqrt(size size) / size", 1), ("√16", 4), ("(size + 0) / size", 1), ("(0 - size) / size", -1),
        ("3 x 4", 12), ("1_000", 1000), ("7 ÷ 2", 3.5), ("0 size == 0 alpha", 1),
        ("pipeline.layers_per_stage(32, 3).first", 11), ("pipeline.layers_per_stage(32, 3).last", 10),
        ("pipeline.layers_per_stage(32, 3).largest", 11), ("pipeline.layers_per_stage(32, 3).smallest", 10),
        ("pipeline.layers_per_stage(32, 3).length", 3),
    ],
)  # fmt: skip
def test_an_expression_comes_to(text: str, value: float) -> None:
    assert evaluate(text, NAMES).value == pytest.approx(value, rel=1e-12)


@each(
    "text",
    ["", "2 +", "(1", "1)", "x", "size + alpha", "size + 1", "1 / 0", "9 ^ 9 ^ 9", "log2(size)", "f(1)",
     "collectives.ring_time(1)", "__import__('os')", "n.real", "1 if n else 2", "(" * 100 + ")" * 100,
     "1" * 3000, "2 ** size", "sqrt(-1)", "lambda: 1", "n = 3",
     "log(n)", "log(n, 2, 3)", "ln(0)", "sqrt(4, 2)", "ceil(1, 2)", "ceil(size)", "min()", "min(x=1)", "min(size, alpha)",
     "size - alpha", "size < alpha", "pipeline.layers_per_stage(32, 3)", "pipeline.layers_per_stage(32, 3).middle",
     "collectives.ring_all_reduce_time(1 GB, 4, 50 GB/s).first", "'word' + 1"],
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


@each(
    ("text", "says"),
    [
        ("2 ^ alpha", "5 µs cannot be an exponent"),
        ("(0 - 8) ^ (1 / 3)", "-8 to the 0.3333 is not a real number"),
        ("collectives.ring_all_reduce_time(1 GB, 4, 50 GB/s, 0 s, 3)", "takes only size, ranks, bandwidth, latency"),
        ("collectives.ring_all_reduce_time(1 GB, 4, 50 GB/s, size=1 GB)", "is given size twice"),
        ("collectives.ring_all_reduce_time(1 s, 4, 50 GB/s)", "takes B as size, not 1 s"),
        ("minn(1)", "no function is called 'minn'; did you mean 'min'?"),
        ("(1 B) ^ 101", "the exponent 101 is too large for a unit"),
        ("1,5 + n", "1,5 has a comma: write 1.5"),
        ("1,500 + n", "1,500 has a comma: write 1500, or 1.500 with a decimal point"),
        ("+".join(["1"] * 151), "more than 150 numbers and names are too many"),
        ("(" * 40 + "1" + ")" * 40, "the parentheses are nested too deeply"),
        ("-" * 41 + "1", "the signs are nested too deeply"),
        ("1" + " " * 2000, "an expression of 2001 characters is too long"),
        (" ", "an expression is missing"),
        ("(1 + 2", "')' is missing before the end"),
        ("2 * )", "a number or a name is missing before ')'"),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        evaluate(text, NAMES)
    assert says in str(refused.value)


@each(
    ("text", "value"),
    [
        ("(1 B) ^ 100 / (1 B) ^ 99 / 1 B", 1),
        ("+".join(["1"] * 150), 150),
        ("(" * 39 + "1" + ")" * 39, 1),
        ("-" * 39 + "1", -1),
        ("1" + " " * 1999, 1),
    ],
)
def test_what_is_just_allowed_has_a_value(text: str, value: float) -> None:
    assert evaluate(text, NAMES).value == value


@each(
    ("operator", "truths"),  # of 7, 8, nearly 8, and 9 beside 8
    [("<", "tfff"), ("<=", "tttf"), (">", "ffft"), (">=", "fttt"), ("==", "fttf"), ("!=", "tfft")],
)
def test_a_comparison_takes_numbers_that_differ_by_rounding_for_equal(operator: str, truths: str) -> None:
    found = [holds(f"{left} {operator} n", NAMES) for left in ("7", "8", "8.000000000001", "9")]
    assert found == [letter == "t" for letter in truths]


@each("text", ["n + 1", "n", "min(n, 3)"])
def test_what_compares_nothing_neither_holds_nor_fails(text: str) -> None:
    with pytest.raises(ExpressionError, match="is not a comparison"):
        holds(text, NAMES)


@each(("text", "value"), [("ceil(floor(n / 3))", 8 / 3), ("round(n / 3)", 8 / 3), ("n / 3", 8 / 3), ("abs(0 - n)", 8)])
def test_what_is_rounded_has_a_value_before_it(text: str, value: float) -> None:
    assert unrounded(text, NAMES) == pytest.approx(value)


@each(
    ("text", "values"),
    [
        ("n + 2 - 3", [7, 10, 8, 2, 3, 10, 5, -1]),  # parts, then without 3, without n, without 2
        ("0 - (n + 2) * 3", [-30, 0, 30, 10, 8, 2, 3, 0, -24, -6]),
        ("collectives.ring_all_reduce_time(size, n, bandwidth, alpha)", [0.07007, 2e9, 8, 50e9, 5e-6, 0.07]),
        ("collectives.ring_all_reduce_time(size, n, bandwidth, latency=alpha)", [0.07007, 2e9, 8, 50e9, 5e-6, 0.07]),
        ("collectives.ring_all_reduce_time(size, n, bandwidth)", [0.07, 2e9, 8, 50e9]),
        ("n +", []),
    ],
)
def test_the_values_of_parts_and_of_what_is_left_without_a_term(text: str, values: list[float]) -> None:
    assert [one.value for one in values_of_terms(text, NAMES)] == pytest.approx(values)


def test_flop_is_a_plain_number_only_where_kinds_are_compared() -> None:
    flop = evaluate("1 FLOP", {}).dimension
    assert same_kind(flop, evaluate("1", {}).dimension)
    assert not same_kind(BYTE.dimension, SECOND.dimension)
    with pytest.raises(ExpressionError, match="different kinds"):
        evaluate("8 FLOP + 1", {})


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


SYMBOLS = ["n", "a", "b", "ranks", "alpha", "size", "layer_time", "t_step"]
WRITTEN = {
    "a + b * n": r"a + b\,n",
    "(a + b) * n": r"\left(a + b\right)\,n",
    "a - (b - n)": r"a - \left(b - n\right)",
    "a - b - n": "a - b - n",
    "-(a + b)": r"-\left(a + b\right)",
    "a ^ (b + 1)": "a^{b + 1}",
    "(a + b) ^ 2": r"\left(a + b\right)^{2}",
    "(a * b) ^ 2": r"\left(a\,b\right)^{2}",
    "exp(a) ^ 2": r"\left(\exp \left(a\right)\right)^{2}",
    "a * 2": r"a \cdot 2",
    "a ranks": r"a\,\text{ranks}",
    "ranks size": r"\text{ranks} \cdot \text{size}",
    "size ^ 2 ranks": r"\text{size}^{2} \cdot \text{ranks}",
    "ranks * 2 ^ n": r"\text{ranks} \cdot 2^{n}",
    "a ^ 2 b": r"a^{2}\,b",
    "a / b * n": r"\frac{a}{b}\,n",
    "a <= b": r"a \le b",
    "a != b": r"a \ne b",
    "a == 5 %": r"a = 5\,\text{\%}",
    "1.5e9": r"1.5 \cdot 10^{9}",
    "2 GB * 3": r"2\,\text{GB} \cdot 3",
    "sqrt(a + b)": r"\sqrt{a + b}",
    "abs(a)": r"\left| a \right|",
    "floor(a)": r"\left\lfloor a \right\rfloor",
    "exp2(a)": "2^{a}",
    "log(a, 2)": r"\log_{2} \left(a\right)",
    "log10(a)": r"\log_{10} \left(a\right)",
    "min(a, b)": r"\min \left(a, b\right)",
    "alpha": r"\alpha",
    "layer_time": r"\text{layer time}",
    "t_step": r"t_{\text{step}}",
    "collectives.ring_all_reduce_time(size, n, latency=alpha)": r"\text{ring all reduce time} \left(\text{size}, n, \text{latency} = \alpha\right)",
    "pipeline.layers_per_stage(32, 3).first": r"\text{layers per stage}_{\text{first}} \left(32, 3\right)",
}


@each("text", WRITTEN)
def test_mathematics_has_parentheses_and_dots_where_it_needs_them(text: str) -> None:
    assert latex(parse_expression(text, SYMBOLS)) == WRITTEN[text]


@each(
    ("text", "filled"),
    [
        ("{n} steps", "8 steps"), ("{n - 7} steps", "1 step"), ("{n - 7} key-value heads", "1 key-value head"),
        ("{n - 7}-steps", "1-step"), ("{size | MB 2}", "2,000 MB"), ("{1/3 | % 15}", "33.3333333333333 %"),
        ("{1/3 | % 16}", "–"), ("{m} of {n}", "– of 8"), ("{alpha}", "5 µs"), ("$$y = {{size}}$$", r"$$y = 2\,\text{GB}$$"),
        ("${{1e9 * n}}$", "$8{,}000{,}000{,}000$"), ("${{n / 3 | %}}$", r"$266.7\,\text{\%}$"), ("a {n} $x$", "a 8 $x$"),
    ],
)  # fmt: skip
def test_what_is_filled_in_is_counted_rounded_and_written_for_its_place(text: str, filled: str) -> None:
    assert fill_known(text, NAMES) == filled


def test_a_text_knows_its_slots_its_conditions_and_the_words_after_them() -> None:
    text = "{n - 1} and $x = {{m | GB}}$ {when a > b}yes{or when b > a }no{otherwise}both{end}"
    assert slots(text) == ["a > b", "b > a", "n - 1", "m"]
    assert conditions(text) == ["a > b", "b > a"]
    assert words_after_slots("{n} steps and {ranks} **GPUs** {a} x") == [("n", "steps"), ("ranks", "GPUs")]
    prose = blank_slots("`{n}` has {n} steps, $x$ too\n```\n{code}\n```\nend")
    assert prose.split() == ["has", "◊", "steps,", "too", "end"]
