"""Units of school physics: where they are asked for, and nowhere else."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring.lint import lint
from app.core.errors import AnswerError
from app.core.expressions import ExpressionError, Quantity, evaluate, parse_plain, worked_pad
from app.core.units import scale_of
from app.core.units.scales import PHYSICAL, SCALES, TYPED
from app.course.content.catalog import Catalog
from app.course.kinds.answer_key import AskedQuantity
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each

# Every unit that could be written before those of physics, in commit fc9b0387: symbol, base, factor.
BEFORE = [
    json.loads(line) for line in (Path(__file__).parent / "symbols.jsonl").read_text(encoding="utf-8").splitlines()
]
OTHERS = ("", "GB", "GB/s", "s", "ms", "FLOP", "FLOP/s", "$", "$/h", "%", "tokens/s", "Hz")
THOUSANDS = ("", "$", "tokens/s", "Hz")  # where K was read as that


def asked(unit: str) -> AskedQuantity:
    return AskedQuantity(answer="1", unit=unit)


def test_every_unit_that_was_read_before_reads_the_same() -> None:
    assert len(BEFORE) == 762
    for symbol, base, factor in BEFORE:
        known = SCALES.get(symbol) or TYPED[symbol]
        assert (known.unit.symbol, known.factor) == (base, factor), symbol
        if symbol in SCALES:
            assert scale_of(symbol) == SCALES[symbol]
        if base:
            assert asked(base).read(f"3 {symbol}").value == pytest.approx(3 * factor, rel=1e-12)
        if symbol.isidentifier() and symbol in SCALES:
            assert evaluate(f"3 {symbol}", {}).value == pytest.approx(3 * factor, rel=1e-12)


def test_no_unit_of_physics_is_another_word_too() -> None:
    assert not set(PHYSICAL) & {*SCALES, *TYPED}


def test_where_no_physics_is_asked_for_its_letters_mean_what_they_did() -> None:
    for symbol in PHYSICAL:
        for unit in OTHERS:
            if symbol == "K" and unit in THOUSANDS:
                assert asked(unit).read("3 K").value == 3000
                continue
            for text in (f"3 {symbol}", f"6 {symbol} / (2 {symbol})", f"2*3 {symbol}"):
                with pytest.raises(AnswerError):
                    asked(unit).read(text)
        with pytest.raises(ExpressionError):
            parse_plain(f"3 {symbol}", ())
        (line,) = worked_pad(f"3 {symbol} * 2")
        assert not line.result or symbol == "K"


def test_a_name_that_an_exercise_draws_comes_before_a_unit() -> None:
    for symbol in PHYSICAL:
        if symbol.isidentifier():
            assert evaluate(f"3 {symbol}", {symbol: Quantity(5.0)}) == Quantity(15.0)
    speed = evaluate("12 m/s", {"s": Quantity(4.0)})
    assert speed == evaluate("3 m", {})
    assert evaluate("5 s^2", {}).value == 25  # as before: the power is that of 5 s
    assert evaluate("5 m^2", {}).value == 5


@each(
    ("text", "shown"),
    [
        ("2 kg * 9.81 m/s²", "19.62 N"), ("1 kg/m^3", "1 kg/m³"), ("3 N*m", "3 J"), ("3 km", "3,000 m"),
        ("12 V / (4 A)", "3 Ω"), ("1 J/(kg K)", "1 m²/(K s²)"), ("2 kWh / (1 h)", "2 kW"),
    ],
)  # fmt: skip
def test_an_expression_of_a_file_has_units_of_physics(text: str, shown: str) -> None:
    assert str(evaluate(text, {})) == shown


@each(
    ("unit", "text", "says"),
    [
        ("m", "3 kg", "kg given, m expected"), ("m", "3 GB", "B given, m expected"), ("m", "2 s * 3", "is in s"),
        ("m²", "3 m", "m given, m² expected"), ("K", "20 °C", "not a unit"), ("J", "3 V", "V given, J expected"),
    ],
)  # fmt: skip
def test_another_dimension_is_refused_and_named(unit: str, text: str, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        asked(unit).read(text)


FALL = """\
kind: numeric
title: Energy of a fall
level: 1
prompt: A stone of {mass} falls {height}, with {gravity}. How much energy is released?
given: {mass: [2000 g, 3 kg], height: [50 m, 1.5 km], gravity: [9.81 m/s^2]}
answer: mass * gravity * height
unit: J
mistakes:
  mass * gravity * 1 m: The height is missing.
  1/2 * mass * gravity * height: There is no half in it.
hints: [Work is force times distance., "The force is {mass * gravity | N}."]
solution: "{mass} times {gravity} times {height} is {answer}."
sources: [https://example.org/]
"""


def test_an_exercise_may_be_about_physics(exercise_file: Callable[[str], Path]) -> None:
    path, runner = exercise_file(FALL), Runner(Settings())
    assert asyncio.run(lint([path], runner)).problems == ()
    exercise = Catalog.read([path.parents[1]]).exercise("chapter/exercise")
    assert "2,000 g falls 50 m, with 9.81 m/s²" in exercise.variant(0).prompt
    assert "19.62 N" in exercise.variant(0).hints[1]
    for text in ("981", "981 J", "0.981 kJ", "2 kg * 9.81 m/s² * 50 m", "19.62 N * 50 m", "981 N·m"):
        assert asyncio.run(exercise.grade(0, text, runner)).correct, text
    verdict = asyncio.run(exercise.grade(0, "19.62 J", runner))
    assert verdict.feedback[0].startswith("The height is missing.")


@each(
    ("shown", "text", "value"),
    [
        ("m", "3", 3), ("m", "3 m", 3), ("m", "300 cm", 3), ("m", "0,5 km", 500), ("m", "1 m 20 cm", 1.2),
        ("m", "2*3*4/8 km", 3000), ("m", "(1 + 2) mm", 0.003), ("m", "5 m/s * 4 s", 20), ("m", "36 km/h * 10 s", 100),
        ("m/s", "36 km/h", 10), ("m/s", "100 m / (8 s)", 12.5), ("m/s", "10 m per second", 10), ("m/s^2", "9.81", 9.81),
        ("m/s²", "9,81 m/s²", 9.81), ("m/s²", "2*4.9 m/s^2", 9.8), ("m²", "3 m * 4 m", 12), ("m²", "20 000 cm^2", 2),
        ("m²", "3^2 m²", 9), ("m³", "250 L", 0.25), ("m³", "(2 m)^3", 8), ("L", "3", 0.003),
        ("kg", "500 g", 0.5), ("kg", "2 t", 2000), ("kg", "1000 kg/m³ * 3 L", 3), ("kg/m³", "1 g/cm^3", 1000),
        ("N", "3 kg * 9.81 m/s^2", 29.43), ("N", "5 kN", 5000), ("N·m", "3 N * 2 m", 6), ("N·m", "6 N m", 6),
        ("J", "1/2 * 4 kg * (3 m/s)^2", 18), ("J", "5 N * 2 m", 10), ("J", "1 kWh", 3.6e6), ("kWh", "2", 7.2e6),
        ("W", "230 V * 2 A", 460), ("V", "3 kΩ * 2 mA", 6), ("Ω", "12 V / (3 A)", 4), ("C", "2 A * 3 s", 6),
        ("K", "300 K", 300), ("K", "5 K * 2", 10), ("K", "2*4 K", 8), ("Pa", "3 bar", 3e5), ("Pa", "12 N / (4 m^2)", 3),
        ("mol", "36 g / (18 g/mol)", 2), ("J/K", "8.314 J/(mol·K) * 2 mol", 16.628), ("J/(kg K)", "4.2 kJ/(kg K)", 4200),
        ("Pa", "2 mol * 8.3 J/(mol K) * 300 K / (2 m^3)", 2490), ("V/m", "12 V / (3 m)", 4), ("A", "5 mA", 0.005),
        ("Hz", "50", 50), ("Hz", "50 Hz", 50),
    ],
)  # fmt: skip
def test_a_physical_answer_is_read_with_its_units(shown: str, text: str, value: float) -> None:
    reading = AskedQuantity(answer="1", unit=shown).read(text)
    assert reading.value == pytest.approx(value, rel=1e-12)
