"""A large trace as the profiler writes it: most of its bytes are operators and Python frames."""

from collections.abc import Iterator
from pathlib import Path

STEPS = 10
_STEP = 200_000  # microseconds
_FRAME = (
    '{{"ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py(1511): _call_impl",'
    ' "pid": 77, "tid": 77, "ts": {ts}, "dur": 9.5, "args": {{"Python id": {n}, "Python parent id":'
    ' {n}, "Ev Idx": {n}, "Python module id": {n}}}}}'
)
_OPERATOR = (
    '{{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 77, "tid": 77, "ts": {ts},'
    ' "dur": 8.5, "args": {{"External id": {n}, "Record function id": 0, "Sequence number": {n},'
    ' "Fwd thread id": 0, "Ev Idx": {n}, "Input Dims": [[8192, 4096], [4096, 4096], []],'
    ' "Input type": ["c10::BFloat16", "c10::BFloat16", ""], "Concrete Inputs": ["", "", ""]}}}}'
)
_LAUNCH = (
    '{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77,'
    ' "ts": {ts}, "dur": 4.25, "args": {{"External id": {n}, "cbid": 211, "correlation": {n}}}}}'
)
_KERNEL = (
    '{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream}, "ts": {begin},'
    ' "dur": {dur}, "args": {{"External id": {n}, "queued": 0, "device": 0, "context": 1, "stream":'
    ' {stream}, "correlation": {n}, "registers per thread": 128, "shared memory": 49152,'
    ' "blocks per SM": 1.5, "warps per SM": 12.0, "grid": [64, 4, 1], "block": [256, 1, 1],'
    ' "est. achieved occupancy %": 37}}}}'
)
_MARK = (
    '{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{n}", "pid": 77, "tid": 77,'
    ' "ts": {ts}, "dur": {dur}, "args": {{"External id": {n}}}}}'
)
_COLLECTIVE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def write_trace(path: Path, events: int) -> None:
    """A trace with about this many *events*, a quarter of them kernels."""
    per_step = events // 4 // STEPS
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0,')
        file.write(' "world_size": 1},\n "traceEvents": [\n')
        for step in range(STEPS):
            mark = _MARK.format(n=step, ts=1_000_000 + step * _STEP, dur=_STEP - 1)
            file.write(mark + ",\n")
            file.write(",\n".join(_of_step(step, per_step)))
            file.write(",\n" if step < STEPS - 1 else "\n")
        file.write("]}\n")


def _of_step(step: int, kernels: int) -> Iterator[str]:
    each = (_STEP - 10_000) / kernels
    for at in range(kernels):
        number = 10 + step * kernels + at
        ts = 1_000_000 + step * _STEP + at * each
        yield _FRAME.format(ts=f"{ts:.3f}", n=number)
        yield _OPERATOR.format(ts=f"{ts + 0.1:.3f}", n=number)
        yield _LAUNCH.format(ts=f"{ts + 0.2:.3f}", n=number)
        communicates = at % 5 == 4
        yield _KERNEL.format(
            name=_COLLECTIVE if communicates else f"void cutlass::Kernel<gemm_{at % 50}>(Params)",
            stream=20 if communicates else 7,
            begin=f"{ts + 6:.3f}",
            dur=f"{each * (1.5 if communicates else 0.7):.3f}",
            n=number,
        )
