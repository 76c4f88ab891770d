import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.units import (
    BYTE,
    BYTE_PER_SECOND,
    COUNT,
    RATIO,
    SECOND,
    Scale,
    Unit,
    figures,
    parse,
    parse_or_base,
    read,
    scale_of,
    show,
    show_in,
    show_size,
    show_typed,
)
from app.core.units import scales as unit_module
from app.core.units.formatter import round_inward
from app.core.units.scales import (
    DOLLAR,
    DOLLAR_PER_HOUR,
    DOLLAR_PER_JOULE,
    DOLLAR_PER_SECOND,
    FLOP_PER_SECOND,
    JOULE,
    PER_SECOND,
    SCALES,
    WATT,
    takes_prefix,
)
from tests.each import each

MS, GB, SPEED, PERCENT = scale_of("ms"), scale_of("GB"), scale_of("GB/s"), scale_of("%")
EVERY_UNIT = [named for named in vars(unit_module).values() if isinstance(named, Unit)]


@each(
    ("text", "value"),
    [
        ("70ms", 0.07), ("70 ms", 0.07), ("0,07 s", 0.07), ("7×10^-2 s", 0.07), ("7e-2", 7e-5),
        ("7x10^-2 s", 0.07), ("7*10**-2 s", 0.07), ("7·10⁻² s", 0.07), ("70_000 us", 0.07),
        ("70 000 µs", 0.07), ("70\u202f000 μs", 0.07), ("−70 ms", -0.07), ("70", 0.07),
        ("~70", 0.07), ("= 70 ms", 0.07), ("1/16 s", 0.0625), ("1⁄16 s", 0.0625), ("1 min", 60),
        (".5 s", 0.5), ("+3 s", 3), ("29.17 msec", 0.02917), ("29.17 milliseconds", 0.02917),
        ("1.5 hours", 5400), ("2 days", 172800), ("3 s.", 3), ("0 s", 0), ("2^-4 s", 0.0625),
    ],
)  # fmt: skip
def test_a_time_is_read_generously_and_exactly(text: str, value: float) -> None:
    assert read(text, SECOND, MS).value == value


# What the best unit element elsewhere refused or marked wrong, for a truth of 26.25 GB.
@each(
    "text",
    ["26.25 GB", "26250 MB", "26.25e9 bytes", "210 Gb", "26,250,000,000 B", "26 250 000 000 B",
     "26_250_000_000 B", "26.25e9 B", "26.25*10^9 B", "26.25x10^9 B", "26.25 × 10⁹ B",
     "26.250.000.000 B", "26.250,0 MB", "26,250.0 MB", "26'250 MB", "105/4 GB", "26.25"],
)  # fmt: skip
def test_26_gigabytes_and_a_quarter_may_be_typed_in_many_ways(text: str) -> None:
    assert read(text, BYTE, GB).value == 26.25e9


@each(
    "text",
    ["450 GB/s", "3600 Gb/s", "3.6 Tb/s", "3600 Gbps", "450 GBps", "450 GB / s", "450 GB/sec",
     "450 GB per second", "3600 Gbit/s", "4.5e11 B/s", "450"],
)  # fmt: skip
def test_a_bandwidth_may_be_typed_in_bits_or_bytes(text: str) -> None:
    assert read(text, BYTE_PER_SECOND, SPEED).value == 450e9


@each(
    ("text", "value"),
    [
        ("1.63 GiB", 1.63 * 2**30), ("24.45 GiB", 24.45 * 2**30), ("2^30 B", 2**30), ("2³⁰ B", 2**30),
        ("1 KiB", 1024), ("3 TB", 3e12), ("8 Gbit", 1e9), ("16 kB", 16e3), ("16 KB", 16e3), ("1 B", 1),
    ],
)  # fmt: skip
def test_bytes_know_binary_and_decimal_prefixes_and_bits(text: str, value: float) -> None:
    assert read(text, BYTE, GB).value == pytest.approx(value, rel=1e-15)


@each(
    ("text", "unit", "value"),
    [
        ("400 TFLOPS", FLOP_PER_SECOND, 4e14), ("400 TFLOPs", FLOP_PER_SECOND, 4e14),
        ("5 tokens/s", PER_SECOND, 5), ("5 kWh", JOULE, 18e6), ("7 billion", RATIO, 7e9),
        ("16 ranks", COUNT, 16), ("2 ×", RATIO, 2), ("$2.5 million", DOLLAR, 2.5e6), ("$5M", DOLLAR, 5e6),
        ("-$1,234.50", DOLLAR, -1234.5), ("$7.2/h", DOLLAR_PER_SECOND, 0.002),
        ("7.2 $/GPU-h", DOLLAR_PER_SECOND, 0.002), ("$7.20 per hour", DOLLAR_PER_SECOND, 0.002),
        ("$7.20 per GPU-hour", DOLLAR_PER_SECOND, 0.002), ("7.2 dollars an hour", DOLLAR_PER_SECOND, 0.002),
        ("147 cents", DOLLAR, 1.47), ("US$5", DOLLAR, 5), ("$61.7B", DOLLAR, 61.7e9),
        ("10.9 requests/s", PER_SECOND, 10.9), ("10.9 requests per second", PER_SECOND, 10.9),
        ("24.7k tokens/s", PER_SECOND, 24_700), ("97.4B", RATIO, 97.4e9), ("1.2T", RATIO, 1.2e12),
        ("97.4 billion parameters", RATIO, 97.4e9), ("46.7B parameters", RATIO, 46.7e9),
        ("96 workers", COUNT, 96), ("8 H100s", COUNT, 8), ("3 months", SECOND, 91.3125 * 86400),
        ("2 weeks", SECOND, 14 * 86400), ("$0.05 per kWh", DOLLAR_PER_JOULE, 0.05 / 3.6e6),
    ],
)  # fmt: skip
def test_other_units_of_the_field_are_known(text: str, unit: Unit, value: float) -> None:
    assert parse(text, unit) == pytest.approx(value, rel=1e-15)


@each(("text", "value"), [("6.25 %", 0.0625), ("6.25%", 0.0625), ("1/16", 0.000625), ("50", 0.5), ("50 percent", 0.5)])
def test_per_cent_may_be_typed_or_meant(text: str, value: float) -> None:
    assert read(text, RATIO, PERCENT).value == pytest.approx(value, rel=1e-15)


@each(
    ("text", "value", "other"),
    [
        ("1,750 MB", 1.75e9, 1.75e6), ("1,750", 1750e9, 1.75e9), ("100,000 MB", 1e11, 1e8),
        ("0,750 GB", 0.75e9, None), ("1,75 GB", 1.75e9, None), ("1,750,000 kB", 1.75e9, None),
        ("1,234.5 MB", 1.2345e9, None), ("1.750 GB", 1.75e9, None), ("1.234.567 B", 1234567, None),
    ],
)  # fmt: skip
def test_a_comma_before_three_digits_may_mean_two_numbers(text: str, value: float, other: float | None) -> None:
    reading = read(text, BYTE, GB)
    assert (reading.value, reading.other) == (value, other)


@each(
    ("text", "step"),
    [("70 ms", 1e-3), ("70.0 ms", 1e-4), ("7e-2 s", 1e-2), ("0.070 s", 1e-3), ("1/16 s", 0), ("2^3 s", 0)],
)  # fmt: skip
def test_a_reading_knows_how_finely_it_was_written(text: str, step: float) -> None:
    assert read(text, SECOND, MS).step == step


@each(
    "text",
    ["", " ", "soon", "nan", "inf", "-inf", "1e999 s", "9e307 days", "70 GB", "1 ms ms", "1 / 0 s",
     "--1 s", "+-1 s", "1..2 s", "1.2.3 s", "12,34,567 s", "1 2 s", "9" * 1000, "1 s; drop", "0x10 s",
     "1e", "\0", "1½ s", "1:30", "1 h 30 min", "70 ms²", "0^-1 s", "9^999999999", "1e9999999999", "29.17 Ms"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^cannot read "):
        read(text, SECOND, MS)


@each(
    ("text", "unit", "says"),
    [
        ("1 GB", SECOND, "cannot read '1 GB': B given, s expected"),
        ("7 s", COUNT, "s given, a whole number expected"),
        ("70", SECOND, "a plain number given, s expected"),
        ("1 gb", BYTE, r"did you mean GB or Gb\?"),
        ("29.17 Ms", SECOND, r"did you mean ms\?"),
        ("26.25 GIB", BYTE, r"did you mean GiB or Gib\?"),
        ("about 5 GB", BYTE, "write a number, such as 12.5 B"),
        ("1 2 GB", BYTE, "not clear where the number ends"),
        ("9" * 101, BYTE, "an answer of 101 characters"),
        ("97.4 B", RATIO, "B given, a plain number expected"),
        ("97.4BB", RATIO, "'BB' is not a unit here"),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, unit: Unit, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text, unit)


@each(
    ("text", "value"),
    [
        ("6.7B", 6.7e9), ("7B", 7e9), ("6700M", 6.7e9), ("6.7G", 6.7e9), ("13b", 13e9),
        ("6.7bn", 6.7e9), ("15T", 15e12), ("15T tokens", 15e12), ("7B parameters", 7e9),
        ("8B params", 8e9), ("6.7 billion", 6.7e9),
    ],
)  # fmt: skip
def test_counts_are_read_as_people_write_them(text: str, value: float) -> None:
    assert parse(text, COUNT) == value


def test_letters_of_counts_are_still_units_where_a_unit_is_expected() -> None:
    assert parse("7B", BYTE) == 7
    assert parse("7T", COUNT) == 7e12
    for text, unit, shown in (("7B", SECOND, MS), ("7B", RATIO, PERCENT)):
        with pytest.raises(ValueError, match="B given"):
            read(text, unit, shown)


def test_a_count_in_k_is_ambiguous() -> None:
    for text in ("8k", "128K", "4k tokens"):
        with pytest.raises(ValueError, match="K may be 1,000 or 1,024"):
            parse(text, COUNT)


def test_an_unknown_unit_is_offered_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'gib' is not a unit here; did you mean GiB or Gib\?"):
        scale_of("gib")


texts = st.one_of(
    st.text(max_size=120),
    st.text("0123456789.,eE+-−/^*x×·() _'$%GMkiBbps⁹½", max_size=120),
    st.from_regex(r"[-+~$]?[0-9]{1,4}([.,' _][0-9]{1,4}){0,3}(e[0-9]{1,4})? ?[A-Za-z$/]{0,6}"),
)


@given(texts, st.sampled_from([(BYTE, GB), (SECOND, None), (RATIO, PERCENT), (DOLLAR, None)]))
def test_any_text_is_read_at_once_or_refused_never_anything_else(text: str, wanted: tuple[Unit, Scale | None]) -> None:
    started = time.process_time()
    try:
        reading = read(text, *wanted)
    except ValueError as refused:
        assert str(refused)
    else:
        assert all(map(math.isfinite, (reading.value, reading.step, reading.other or 0.0)))
    assert time.process_time() - started < 1


@each(
    ("value", "unit", "text"),
    [
        (0.07, SECOND, "70 ms"), (5e-6, SECOND, "5 µs"), (3e-9, SECOND, "3 ns"), (90, SECOND, "90 s"),
        (5400, SECOND, "90 min"), (86400, SECOND, "24 h"), (30 * 86400, SECOND, "30 days"),
        (0.0, SECOND, "0 s"), (-0.07, SECOND, "-70 ms"), (1.75e9, BYTE, "1.75 GB"), (12, BYTE, "12 B"),
        (999.96e6, BYTE, "1 GB"), (1.2e25, BYTE, "1.2e25 B"), (50e9, BYTE_PER_SECOND, "50 GB/s"),
        (989.4e12, FLOP_PER_SECOND, "989.4 TFLOP/s"), (14, COUNT, "14"), (16384, COUNT, "16,384"),
        (0.0625, RATIO, "0.0625"), (1 / 3, RATIO, "0.3333"), (1234.5, DOLLAR, "$1,234"),
        (2e-3, WATT, "2 mW"), (29.3, DOLLAR, "$29.30"), (0.5, DOLLAR, "$0.50"), (0.0043, DOLLAR, "$0.0043"),
        (-5, DOLLAR, "-$5"), (61_660_000, DOLLAR, "$61.66 million"), (-2e9, DOLLAR, "-$2 billion"),
        (999_999.9, DOLLAR, "$1 million"), (2.5 / 3600, DOLLAR_PER_SECOND, "$2.50/h"),
        (2.5, DOLLAR_PER_HOUR, "$2.50/h"), (0.05 / 3.6e6, DOLLAR_PER_JOULE, "$0.05/kWh"),
        (24_711.3, PER_SECOND, "24,711 /s"),
        (119.9, SECOND, "119.9 s"), (120, SECOND, "2 min"), (7199, SECOND, "120 min"), (7200, SECOND, "2 h"),
        (172_799, SECOND, "48 h"), (172_800, SECOND, "2 days"), (-7200, SECOND, "-2 h"), (1e-12, SECOND, "1e-12 s"),
        (0.002, JOULE, "2 mJ"), (0.002, BYTE, "0.002 B"), (1e21, BYTE, "1e21 B"), (1e20, BYTE, "100 EB"),
        (999.99, DOLLAR, "$999.99"), (1000.5, DOLLAR, "$1,000"), (0.123, DOLLAR, "$0.123"), (0.099, DOLLAR, "$0.099"),
        (2e12, DOLLAR, "$2 trillion"), (1e15, DOLLAR, "$1e15"), (999_949, DOLLAR, "$999,949"),
    ],
)  # fmt: skip
def test_values_are_shown_as_a_person_writes_them(value: float, unit: Unit, text: str) -> None:
    assert show(value, unit) == text


@each(
    ("number", "text"),
    [
        (7730, "7,730"), (1234567, "1,234,567"), (0.5, "0.5"), (1234.5678, "1,235"), (99999.6, "100,000"),
        (1.5e-5, "1.5e-5"), (3.79e25, "3.79e25"), (-0.25, "-0.25"), (0, "0"), (9999999.5, "10,000,000"),
        (33333.33, "33,333"), (-24711.4, "-24,711"), (3.221e9 + 0.5, "3,221,000,000"),
        (0.001, "0.001"), (0.00099, "9.9e-4"), (999_999_999_999, "999,999,999,999"), (1e12, "1e12"), (999.96, "1,000"),
        (math.inf, "∞"), (-math.inf, "-∞"),
    ],
)  # fmt: skip
def test_figures_are_significant_ones(number: float, text: str) -> None:
    assert figures(number) == text


def test_a_value_can_be_shown_in_a_unit() -> None:
    assert show_in(0.0700349, MS, 6) == "70.0349 ms"
    assert show_in(2**30, scale_of("GiB")) == "1 GiB"
    assert show_in(0.25, scale_of("%"), 3) == "25 %"
    assert show_in(0.25, scale_of("")) == "0.25"
    assert show_in(5e-6, scale_of("us")) == "5 µs"
    assert show_in(2.5 / 3600, scale_of("$/GPU-h")) == "$2.50/GPU-h"
    assert show_in(123 / 60, scale_of("$"), 5) == "$2.05"


@each(
    ("symbol", "text"),
    [
        ("steps", "1 step"), ("days", "1 day"), ("GPU-hours", "1 GPU-hour"), ("GPUs", "1 GPU"),
        ("switches", "1 switch"), ("copies", "1 copy"), ("times", "1 times"), ("ms", "1 ms"),
    ],
)  # fmt: skip
def test_one_is_followed_by_a_singular(symbol: str, text: str) -> None:
    assert show_in(scale_of(symbol).factor, scale_of(symbol)) == text


@each(
    ("typed", "text"),
    [
        ("8000 GB/s", "8,000 GB/s"), ("1427 us", "1,427 µs"), ("1979 TFLOP/s", "1,979 TFLOP/s"),
        ("1073.7 MB", "1,073.7 MB"), ("70.0 GB", "70.0 GB"), ("2.5 $/h", "$2.50/h"),
        ("4400000 $", "$4.4 million"), ("1234567 $", "$1.234567 million"), ("0.05 $/kWh", "$0.05/kWh"),
        ("1 steps", "1 step"), ("5e8 B", "5e8 B"), ("Llama 3", "Llama 3"), ("ring", "ring"),
    ],
)  # fmt: skip
def test_what_an_author_typed_is_shown_as_a_person_writes_it(typed: str, text: str) -> None:
    assert show_typed(typed) == text


values = st.floats(1e-12, 1e24) | st.floats(-1e24, -1e-12) | st.integers(-(10**15), 10**15)


@given(values, st.sampled_from(EVERY_UNIT))
def test_what_is_shown_reads_back_to_the_figures_shown(value: float, unit: Unit) -> None:
    assert parse_or_base(show(value, unit), unit) == pytest.approx(value, rel=5.001e-4)
    assert parse_or_base(show(value, unit, 15), unit) == pytest.approx(value, rel=1e-14)


@given(values, st.sampled_from(sorted(SCALES)))
def test_what_is_shown_in_any_unit_reads_back(value: float, symbol: str) -> None:
    scale = scale_of(symbol)
    assert parse(show_in(value, scale, 15), scale.unit) == pytest.approx(value, rel=1e-14)


def test_what_is_too_large_for_its_unit_is_written_all_the_same() -> None:
    assert show_in(1e306, scale_of("ms")) == "∞ ms"
    assert show_in(-1e306, scale_of("ms")) == "-∞ ms"


@each(
    ("digits", "texts"),
    [(3, ("33,300", "1,230", "0.333", "1.23e-5")), (5, ("33,333", "1,234.6", "0.33333", "1.2346e-5"))],
)
def test_figures_may_be_fewer_or_more(digits: int, texts: tuple[str, ...]) -> None:
    assert tuple(figures(number, digits) for number in (33333.3, 1234.5678, 1 / 3, 1.23456e-5)) == texts


@each(
    ("size", "text"),
    [
        (0, "0 B"), (1023, "1.023 kB"), (1024, "1 KiB"), (1536, "1.536 kB"), (2**20 - 1024, "1,023 KiB"),
        (2**20, "1 MiB"), (2**30, "1 GiB"), (1_500_000, "1.5 MB"), (134_217_999, "128 MiB"),
        (5 * 2**40, "5,120 GiB"), (-2048, "-2 KiB"),
    ],
)  # fmt: skip
def test_a_size_is_shown_as_programs_count_unless_it_is_round_in_thousands(size: float, text: str) -> None:
    assert show_size(size) == text


@each(
    ("ends", "digits", "inside"),
    [
        ((35.1364, 35.1436), 4, (35.14, 35.14)), ((35.1364, 35.1436), 5, (35.137, 35.143)), ((1.0, 2.0), 3, (1.0, 2.0)),
        ((-2.346, -1.234), 3, (-2.34, -1.24)), ((0.012341, 0.012349), 4, (0.01235, 0.01234)),
    ],
)  # fmt: skip
def test_a_range_is_rounded_into_itself(ends: tuple[float, float], digits: int, inside: tuple[float, float]) -> None:
    assert round_inward(*ends, digits) == pytest.approx(inside, rel=1e-12)


DAY, YEAR = 86_400, 365.25 * 86_400
# What one of each is in the base unit of its dimension, by the SI, IEC 80000-13, and the Julian year.
FACTORS: dict[str, float] = {
    "ns": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "minutes": 60, "hrs": 3600, "GPU-hours": 3600, "d": DAY,
    "weeks": 7 * DAY, "months": YEAR / 12, "yr": YEAR, "kbit": 125, "Kibit": 128, "MB": 1e6, "MiB": 2**20, "TiB": 2**40,
    "PB": 1e15, "EB": 1e18, "gigabytes": 1e9, "megabits": 125e3, "GFLOP": 1e9, "EFLOP": 1e18, "PFLOPS": 1e15,
    "TFLOP/byte": 1e12, "PF-days": 1e15 * DAY, "petaflop/s-days": 1e15 * DAY, "Wh": 3600, "MWh": 3.6e9, "mJ": 1e-3,
    "µW": 1e-6, "k$": 1e3, "ct": 0.01, "¢": 0.01, "$B": 1e9, "$/J": 1, "$/kWh": 1 / 3.6e6, "Hz": 1, "%": 0.01,
    "points": 0.01, "x": 1, "thousand": 1e3, "trillion": 1e12, "tokens": 1, "tokens/s": 1,
}  # fmt: skip


@each("symbol", FACTORS)
def test_a_unit_has_the_size_that_its_standard_gives_it(symbol: str) -> None:
    assert scale_of(symbol).factor == pytest.approx(FACTORS[symbol], rel=1e-15)


@each(
    ("symbol", "takes"),
    [
        ("GB", True),
        ("ms", True),
        ("s", True),
        ("J", True),
        ("days", False),
        ("%", False),
        ("$", False),
        ("tokens", False),
    ],
)
def test_units_that_differ_in_a_prefix_are_known_from_others(symbol: str, takes: bool) -> None:
    assert takes_prefix(scale_of(symbol)) is takes


def test_large_numbers_take_the_next_larger_word() -> None:
    assert show_in(1.6e12, scale_of("billion")) == "1.6 trillion"
    assert show_in(1e12, scale_of("billion")) == "1 trillion"
    assert show_in(999e9, scale_of("billion")) == "999 billion"
    assert show_in(5e6, scale_of("billion")) == "0.005 billion"
