"""Logs and output of tools that are known and not read: they are refused by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ForeignFamily:
    """How a line of a family looks that is not read, with a word of it and a *sample*."""

    word: str
    form: re.Pattern[str]
    sample: str


def _foreign(word: str, form: str, sample: str) -> ForeignFamily:
    return ForeignFamily(word, re.compile(form), sample)


FOREIGN_FAMILIES: Mapping[str, ForeignFamily] = MappingProxyType(
    {
        "MosaicML Composer": _foreign("batch=", r"\[batch=\d+/\d+\]", "[batch=20/4800]: Train time/batch: 19"),
        "Levanter": _foreign(
            "Progress on",
            r"\bProgress on:\s?train\b",
            "2025-03-01 - INFO - Progress on:train 12.0it/100it rate:1.2s/it remaining:01:40",
        ),
        "fairseq": _foreign("train_inner", r"\btrain_inner \| ", "INFO | train_inner | epoch 001: 100 / 1000 loss=9.1"),
        "Keras": _foreign(
            "/step",
            r"\b\d+/\d+ +(?:\[[=>.]{5,}\]|\u2501{3,}).*/step",
            "120/1875 [=>............................] - ETA: 5s - loss: 0.5 - 3ms/step",
        ),
        "MMEngine or XTuner": _foreign(
            "(train)", r"\b(?:Iter|Epoch)\(train\) +\[", "Iter(train) [  10/1000]  lr: 2e-05  time: 1.2"
        ),
        "PaddleNLP": _foreign(
            "interval_",
            r"\binterval_(?:tokens|samples|steps)_per_second",
            "loss: 9.1, global_step: 10, interval_tokens_per_second_per_device: 4100.1",
        ),
        "MindFormers": _foreign("per_step_time", r"\bper_step_time: ?\d", "step:[ 2/ 10], per_step_time: 812ms"),
        "InternEvo": _foreign(
            "tgs (", r"\btgs \(tokens/gpu/second\)", "step=5,loss=9.1,tgs (tokens/gpu/second)=4195.1"
        ),
        "Lingua": _foreign("acc:", r"\bstep: \d+ +acc: \d", "step: 10  acc: 0  loss: 9.1  wps: 5e+04"),
        "timm": _foreign("Train: ", r"\bTrain: \d+ \[ *\d+/\d+ +\( *\d+%\)\]", "Train: 0 [  50/1251 (  4%)]"),
        "torchvision": _foreign(
            "Epoch: [", r"\bEpoch: \[\d+\] +\[ *\d+/\d+\] +eta:", "Epoch: [0]  [  10/5004] eta: 0:10:01"
        ),
        "MLPerf": _foreign(":::MLLOG", r":::MLLOG\b", ':::MLLOG {"namespace": "", "key": "step_time"}'),
        "PyTorch Lightning": _foreign(
            "Epoch ",
            r"\bEpoch \d+: +\d+%\|.{0,300}(?:it/s|s/it)",
            "Epoch 0:  10%|#         | 10/100 [00:05<00:45, 2.0it/s, v_num=0, train_loss=2.1]",
        ),
        "llm.c": _foreign(
            " tok/s",
            r"\bstep +\d+/\d+ +\| +(?:train )?loss .*\| +[\d.]+ ms \|",
            "step    1/19560 | loss 11.0 (+nanz)| norm 15.4 (+nanz)| lr 8.6e-07 | 118.3 ms | 45.2% bf16"
            " MFU | 44291 tok/s",
        ),
        "modded-nanogpt": _foreign(
            "step_avg:", r"\bstep:\d+/\d+ .*step_avg:", "step:10/1770 train_time:600ms step_avg:60.1ms"
        ),
        "torchtune without its lines": _foreign(
            "|Loss:", r"^\W{0,9}\d+\|\d+\|Loss: ", "1|20|Loss: 1.5: 20%|##  | 20/100 [00:40<03:00]"
        ),
        "OpenRLHF": _foreign(
            "Train epoch [",
            r"\bTrain epoch \[\d+/\d+\]: +\d+%\|",
            "Train epoch [1/1]:  10%|#         | 10/100 [00:05<00:45,  2.0s/it]",
        ),
        "diffusers or another program with a bar of its own": _foreign(
            "%|",
            r"^\s{0,9}[A-Z][\w ]{1,40}: +\d{1,3}%\|.*\b\d+/\d+ \[.*(?:it/s|s/it)",
            "Steps:   2%|#   | 20/1000 [00:30<24:00,  1.50s/it, lr=1e-5, step_loss=0.1]",
        ),
    }
)


def foreign_family(line: str) -> str:
    """What *line* is of, if that is known and not read; empty otherwise."""
    for name, family in FOREIGN_FAMILIES.items():
        if family.word in line and family.form.search(line):
            return f"a log of {name}, which is not read"
    return ""


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
