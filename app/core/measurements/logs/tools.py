"""Output of tools that is known and not read: it is refused by name, with what to send instead."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_COLLECTIVES = "run nccl-tests for collectives"
_TRACE = "export a trace of the PyTorch profiler with export_chrome_trace"
_SERVING = "serving is not measured here"


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """How a line of a tool looks whose output is not read, with one of its *words* in it.

    With a *sample*, and what to do *instead*.
    """

    words: tuple[str, ...]
    form: re.Pattern[str]
    sample: str
    instead: str


def _tool(words: str, form: str, sample: str, instead: str) -> ForeignTool:
    return ForeignTool(tuple(words.split(", ")), re.compile(form), sample, instead)


FOREIGN_TOOLS: Mapping[str, ForeignTool] = MappingProxyType(
    {
        "OSU micro-benchmarks": _tool(
            "# OSU", r"^[^#]{0,80}# OSU \S.{0,80}\bTest\b", "# OSU MPI-CUDA Allreduce Latency Test v7.3", _COLLECTIVES
        ),
        "Intel MPI Benchmarks": _tool(
            "MPI Benchmarks",
            r"\bIntel\(R\) MPI Benchmarks\b",
            "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part",
            _COLLECTIVES,
        ),
        "perftest": _tool(
            "#iterations, Test",
            r"#bytes +#iterations|\b(?:RDMA_\w+|Send) (?:BW|Latency|Bidirectional BW) Test\b",
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
            _COLLECTIVES,
        ),
        "nvbandwidth": _tool(
            "nvbandwidth, (row)",
            r"\bnvbandwidth Version\b|\bmemcpy [CS][EM] \w+\(row\)",
            "nvbandwidth Version: v0.8",
            _COLLECTIVES,
        ),
        "p2pBandwidthLatencyTest or bandwidthTest": _tool(
            "P2P, [CUDA",
            r"P2P \(Peer-to-Peer\) GPU Bandwidth|\[CUDA Bandwidth Test\]",
            "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]",
            _COLLECTIVES,
        ),
        "TransferBench": _tool("TransferBench", r"\bTransferBench v\d", "TransferBench v1.50", _COLLECTIVES),
        "Nsight Systems (nsys stats)": _tool(
            "Time (%), _sum, Summary",
            r"^\W*Time \(%\),? *Total Time \(\w+\)|\(cuda_\w+_sum\)|\bGPU Kernel Summary\b",
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),Name",
            _TRACE,
        ),
        "Nsight Compute": _tool(
            "==PROF==, Section:",
            r"==PROF== |\bSection: GPU Speed Of Light",
            "==PROF== Connected to process 4000",
            _TRACE,
        ),
        "torch.profiler as a table": _tool(
            "Self C", r"\bSelf (?:CPU|CUDA|XPU) (?:time total:|%)", "Self CPU time total: 11.100ms", _TRACE
        ),
        "Holistic Trace Analysis": _tool(
            "rank",
            r"^(?:,|\w+,)?rank,(?:idle_time|compute_time|\w+_pctg|comp_comm_overlap)",
            "rank,idle_time_ns,compute_time_ns,non_compute_time_ns,kernel_time_ns",
            "send the traces that it read",
        ),
        "vLLM": _tool(
            "Benchmark, Throughput:, throughput:",
            r"\bServing Benchmark Result\b|^Throughput: \S+ requests/s|\bgeneration throughput:",
            "============ Serving Benchmark Result ============",
            _SERVING,
        ),
        "SGLang": _tool(
            "batch, gen throughput",
            r"\b(?:Decode|Prefill) batch\W .*#(?:running|new|queue)|\bgen throughput \(token/s\)",
            "[2026-02-01 10:00:00 TP0] Decode batch. #running-req: 64, #token: 32768",
            _SERVING,
        ),
        "TensorRT-LLM": _tool(
            "PERFORMANCE, Throughput",
            r"^=* ?PERFORMANCE OVERVIEW\b|\bTotal Output Throughput \(tokens/sec\)",
            "= PERFORMANCE OVERVIEW ",
            _SERVING,
        ),
        "llama.cpp": _tool(
            "eval time, | t/s |",
            r"\bllama_\w*print\w*: +(?:prompt )?eval time|\| test +\| +t/s \|",
            "llama_perf_context_print:        eval time =    1234.56 ms /   127 runs",
            _SERVING,
        ),
        "nvidia-smi or rocm-smi": _tool(
            "NVIDIA-SMI, ROCm",
            r"\| NVIDIA-SMI \d|ROCm System Management Interface",
            "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |",
            "send what the job printed",
        ),
    }
)


def foreign_tool(line: str) -> str:
    """What prints lines like *line*, and what to do instead; empty for what is not known."""
    for name, tool in FOREIGN_TOOLS.items():
        if any(word in line for word in tool.words) and tool.form.search(line):
            return f"the output of {name}, which is not read ({tool.instead})"
    return ""
