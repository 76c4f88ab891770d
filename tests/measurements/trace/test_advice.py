"""What a report of a trace suggests."""

import pytest

from app.core.measurements.trace.report import levers
from tests.measurements.trace.made import collective, report_of_events, work

MICRO = 1e-6


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
