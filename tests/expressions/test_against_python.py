"""Arithmetic in an answer means what it means to Python, whatever signs and spaces it is typed with."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.errors import AnswerError
from app.core.units import scale_of
from app.course.kinds.answer_key import AskedQuantity

TYPED = {"*": ("*", "×", "·", " * ", " x "), "/": ("/", "÷", " / "), "-": ("-", "−", " - "), "+": ("+", " + ")}
BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
NEGATIVE = 3
UNITS = ("ms", "s", "GB", "MiB", "GB/s", "TFLOP/s", "days", "tokens")


@dataclass(frozen=True)
class Sum:
    """Arithmetic as a learner types it and as Python writes it; *binds*: how its sign binds."""

    typed: str
    python: str
    binds: int = 9

    def inside(self, least: int) -> "Sum":
        """In parentheses, if its sign binds less than *least*."""
        if self.binds >= least:
            return self
        return Sum(f"({self.typed})", f"({self.python})")


numbers = st.one_of(
    st.integers(0, 9999).map(str),
    st.decimals(0, 999, places=2).map(str),
    st.sampled_from(["1e3", "2.5e-4", "1_000", ".5"]),
).map(lambda text: Sum(text, text))


@st.composite
def combined(draw: st.DrawFn, parts: st.SearchStrategy[Sum]) -> Sum:
    left, right = draw(parts), draw(parts)
    sign = draw(st.sampled_from(["+", "-", "*", "/"]))
    binds = BINDS[sign]
    one, other = left.inside(binds), right.inside(binds + 1)
    typed = draw(st.sampled_from(TYPED[sign]))
    return Sum(f"{one.typed}{typed}{other.typed}", f"{one.python}{sign}{other.python}", binds)


@st.composite
def powers(draw: st.DrawFn, parts: st.SearchStrategy[Sum]) -> Sum:
    base, exponent = draw(parts).inside(BINDS["**"] + 1), draw(st.integers(0, 3))
    typed = draw(st.sampled_from([f"^{exponent}", f"**{exponent}", "⁰¹²³"[exponent]]))
    return Sum(f"{base.typed}{typed}", f"{base.python}**{exponent}", BINDS["**"])


def negatives(parts: st.SearchStrategy[Sum]) -> st.SearchStrategy[Sum]:
    inner = parts.map(lambda one: one.inside(NEGATIVE))
    return inner.map(lambda one: Sum(f"(-{one.typed})", f"(-{one.python})"))


sums = st.recursive(
    numbers, lambda parts: st.one_of(combined(parts), combined(parts), powers(parts), negatives(parts)), max_leaves=8
)


def by_python(one: Sum) -> float | None:
    """What Python works out; None where it has no value."""
    try:
        value = float(eval(one.python))  # made above, of figures and signs
    except (ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def by_us(text: str, unit: str) -> float | None:
    """What is read; None where it is refused."""
    try:
        return AskedQuantity(answer="1", unit=unit).read(text).value
    except AnswerError:
        return None


@given(sums)
def test_a_sum_is_what_python_makes_of_it(one: Sum) -> None:
    expected = by_python(one)
    found = by_us(one.typed, "")
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-300), one.typed


@given(sums, st.sampled_from(UNITS), st.sampled_from(["{} {}", "({}) {}", "= {} {}"]))
def test_a_unit_at_the_end_is_that_of_the_result(one: Sum, unit: str, form: str) -> None:
    expected = by_python(one)
    assume(expected is not None and abs(expected) < 1e200)
    # A unit behind a power or a number alone is that of the number, which is the same.
    found = by_us(form.format(one.typed, unit), unit)
    assert found == pytest.approx((expected or 0.0) * scale_of(unit).factor, rel=1e-12, abs=1e-300)


amounts = st.tuples(st.integers(1, 999), st.sampled_from(["GB", "MB", "GiB", "kB"]))
rates = st.tuples(st.integers(1, 999), st.sampled_from(["GB/s", "MB/s", "Gbit/s", "TB/s"]))


@given(st.lists(st.tuples(st.integers(1, 99), amounts, rates), min_size=1, max_size=4))
def test_bytes_over_bandwidths_are_seconds(terms: list[tuple[int, tuple[int, str], tuple[int, str]]]) -> None:
    typed = " + ".join(f"{n}/8 * {a} {size} / {b} {rate}" for n, (a, size), (b, rate) in terms)
    expected = sum(n / 8 * a * scale_of(size).factor / (b * scale_of(rate).factor) for n, (a, size), (b, rate) in terms)
    assert by_us(typed, "ms") == pytest.approx(expected, rel=1e-12)


def test_the_value_that_was_read_is_said_with_the_verdict() -> None:
    asked = AskedQuantity(answer="1", unit="ms")
    reading = asked.read("2*(8-1)/8 * 2 GB / 50 GB/s")
    assert reading.value == pytest.approx(0.07)
    assert asked.echo(reading) == " Read as 70 ms."
    assert asked.echo(asked.read("70 ms")) == ""
