"""Devices that are not read are named, and a GPU beside them is read."""

from collections.abc import Mapping

import pytest

from app.core.errors import InputError
from tests.each import each
from tests.measurements.trace.made import Event, flat, report_of, report_of_events, trace, work


def device_event(category: str, args: Mapping[str, object] = {}) -> Event:
    return {"ph": "X", "cat": category, "name": "op", "pid": 9, "ts": 5, "dur": 2, "args": args}


@each(
    ("events", "says"),
    [
        ([device_event("mtia_ccp_events", {"stream": 108})] * 3, r"3 events of a device \(mtia_ccp_events\)"),
        ([device_event("hpu_op")], r"1 event of a device \(hpu_op\)"),
        ([device_event("wonder_chip", {"stream": 0})], r"1 event of a device \(wonder_chip\)"),
        (
            [
                {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:0"}},
                {"ph": "X", "name": "fusion.1", "pid": 3, "ts": 1, "dur": 9},
            ],
            "processes called /device:TPU:0",
        ),
        ([{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "Ascend Hardware"}}], "Ascend Hardware"),
    ],
)
def test_a_trace_of_another_device_is_told_so(events: list[Event], says: str) -> None:
    with pytest.raises(InputError, match=f"{says}.* not supported"):
        report_of(trace(events))


def test_a_trace_of_the_host_alone_is_told_to_profile_the_gpu() -> None:
    host = [
        device_event("cpu_op"),
        device_event("cuda_sync", {"stream": 7}),
        device_event("my phase"),
        {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "python3"}},
    ]
    with pytest.raises(InputError, match="no GPU activity in this trace: profile with"):
        report_of(trace(flat(host)))


def test_a_gpu_beside_another_device_is_read_with_a_doubt() -> None:
    found = report_of_events(work(0, 10), device_event("mtia_ccp_events", {"stream": 1}))
    assert found.tolls.compute == pytest.approx(10e-6)
    assert any("mtia_ccp_events" in doubt and "left out" in doubt for doubt in found.doubts)


def test_an_xpu_is_read_as_a_gpu() -> None:
    kernel = work(0, 10, "at::native::xpu::Vectorized", launched=-3)
    xpu = [event if event["cat"] == "kernel" else {**event, "cat": "xpu_runtime"} for event in kernel]
    found = report_of_events(xpu, {**work(50, 60, launched=40)[0]})
    assert found.tolls.compute == pytest.approx(20e-6)
