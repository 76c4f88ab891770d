from fractions import Fraction
from itertools import product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.formulas.pipeline import (
    ScheduleName,
    Waits,
    in_flight_microbatches,
    schedule_bubble,
    stage_activation_bytes,
)
from app.core.simulators.pipeline import SCHEDULES, SimulatedSchedule, Times, build, simulate_schedule
from tests.each import each
from tests.oracles.pipeline import violations
from tests.tables import Row, rows

NAMES: tuple[ScheduleName, ...] = get_args(ScheduleName)


def step(
    name: str, p: int, m: int, times: tuple[float, ...], virtual: int = 1, waits: Waits = "every"
) -> SimulatedSchedule:
    return simulate_schedule(build(name, p, m, virtual, waits), Times(*times))


def test_formulas_and_simulators_know_the_same_schedules() -> None:
    assert tuple(SCHEDULES) == NAMES


whole = st.integers(1, 40)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_schedule_bubble_is_the_one_played_out_or_is_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    virtual = data.draw(st.integers(1, 4)) if name == "interleaved" else 1
    p = data.draw(st.integers(1, 8))
    m = p * data.draw(st.integers(1, 4)) if virtual > 1 else data.draw(st.integers(1, 24))
    f, b, w = data.draw(whole), data.draw(whole), data.draw(whole)
    c = data.draw(st.sampled_from([0, 0, 1, 7]))
    waits: Waits = data.draw(st.sampled_from(get_args(Waits)))
    try:
        bubble = schedule_bubble(name, p, m, f, b, w, c, virtual, waits)
    except ValueError as refused:
        assert str(refused).split()[1] == "must"
    else:
        exact = tuple(map(Fraction, (f, b, w, c)))
        played = step(name, p, m, exact, virtual, waits).bubble  # type: ignore[arg-type]
        assert bubble == pytest.approx(float(played), rel=1e-12)


RATES = rows("zb_bubble_rates")


@each("row", RATES, ids=lambda r: f"{r.text('model')} m={r.count('microbatches')}")
def test_schedule_bubble_is_that_of_the_zero_bubble_papers_cells(row: Row) -> None:
    p, m, v = row.count("stages"), row.count("microbatches"), row.count("virtual")
    f, b, w = (row.number(part) for part in ("forward", "backward_input", "backward_weight"))
    c, work = row.number("communication"), m * (f + b + w)

    def rate(bubble: float) -> float:
        return bubble / (bubble + work)

    plain = rate(schedule_bubble("1f1b", p, m, f, b, w, c))
    assert plain == pytest.approx(row.number("bubble_1f1b"), abs=6e-5)
    paper = schedule_bubble("interleaved", p, m, f, b, w, c, v)
    assert rate(paper) == pytest.approx(row.number("bubble_interleaved"), abs=6e-5)
    legal = schedule_bubble("interleaved", p, m, f, b, w, c, v, "every")
    assert legal - paper == pytest.approx(p * c)
    assert rate(legal) > row.number("bubble_interleaved") + 5e-4
    if p * m < 2000:  # the largest take a tenth of a second
        for name in ("zb_h1", "zb_h2"):
            played = step(name, p, m, (f, b, w, c)).bubble
            assert rate(played) == pytest.approx(row.number(f"bubble_{name}"), abs=6e-5)


def test_schedule_bubble_of_the_paper_is_played_and_is_not_legal() -> None:
    times = (3, 6, 3, 0.25)
    paper, legal = step("interleaved", 4, 8, times, 3, "first"), step("interleaved", 4, 8, times, 3)
    assert paper.bubble == schedule_bubble("interleaved", 4, 8, *times, 3)
    assert legal.bubble == schedule_bubble("interleaved", 4, 8, *times, 3, "every")
    assert violations(legal) == []
    assert violations(paper)[0].endswith("has arrived")
    assert all(found.startswith("B") for found in violations(paper))  # forward passes are in time


@each("name", NAMES)
def test_schedule_bubble_is_known_where_all_passes_take_as_long(name: ScheduleName) -> None:
    assert schedule_bubble(name, 4, 12, 1, 1, 1) == pytest.approx(step(name, 4, 12, (1, 1, 1)).bubble, rel=1e-12)


def test_schedule_bubble_is_that_of_the_reports_table() -> None:
    table = {row.text("method"): row.text("bubble") for row in rows("dualpipe_bubbles")}
    assert table["1F1B"] == "(PP-1)(F+B)"
    assert table["ZB1P"] == "(PP-1)(F+B-2W)"
    assert table["DualPipe"] == table["DualPipeV"] == "(PP/2-1)(F&B+B-3W)"
    forward, backward_input, weight = 5.0, 5.0, 3.0
    backward = backward_input + weight  # the report's B is the whole backward pass
    for pp in (4, 8, 16):
        times = (forward, backward_input, weight)
        one = schedule_bubble("1f1b", pp, 4 * pp, *times)
        zero = schedule_bubble("zb_h1", pp, 4 * pp, *times)
        assert one == pytest.approx((pp - 1) * (forward + backward))
        assert zero == pytest.approx((pp - 1) * (forward + backward - 2 * weight))
        pair = forward + backward
        both = (pp / 2 - 1) * (pair + backward - 3 * weight)
        assert schedule_bubble("dualpipe", pp, 4 * pp, *times) == pytest.approx(both)
        # DualPipeV puts PP stages on half as many devices, each with two of them
        twice = (2 * forward, 2 * backward_input, 2 * weight)
        assert schedule_bubble("dualpipe_v", pp // 2, 4 * pp, *twice) == pytest.approx(both)


def test_schedule_bubble_of_eight_stages_is_21_7_and_6() -> None:
    known = {"1f1b": 21, "zb_h1": 7, "dualpipe": 6}
    for name, bubble in known.items():
        assert schedule_bubble(name, 8, 16, 1, 1, 1) == bubble  # type: ignore[arg-type]


def test_schedule_bubble_relates_to_1f1b_as_the_zero_bubble_table_says() -> None:
    table = {row.text("schedule"): row.text("bubble_rate") for row in rows("zb_readme_schedules")}
    one = schedule_bubble("1f1b", 8, 24, 1, 1, 1)
    assert table["ZB1P"] == "B/3"
    assert schedule_bubble("zb_h1", 8, 24, 1, 1, 1) == pytest.approx(one / 3)
    assert table["ZB2P"] == table["ZBV"] == "0"
    assert schedule_bubble("zb_h2", 8, 24, 1, 1, 1) == 0
    assert schedule_bubble("zb_v", 8, 24, 1, 1, 1) == 0


@each(
    ("name", "changed", "named"),
    [
        ("zb_h1", {"communication": 0.1}, "communication"),
        ("zb_h1", {"microbatches": 7}, "microbatches"),
        ("zb_h2", {"microbatches": 14}, "microbatches"),
        ("zb_v", {"forward": 5.0}, "forward"),
        ("dualpipe", {"forward": 0.5}, "forward"),
        ("dualpipe", {"stages": 7}, "stages"),
        ("dualpipe", {"microbatches": 25}, "microbatches"),
        ("dualpipe_v", {"microbatches": 14}, "microbatches"),
        ("interleaved", {"virtual": 2, "communication": 0.26}, "communication"),
        ("interleaved", {"virtual": 2, "communication": 0.6, "waits": "every"}, "communication"),
        ("interleaved", {"virtual": 2, "waits": "all"}, "waits"),
        ("interleaved", {"virtual": 2, "microbatches": 25}, "microbatches"),
        ("gpipe", {"virtual": 2}, "virtual"),
    ],
)
def test_schedule_bubble_refuses_what_no_closed_form_covers(
    name: ScheduleName, changed: dict[str, object], named: str
) -> None:
    times: dict[str, object] = {"forward": 1.0, "backward_input": 1.0, "backward_weight": 1.0}
    given: dict[str, object] = {"stages": 8, "microbatches": 24} | times | changed
    with pytest.raises(ValueError, match=f"^{named} must"):
        schedule_bubble(name, **given)  # type: ignore[arg-type]


@each("name", NAMES)
def test_in_flight_microbatches_are_the_most_that_a_stage_keeps(name: ScheduleName) -> None:
    for p, m, virtual in product((1, 2, 3, 4, 8), (1, 2, 5, 8, 16, 24), (1, 2, 4)):
        try:
            played = step(name, p, m, (1, 1, 1), virtual)
        except ValueError:
            with pytest.raises(ValueError, match=" must "):
                in_flight_microbatches(name, p, m, 0, virtual)
            continue
        kept = [in_flight_microbatches(name, p, m, stage, virtual) for stage in range(p)]
        assert kept == list(played.in_flight), (p, m, virtual)


def test_in_flight_microbatches_are_those_of_the_tables() -> None:
    table = {row.text("method"): row.text("activation_per_device") for row in rows("dualpipe_bubbles")}
    assert table == {"1F1B": "PP", "ZB1P": "PP", "DualPipe": "PP+1", "DualPipeV": "PP+1"}
    assert in_flight_microbatches("1f1b", 8, 24) == 8
    assert in_flight_microbatches("zb_h1", 8, 24) == 8
    assert in_flight_microbatches("dualpipe", 8, 24) == 9
    assert 2 * in_flight_microbatches("dualpipe_v", 4, 24) == 9  # in chunks, as the table
    ours = {r.text("schedule"): r.number("activation_vs_1F1B") for r in rows("zb_readme_schedules")}
    assert ours["ZB2P"] == 2  # 2 p - 1, to the nearest
    assert round(in_flight_microbatches("zb_h2", 8, 24) / 8) == 2


def test_in_flight_microbatches_and_stage_activation_bytes_of_a_known_pipeline() -> None:
    first, last = (in_flight_microbatches("1f1b", 4, 12, stage) for stage in (0, 3))
    assert stage_activation_bytes(2e9, first) == 8e9
    assert stage_activation_bytes(2e9, last) == 2e9
    assert stage_activation_bytes(2e9, in_flight_microbatches("gpipe", 4, 12)) == 24e9
    chunked = in_flight_microbatches("interleaved", 4, 12, virtual=4)
    assert stage_activation_bytes(2e9, chunked) == 9.5e9


def test_stage_activation_bytes_are_those_seen_on_the_clock() -> None:
    played = step("1f1b", 4, 12, (1, 1, 1))
    events = [(slot.end if slot.kind == "B" else slot.start, slot.kind) for slot in played.slots[1]]
    kept = most = 0.0
    for _, kind in sorted(events, key=lambda event: (event[0], event[1] == "F")):
        kept += 2e9 if kind == "F" else -2e9
        most = max(most, kept)
    assert stage_activation_bytes(2e9, in_flight_microbatches("1f1b", 4, 12, 1)) == most


def test_in_flight_microbatches_knows_no_stage_beyond_the_last() -> None:
    with pytest.raises(ValueError, match=r"^stage must be below the stages, 4, not 4"):
        in_flight_microbatches("1f1b", 4, 12, 4)
