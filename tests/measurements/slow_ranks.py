"""Traces of jobs with one slow rank, from which exhibits were made: published ones hold no job's ranks side by side."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.measurements.trace.reader import read_rank, reports
from app.core.measurements.trace.report import TraceReport

_STEPS = 5  # the last of which is left out
_TRANSFER = 6_000.0  # microseconds of an all-reduce
_AHEAD = 200.0  # microseconds from a launch to its kernel
_NAME = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_ELEMENTS = 200_000_000
_MILLI = 1e3

_ON_TIME = 1.0

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SlowRank:
    """A job of data parallelism: milliseconds of compute in a step, by rank, and of late starts."""

    compute: Sequence[float]
    late: Sequence[float]

    def reports(self) -> Sequence[TraceReport]:
        ranks = [read_rank(io.BytesIO(self._trace(rank)), f"rank{rank}.json") for rank in range(len(self.compute))]
        return reports(ranks)

    def _trace(self, rank: int) -> bytes:
        events = [event for step in range(_STEPS) for event in self._step(rank, step)]
        world = {"backend": "nccl", "rank": rank, "world_size": len(self.compute)}
        found = {
            "deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}],
            "distributedInfo": world,
            "traceEvents": events,
        }
        return json.dumps(found).encode()

    def _step(self, rank: int, number: int) -> Iterator[Event]:
        """Compute, then an all-reduce that ends on all ranks at once."""
        arrivals = [_MILLI * (a + b) for a, b in zip(self.compute, self.late, strict=True)]
        length = max(arrivals) + _TRANSFER + _AHEAD
        start = _MILLI + number * length
        begin, arrival = start + _MILLI * self.late[rank], start + arrivals[rank]
        yield {
            "ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1,
            "tid": 1, "ts": start - _AHEAD, "dur": length, "args": {},
        }  # fmt: skip
        yield from _kernel("gemm", begin, arrival, 7, 2 * number, {})
        said = {
            "Collective name": "allreduce", "In msg nelems": _ELEMENTS, "dtype": "BFloat16",
            "Out msg nelems": _ELEMENTS, "Group size": len(self.compute),
        }  # fmt: skip
        end = start + max(arrivals) + _TRANSFER
        yield from _kernel(_NAME, arrival, end, 20, 2 * number + 1, said)


# By name: in each, the rank that arrives last is not the one that computes longest.
MADE = {
    "made-4-ranks": SlowRank((61, 64, 60, 58), (_ON_TIME, _ON_TIME, 19, _ON_TIME)),
    "made-8-ranks": SlowRank((72, 70, 71, 73, 69, 58, 72, 71), (*[_ON_TIME] * 5, 25, 1, 1)),
    "made-4-fast-ranks": SlowRank((40, 41, 44, 39), (_ON_TIME, 12, _ON_TIME, _ON_TIME)),
}


def _kernel(
    name: str, begin: float, end: float, stream: int, number: int, said: Mapping[str, object]
) -> Iterator[Event]:
    yield {
        "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": begin,
        "dur": end - begin, "args": {"stream": stream, "correlation": number + 1, **said},
    }  # fmt: skip
    yield {
        "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
        "ts": begin - _AHEAD / 2, "dur": 3, "args": {"correlation": number + 1},
    }  # fmt: skip
