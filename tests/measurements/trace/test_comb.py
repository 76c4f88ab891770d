"""One step of a trace as a comb, and what a report suggests."""

import pytest

from app.core.measurements.trace.advice import levers
from app.core.measurements.trace.comb import short
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.samples import SAMPLES
from tests.measurements.trace.made import ALL_REDUCE, collective, report_of_events, step, work

MICRO = 1e-6


def test_the_comb_is_of_the_step_whose_length_is_the_median() -> None:
    report = report_of_events(
        *(step(n, 1000 * n, 1000 * n + 900) for n in range(4)),
        work(10, 100, "short", launched=5),
        work(1010, 1400, "gemm", launched=1005),
        collective(1300, 1450, 5000),
        work(1460, 1470, "Memcpy HtoD", cat="gpu_memcpy", launched=1100, stream=30, said={"bytes": 64}),
        work(2010, 2900, "long", launched=2005),
        work(3010, 3900, "not whole", launched=3005),
    )
    comb = report.comb
    assert comb is not None
    assert comb.step == 2
    assert comb.span == pytest.approx(460 * MICRO)
    shown = [(comb.names[one.name], comb.streams[one.stream], one.size) for one in comb.works]
    assert shown == [("gemm", "7", 0), (short(ALL_REDUCE), "20", 10_000), ("Memcpy HtoD", "30", 64)]
    assert [one.begin for one in comb.works] == pytest.approx([0, 290 * MICRO, 450 * MICRO])
    assert [one.time for one in comb.works] == pytest.approx([390 * MICRO, 150 * MICRO, 10 * MICRO])
    assert comb.left_out == 0


def test_a_comb_of_too_many_kernels_keeps_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.measurements.trace.comb.MOST", 3)
    report = report_of_events(*(work(100 * n, 100 * n + n, launched=0) for n in range(1, 9)))
    comb = report.comb
    assert comb is not None
    assert [one.time for one in comb.works] == pytest.approx([6 * MICRO, 7 * MICRO, 8 * MICRO])
    assert comb.left_out == 5
    assert comb.left_out_time == pytest.approx(15 * MICRO)


def test_every_sample_has_a_comb_whose_work_lies_within_it() -> None:
    for report in read_trace([sample.path for sample in SAMPLES[-3:]]):
        comb = report.comb
        assert comb is not None
        assert comb.works
        assert all(0 <= one.begin <= one.begin + one.time <= comb.span * 1.001 for one in comb.works)


def test_levers_are_what_a_step_could_save_at_most() -> None:
    report = report_of_events(
        work(0, 50, launched=-1),
        collective(40, 100),  # 10 hidden, 50 exposed, and 40 more could be
        work(130, 140, launched=120),  # 20 of the gap are the host's
        work(140, 160, "Memcpy HtoD", cat="gpu_memcpy", launched=1),
    )
    saved = {one.toll: one.saves / MICRO for one in levers(report)}
    assert saved == {
        "Exposed communication": pytest.approx(50),
        "Host stalls": pytest.approx(20),
        "Exposed copies": pytest.approx(20),
        "Waiting of the GPU": pytest.approx(10),
    }
    assert next(iter(saved)) == "Exposed communication"


def test_what_compute_cannot_hide_is_another_lever() -> None:
    report = report_of_events(work(0, 30, launched=-1), collective(20, 100))
    saved = {one.toll: one.saves / MICRO for one in levers(report)}
    assert saved["Exposed communication"] == pytest.approx(20)
    assert saved["Communication beyond compute"] == pytest.approx(50)
