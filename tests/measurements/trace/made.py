"""Traces made for tests, whose answers are known."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence

from app.core.measurements.trace.reader import read_rank, reports
from app.core.measurements.trace.report import RankTrace, TraceReport

Event = Mapping[str, object]
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def work(
    begin: float,
    end: float,
    name: str = "gemm",
    *,
    launched: float | None = None,
    cat: str = "kernel",
    stream: int = 7,
    said: Mapping[str, object] = {},
) -> list[Event]:
    """An event of the GPU, and the call that launched it until *launched*, if that is known."""
    correlation = int(begin * 1000) + 7 * stream + sum(map(ord, name))
    found: list[Event] = [
        {
            "ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": end - begin,
            "args": {"device": 0, "stream": stream, "correlation": correlation, **said},
        }
    ]  # fmt: skip
    if launched is not None:
        found.append(
            {
                "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": launched - 3,
                "dur": 3, "args": {"correlation": correlation},
            }
        )  # fmt: skip
    return found


def collective(begin: float, end: float, elements: int = 1000, said: Mapping[str, object] = {}) -> list[Event]:
    """An all-reduce of bfloat16 over four ranks."""
    known: dict[str, object] = {
        "Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements,
        "Group size": 4, "dtype": "BFloat16",
    }  # fmt: skip
    return work(begin, end, ALL_REDUCE, launched=begin - 1, stream=20, said={**known, **said})


def step(number: int, begin: float, end: float) -> Event:
    return {
        "ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1,
        "ts": begin, "dur": end - begin, "args": {"External id": number},
    }  # fmt: skip


def trace(events: Iterable[Event], **record: object) -> bytes:
    """A file with these events and this record of the job."""
    return json.dumps({"schemaVersion": 1, "distributedInfo": record, "traceEvents": list(events)}).encode()


def rank_of(file: bytes, name: str = "a trace") -> RankTrace:
    return read_rank(io.BytesIO(file), name)


def report_of(file: bytes) -> TraceReport:
    return reports([rank_of(file)])[0]


def report_of_events(*groups: Sequence[Event] | Event) -> TraceReport:
    return report_of(trace(flat(groups)))


def flat(groups: Iterable[Sequence[Event] | Event]) -> list[Event]:
    return [event for group in groups for event in ([group] if isinstance(group, Mapping) else group)]
