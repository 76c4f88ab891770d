"""The names of kernels: which communicate, of which libraries, and what they are called for short."""

import re
from dataclasses import dataclass

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
