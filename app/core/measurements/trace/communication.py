"""Which kernels communicate, what they do and how many bytes they move; several ranks side by side."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.core.measurements.trace.events import Arguments
from app.core.units import Seconds

_LONGEST = 60  # letters of a short name
_ARGUMENTS = re.compile(r"\((?!anonymous).*$", re.DOTALL)
_NOISE = re.compile(r"^(?:static |void )+|\(anonymous namespace\)::|\b(?:at|c10)::(?:native::)?")


@dataclass(frozen=True, slots=True)
class KernelFamily:
    """Kernels of a *library*: a *pattern* that finds them by name, in any case of letters."""

    library: str
    pattern: str
    source: str


FAMILIES = (
    KernelFamily(
        "any library",
        r"(?<!block)(?<!warp)(?<!block_)(?<!warp_)all_?reduce|reduce_?scatter|all_?gather"
        r"|all_?to_?all|\ba2a_|_a2a_|a2a(?:dispatch|combine|prepare)",
        "kernels named after a collective, such as those of PyTorch's symmetric memory"
        " (torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu), SGLang and pplx-garden",
    ),
    KernelFamily(
        "NCCL, RCCL, MSCCL", r"nccl|rccl|msccl", "NVIDIA/nccl, src/device; ROCm/rccl, src/device/msccl_kernel_impl.h"
    ),
    KernelFamily("NVSHMEM, rocSHMEM", r"nvshmem|rocshmem", "the prefix of all of their functions"),
    KernelFamily(
        "PyTorch, symmetric memory",
        r"multimem_|\b(?:barrier|put_signal|wait_signal)_kernel\b",
        "pytorch/pytorch, torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemory.cu",
    ),
    KernelFamily(
        "vLLM, AITER",
        r"cross_device_|reduce_scatter_split|local_device_load_rmsnorm",
        "vllm-project/vllm, csrc/custom_all_reduce.cuh; ROCm/aiter, csrc/include/custom_all_reduce.cuh",
    ),
    KernelFamily(
        "TensorRT-LLM, FlashInfer",
        r"lamport|mnnvl|multi_gpu_barrier|push_oneshot_param_kernel",
        "flashinfer-ai/flashinfer, include/flashinfer/comm and csrc/nv_internal/tensorrt_llm/"
        "kernels/communicationKernels",
    ),
    KernelFamily(
        "Transformer Engine, userbuffers",
        r"userbuffers_",
        "NVIDIA/TransformerEngine, transformer_engine/common/comm_gemm_overlap/userbuffers/userbuffers.cu",
    ),
    KernelFamily("QuickReduce", r"quick_?reduce", "mk1-project/quickreduce, csrc/quickreduce.hip, and AITER"),
    KernelFamily("MSCCL++", r"mscclpp", "microsoft/mscclpp, src/ext/collectives"),
    KernelFamily(
        "oneCCL",
        r"oneccl|kernel_(?:gather_from_remote|local_sum_and_distribute_to_remote|all_sum)",
        "uxlfoundation/oneCCL, src/coll/algorithms/*/sycl",
    ),
    KernelFamily(
        "DeepEP, Hybrid-EP",
        r"deep_?ep|hybrid_?ep",
        "deepseek-ai/DeepEP, csrc/kernels and deep_ep/include; branch hybrid-ep",
    ),
    KernelFamily("MORI", r"\bmori::|\bEp(?:Dispatch|Combine)", "ROCm/mori, src/ops/dispatch_combine"),
    KernelFamily("pplx", r"\bpplx|\b(?:dispatch|combine)Kernel\b", "perplexityai/pplx-kernels, csrc/all_to_all"),
)
# Compute that bears the name of a collective: kernels that Inductor fuses are called after the
# operators around them, and a product with a collective inside is counted as the product.
_COMPUTE = re.compile(r"^triton_\w*fused|gemm|matmul|mega_?moe", re.IGNORECASE)
_COMMUNICATION = re.compile("|".join(one.pattern for one in FAMILIES), re.IGNORECASE)
NCCL_ALONE = re.compile(r"^nccl.*Kernel")  # what HolisticTraceAnalysis takes for communication


def communicates(name: str) -> bool:
    """Whether a kernel called *name* moves data between GPUs."""
    return _COMMUNICATION.search(name) is not None and _COMPUTE.search(name) is None


def short_kernel_name(name: str) -> str:
    """The name of a kernel without its arguments and the noise of C++.

    >>> short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int)")
    'vectorized_elementwise_kernel'
    >>> short_kernel_name("Memcpy HtoD (Pinned -> Device)")
    'Memcpy HtoD (Pinned -> Device)'
    """
    if name.startswith("Mem"):
        return name[:_LONGEST]
    bare = _ARGUMENTS.sub("", _NOISE.sub("", name)).partition("<")[0].strip()
    return (bare or name)[:_LONGEST]


_KINDS = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"userbuffers\w*_rs|reduce_?scatter(?!_?all)", "reduce_scatter"),
        (r"userbuffers\w*_ag", "all_gather"),
        (r"all_?reduce|cross_device_reduce|quick_?reduce|lamport|userbuffers_fp16", "all_reduce"),
        (r"all_?gather", "all_gather"),
        (r"all_?to_?all|a2a|(?:deep|hybrid)_?ep|(?:dispatch|combine)Kernel", "alltoall"),
        (r"\bEp(?:Dispatch|Combine)", "alltoall"),
        (r"broadcast", "broadcast"),
        (r"send|recv|p2p", "sendrecv"),
        (r"barrier", "barrier"),
        (r"reduce", "reduce"),
        (r"gather", "gather"),
        (r"scatter", "scatter"),
    )
)
# Bytes of an element by the names without a number of bits; PyTorch prints those of C++ and of
# Python, such as Float and float32.
_WIDTHS: Mapping[str, int] = {
    "float": 4, "double": 8, "half": 2, "int": 4, "long": 8, "short": 2, "byte": 1, "char": 1, "bool": 1,
    "complexhalf": 4, "complexfloat": 8, "complexdouble": 16, "cfloat": 8, "cdouble": 16,
}  # fmt: skip
_BITS = re.compile(r"(?:b?float|q?u?int|complex|bits|b?f|u|i)(8|16|32|64|128)")
_PACKED = re.compile(r"(?:float[48]|q?u?int[1-7]|bits[124]).*")  # a whole byte each
_WHOLE = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0}
_LARGEST = 1 << 62  # no count or identifier is larger


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCall:
    """A collective of one rank."""

    kind: str
    begin: float  # microseconds, as in the file
    time: Seconds
    size: int | None  # bytes, if known
    ranks: int  # of its group, 0 if unknown
    group: str  # names the group, the same on each of its ranks; empty if unknown

    @property
    def moved(self) -> float | None:
        """The bytes that count for the bus bandwidth."""
        if self.size is None or self.ranks <= 1:
            return None
        return bus_factor(self.kind, self.ranks) * self.size


def collective_kind(name: str) -> str:
    """The collective that a kernel or operator is called after."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), "other")


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth divided by algorithm bandwidth.

    Source:
        nccl-tests, doc/PERFORMANCE.md.
    """
    return _WHOLE[kind] * (ranks - 1) / ranks if kind in _WHOLE else 1.0


def collective_bytes(kind: str, said: Arguments) -> int | None:
    """The bytes of a collective: what comes out of an all-gather, what goes into the others."""
    count = whole_number(said.received if kind == "all_gather" else said.given)
    width = _width(said.dtype)
    return None if count is None or count < 0 or width is None else count * width


def _width(dtype: object) -> int | None:
    if not isinstance(dtype, str):
        return None
    name = dtype.lower().removeprefix("c10::").removeprefix("torch.").removeprefix("nccl")
    if bits := _BITS.fullmatch(name):
        return int(bits[1]) // 8
    return 1 if _PACKED.fullmatch(name) else _WIDTHS.get(name)


def whole_number(value: object) -> int | None:
    """*value* as a count or identifier, if it is one, also as text."""
    try:
        number = int(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) < _LARGEST else None


def group_of(said: Arguments, known: Mapping[str, tuple[int, ...]]) -> str:
    """A name of the group that is the same on each of its ranks, from what the event says.

    The profiler's own names count the groups of one rank, so that two ranks may call different
    groups alike; the list of ranks, of the event or of the *known* groups, has no such trap.
    """
    if ranks := _ranks(said.group_ranks):
        return ranks
    name = str(said.group_name or "")
    return ",".join(map(str, known[name])) if name in known else ""


def _ranks(value: object) -> str:
    """The ranks of a group as text; nothing if the list is shortened."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, list) or not all(isinstance(one, int) for one in found):
        return ""
    return ",".join(map(str, found))


def known_groups(distributed: Mapping[str, object] | None) -> Mapping[str, tuple[int, ...]]:
    """The ranks of each process group that the job's record lists, by the group's name."""
    listed = (distributed or {}).get("pg_config")
    found: dict[str, tuple[int, ...]] = {}
    for one in listed if isinstance(listed, list) else ():
        ranks = one.get("ranks") if isinstance(one, dict) else None
        if isinstance(ranks, list) and ranks and all(isinstance(rank, int) for rank in ranks):
            found[str(one.get("pg_name"))] = tuple(ranks)
    return found


_UNEVEN = {"alltoall", "gather", "scatter", "other"}  # a rank may send more than another
_PAIR = 2


@dataclass
class Skew:
    """What the comparison of ranks found."""

    waits: list[list[Seconds]]  # by rank and call
    last: Counter[int] = field(default_factory=Counter)  # how often each rank arrived last
    matched: int = 0  # collectives
    unmatched: set[str] = field(default_factory=set)  # kinds whose calls differ between ranks


def skew_of(ranks: Sequence[Sequence[CollectiveCall]], world: int | None) -> Skew:
    """How long each call of each rank waited for others; 0 where it cannot be known."""
    skew = Skew([[0.0] * len(calls) for calls in ranks])
    # The calls by group and kind: for each rank, their positions in order.
    found: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(dict)
    for rank, calls in enumerate(ranks):
        for position, call in enumerate(calls):
            if (group := _group(call, world)) is not None:
                found[group, call.kind].setdefault(rank, []).append(position)
    for (_, kind), members in found.items():
        if len(members) < _PAIR:
            continue
        sizes = [[None if kind in _UNEVEN else ranks[rank][at].size for at in own] for rank, own in members.items()]
        if any(one != sizes[0] for one in sizes):  # as many calls, of the same sizes
            skew.unmatched.add(kind)
            continue
        _compare(skew, ranks, members)
    return skew


def _group(call: CollectiveCall, world: int | None) -> str | None:
    """The group of a *call*, None if another rank's call cannot be matched with it.

    A point-to-point transfer among many waits for its one partner. A group without a list of its
    ranks is known only if it is the whole job.
    """
    if call.kind == "sendrecv" and call.ranks != _PAIR:
        return None
    if call.group:
        return call.group
    return "everyone" if not (call.ranks and world) or call.ranks == world else None


def _compare(skew: Skew, ranks: Sequence[Sequence[CollectiveCall]], members: Mapping[int, list[int]]) -> None:
    for positions in zip(*members.values(), strict=True):
        row = dict(zip(members, positions, strict=True))
        times = {rank: ranks[rank][at].time for rank, at in row.items()}
        shortest = min(times.values())
        for rank, at in row.items():
            skew.waits[rank][at] = times[rank] - shortest
        skew.matched += 1
        skew.last[min(times, key=lambda rank: times[rank])] += 1
