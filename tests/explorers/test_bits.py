"""The bits of a number, read back, are the number; a flipped bit is the number that it gives."""

import math
import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.charts.axes import NARROW, WIDE, Drawing, Paper
from app.core.formulas.precision import round_to
from app.core.formulas.precision.formats import NumberFormat
from app.course.explorers.precision import decode_digits
from tests.each import each
from tests.explorers.test_explorers import explored


@pytest.mark.parametrize(("code", "name", "bits"), [("<e", "fp16", 16), ("<f", "fp32", 32)])
@given(data=st.data())
def test_bits_are_decoded_as_the_machine_does(code: str, name: str, bits: int, data: st.DataObject) -> None:
    pattern = data.draw(st.integers(0, 2**bits - 1))
    (value,) = struct.unpack(code, pattern.to_bytes(bits // 8, "little"))
    format_ = NumberFormat.named("fp16" if name == "fp16" else "fp32")
    found = decode_digits(format_, f"{pattern:0{bits}b}")
    assume(math.isfinite(value))
    assert found == value


@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
@each("name", ["bf16", "fp16", "fp32", "fp8_e4m3"])
def test_a_bit_that_is_clicked_gives_a_weight_with_that_bit_flipped(name: str, paper: Paper) -> None:
    told = explored("formats", format=name, weight="0.02").figures[1]
    assert isinstance(told, Drawing)
    digits = "".join(rect.label for rect in told.on(paper).rects)
    flips = 0
    for place, rect in enumerate(told.on(paper).rects):
        if rect.sets is None:
            continue
        control, text = rect.sets
        other = explored("formats", format=name, **{control: text}).figures[1]
        assert isinstance(other, Drawing)
        flipped = "".join(each.label for each in other.on(paper).rects)
        assert [at for at in range(len(digits)) if flipped[at] != digits[at]] == [place]
        flips += 1
    assert flips >= 5
    assert round_to(0.02, "bf16") == decode_digits(NumberFormat.named("bf16"), "0011110010100100")
