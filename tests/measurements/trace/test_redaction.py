"""A slim trace: the same report, nothing private."""

import gzip
import io
import json

import pytest

from app.core.errors import InputError
from app.core.measurements.published import SAMPLES
from app.core.measurements.trace.reader import read_rank, reports
from app.core.measurements.trace.redaction import slim
from tests.each import each
from tests.measurements.trace.made import Event, collective, flat, report_of, step, trace, work


def slimmed(file: bytes, *, packed: bool = False) -> bytes:
    target = io.BytesIO()
    slim(io.BytesIO(file), target, packed=packed)
    return target.getvalue()


SECRET: list[Event] = [
    {"ph": "X", "cat": "python_function", "name": "/home/secret/train.py(12): forward", "ts": 1, "dur": 2},
    {"ph": "X", "cat": "cpu_op", "name": "secret::op", "ts": 1, "dur": 2, "args": {"External id": 4}},
    {"ph": "X", "cat": "user_annotation", "name": "secret phase", "ts": 1, "dur": 2},
    {"ph": "M", "name": "process_name", "pid": 1, "ts": 0, "args": {"name": "secret-host"}},
    *work(10, 20, "kernel /home/secret/model.py", launched=5, said={"Call stack": "secret", "Kernel": "secret"}),
    *collective(
        30,
        40,
        said={
            "Process Group Name": "secret_group",
            "Process Group Ranks": "[0, 1]",
            "Process Group Description": "secret",
        },
    ),
    {**step(3, 1, 90), "name": "ProfilerStep#3 secret"},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaEventQuery", "ts": 3, "dur": 1, "args": {"correlation": 9}},
]


@each("packed", [False, True])
def test_nothing_private_is_left(packed: bool) -> None:
    file = json.dumps(
        {
            "distributedInfo": {
                "rank": 1,
                "world_size": 2,
                "hostname": "secret",
                "pg_config": [{"pg_name": "secret_group", "pg_desc": "secret", "ranks": [0, 1]}],
            },
            "traceName": "/home/secret/trace.json",
            "env": {"HOME": "/home/secret"},
            "traceEvents": SECRET,
        }
    ).encode()
    found = slimmed(file, packed=packed)
    text = gzip.decompress(found) if packed else found
    assert b"secret" not in text
    kept = json.loads(text)
    assert len(kept["traceEvents"]) == 5
    assert kept["distributedInfo"]["rank"] == 1
    assert report_of(found).tolls == report_of(file).tolls


def test_the_report_of_a_slim_sample_is_that_of_the_sample() -> None:
    for sample in (SAMPLES[1], SAMPLES[-1]):
        whole = sample.path.read_bytes()
        found = slimmed(whole, packed=True)
        json.loads(gzip.decompress(found))
        ranks = [read_rank(io.BytesIO(file), sample.name) for file in (whole, found)]
        assert reports(ranks[:1]) == reports(ranks[1:])


def test_an_empty_list_stays_a_trace() -> None:
    found = slimmed(trace(flat([SECRET[0]])))
    assert json.loads(found)["traceEvents"] == []


def test_a_trace_of_several_blocks_stays_one_list() -> None:
    file = trace([{**step(n, n, 1), "args": {"note": "x" * 1000}} for n in range(1, 20_001)])
    assert len(json.loads(slimmed(file))["traceEvents"]) == 20_000


def test_what_is_not_a_trace_is_refused() -> None:
    with pytest.raises(InputError, match="not a trace"):
        slimmed(b"hello")


def test_a_device_that_is_not_read_is_still_named_after_slimming() -> None:
    mtia: Event = {"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", "ts": 1, "dur": 2, "args": {"stream": 4}}
    tpu: Event = {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:0 (host secret)"}}
    for event, says in ((mtia, "mtia_ccp_events"), (tpu, "/device:TPU:0")):
        found = slimmed(trace([event]))
        assert b"secret" not in found
        with pytest.raises(InputError, match=says):
            report_of(found)
