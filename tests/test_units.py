import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.units import (
    BYTE,
    BYTE_PER_SECOND,
    COUNT,
    RATIO,
    SECOND,
    parse,
    read,
    scale_of,
    show,
    show_in,
)

MS, GB, PERCENT = scale_of("ms"), scale_of("GB"), scale_of("%")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("70ms", 0.07), ("70 ms", 0.07), ("0,07 s", 0.07), ("7×10^-2 s", 0.07), ("7e-2", 7e-5),
        ("70_000 us", 0.07), ("70 000 µs", 0.07), ("−70 ms", -0.07), ("70", 0.07), ("1/16 s", 0.0625),
        ("7·10⁻² s", 0.07), ("1 min", 60), (".5 s", 0.5), ("+3 s", 3),
    ],
)  # fmt: skip
def test_a_time_is_read_generously_and_exactly(text: str, value: float) -> None:
    assert read(text, SECOND, MS).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.63 GiB", 1.63 * 2**30), ("2 GB", 2e9), ("1,000 MB", 1e9), ("5", 5e9), ("3 TB", 3e12),
        ("8 Gbit", 1e9), ("16 kB", 16e3), ("1 B", 1),
    ],
)  # fmt: skip
def test_bytes_know_binary_and_decimal_prefixes_and_bits(text: str, value: float) -> None:
    assert read(text, BYTE, GB).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("text", "value"), [("6.25 %", 0.0625), ("1/16", 0.000625), ("50", 0.5)])
def test_per_cent_may_be_typed_or_meant(text: str, value: float) -> None:
    assert read(text, RATIO, PERCENT).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "nan", "inf", "-inf", "1e999 s", "70 GB", "1 ms ms", "1 / 0 s", "--1 s", "1..2 s",
     "9" * 1000, "1 s; drop", "0x10 s", "1e", "\0"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text, SECOND, MS)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_never_anything_else(text: str) -> None:
    try:
        reading = read(text, BYTE, GB)
    except ValueError:
        return
    assert math.isfinite(reading.value)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.07, SECOND, "70 ms"), (1.75e9, BYTE, "1.75 GB"), (50e9, BYTE_PER_SECOND, "50 GB/s"),
        (0.0, SECOND, "0 s"), (14, COUNT, "14"), (5e-6, SECOND, "5 µs"),
    ],
)  # fmt: skip
def test_values_are_shown_as_a_person_writes_them(value: float, unit: object, text: str) -> None:
    assert show(value, unit) == text  # type: ignore[arg-type]


def test_a_value_can_be_shown_in_a_unit() -> None:
    assert show_in(0.0700349, MS, 6) == "70.0349 ms"
    assert show_in(2**30, scale_of("GiB")) == "1 GiB"


@given(st.floats(min_value=1e-9, max_value=1e18))
def test_what_is_shown_reads_back(value: float) -> None:
    for unit in (SECOND, BYTE, BYTE_PER_SECOND):
        assert parse(show(value, unit), unit) == pytest.approx(value, rel=1e-2)


def test_a_wrong_dimension_says_what_was_given_and_wanted() -> None:
    with pytest.raises(ValueError, match="B given, s wanted"):
        parse("1 GB", SECOND)


def test_an_unknown_unit_is_offered_the_nearest() -> None:
    with pytest.raises(ValueError, match="GB"):
        parse("1 gb", BYTE)
