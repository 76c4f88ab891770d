"""From a cluster, its presets and the shares given, to the speeds that a step is computed with."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from app.core.formulas.checks import AttentionKernels
from app.core.formulas.parallelism import Numbers, Value
from app.core.formulas.presets import GIVEN, GPUS, LINKS, Cluster, Gpu, ModelShape, Recipe, Shares, Stack
from app.core.formulas.presets.layouts import Kernels, Precision


class Net(NamedTuple):
    """Links inside a domain and between domains, as collectives use them.

    *ranks* GPUs are in a domain. *inside* and *across* are bytes per second of one GPU.
    """

    ranks: int
    inside: float
    inside_start: float
    inside_step: float
    ramp: float
    across: float
    across_start: float
    across_step: float
    message: float


class Speeds(NamedTuple):
    """Rates of a GPU, its links, and the shares that have no rate.

    *products* is the rate of the layers' products, *exact* that of the head and of attention, in 16 bits; *memory* is
    what element-wise kernels reach of the memory's *bandwidth*; *units* are the multiprocessors over which tiles are
    spread; *casts* are the bytes that are moved for every element that is cast to fewer bits. *attention* is the rate
    of fused attention over long sequences, 0 for a share of a product's, which sequences of *ramp* tokens reach by
    half. *eager* counts what kernels move that nothing fuses, *logits* the bytes that a loss moves for each. The host
    needs *host* seconds for the kernels of a layer, and *routing* times what it takes to learn where tokens go and to
    launch each expert. *messages* between stages are exposed as far as that, and a token is sent *once* to each node,
    not to each of its experts there.
    """

    products: float
    exact: float
    grouped: float
    memory: float
    bandwidth: float
    units: int
    casts: float
    fused: bool
    net: Net
    hidden_tensor: float
    hidden_context: float
    hidden_expert: float
    hidden_data: float  # below 0: what the schedule of a framework hides
    skew: float
    attention: float = 0.0
    ramp: float = 0.0
    eager: float = 0.0
    logits: float = 30.0
    host: float = 0.0
    host_of_tensor: float = 1.0  # times that, where tensors are split
    routing: float = 0.0
    messages: float = 0.0
    once: bool = False


class ReducedBytes(NamedTuple):
    """Bytes of a gradient as it is reduced, and of a weight as it is gathered."""

    gradient: float = 2.0
    weight: float = 2.0


def ring(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value, rounds: int = 1) -> Value:
    """Seconds of a ring over *ranks* GPUs, each *stride* GPUs from the next.

    An all-gather or a reduce-scatter is one round, an all-reduce two. Inside a domain:

        T = start + rounds (n - 1) step + rounds S (n - 1) / n / (B n / (n + ramp))

    Across domains, steps inside them and between them take their own time, and the groups of a
    domain share its network.
    """
    sent = rounds * size * (ranks - 1) / ranks
    reached = net.inside * ranks / (ranks + net.ramp)
    inside = net.inside_start + rounds * (ranks - 1) * net.inside_step + sent / reached
    here = _in_a_domain(net, on, ranks, stride)
    others = on.ceil(ranks / here) - 1
    hops = (ranks - 1 - others) * net.inside_step + others * net.across_step
    speed = on.smaller(net.across * here, net.inside)
    across = net.across_start + rounds * hops + sent / speed
    near = on.where(ranks * stride <= net.ranks, inside, across)
    return on.where(ranks > 1, near, 0.0)


def exchange(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value, copies: int = 0) -> Value:
    """Seconds of an all-to-all in which each of *ranks* GPUs sends *size* bytes.

    What leaves the domain goes over the GPU's own network link while the rest stays inside. Of several *copies* of a
    token to ranks of one other domain, one is sent, as DeepEP does.
    """
    here = _in_a_domain(net, on, ranks, stride)
    stays = net.inside_start + size * (here - 1) / ranks / net.inside
    away = size * (ranks - here) / ranks
    if copies:
        far = here / ranks  # of the copies, to a certain domain
        away = size / copies * (1 / far - 1) * (1 - (1 - far) ** copies)
    leaves = net.across_start + away / net.across
    near = on.where(ranks * stride <= net.ranks, stays, on.larger(leaves, stays))
    return on.where(ranks > 1, near, 0.0)


def message(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value) -> Value:
    """Seconds in which a GPU sends *size* bytes to the next of *ranks*, *stride* GPUs away."""
    inside = net.inside_start + size / net.inside
    across = net.across_start + size / net.message
    return on.where(ranks * stride <= net.ranks, inside, across)


def _in_a_domain(net: Net, on: Numbers, ranks: Value, stride: Value) -> Value:
    """Ranks of a group that are in the same domain."""
    return on.smaller(ranks, on.larger(1, -on.ceil(-net.ranks / stride)))


Side = Literal["fast", "middle", "slow"]


def _sides(fast: float, middle: float, slow: float) -> Mapping[Side, float]:
    """Of what has no source, the fastest and the slowest that is plausible, and one between."""
    return {"fast": fast, "middle": middle, "slow": slow}


_PRODUCT = _sides(0.87, 0.68, 0.49)  # the most on an A100, the least on a B200
_PRODUCT_OF_BLACKWELL = _sides(0.70, 0.595, 0.49)
_MEMORY = _sides(0.90, 0.75, 0.60)
_GROUPED = _sides(1.0, 0.75, 0.5)
_HIDDEN_EXPERT = _sides(1.0, 0.5, 0.0)
# Of tensor and context parallelism: exposed in published runs in 16 bits; recipes in 8 and 4 bits overlap some of it.
_HIDDEN = _sides(1.0, 0.0, 0.0)
_INTER = 0.90  # of a node's network: a prior
_INTRA = 0.80  # where a link has no effective bandwidth: NCCL's overhead, nccl-tests issue 212
_INTER_START = 30e-6
_FLASH = 2022  # FlashAttention, arXiv:2205.14135
_FEWER_BITS = _sides(1.0, 1.0, 0.7)  # of a share in 8 bits, which depends on the recipe
# Bytes per element that is cast: none if the kernel before does it; 2 read and the result written
# twice, as is and transposed; as much again for a pass that looks for the largest.
_CASTS = {"16-bit": _sides(0, 0, 0), "8-bit": _sides(0, 4, 8), "4-bit": _sides(0, 3, 6)}


@lru_cache(maxsize=512)
def speeds_of(
    shape: ModelShape, cluster: Cluster, shares: Shares, precision: Precision = "16-bit", side: Side = "middle"
) -> Speeds:
    """The speeds of a run; shares without a source are on the given *side* of what was seen."""
    gpu = cluster.gpu
    precision = _supported(gpu, precision)
    exact = gpu.peak * _product_share(gpu, shares, "16-bit", side)
    fused = is_fused(shape, gpu, shares)
    exposed = _HIDDEN if precision != "16-bit" else _sides(0.0, 0.0, 0.0)
    overlap = -1.0 if fused else 0.0
    return Speeds(
        products=peak_of(gpu, precision) * _product_share(gpu, shares, precision, side),
        exact=exact,
        grouped=shares.grouped or _GROUPED[side],
        memory=gpu.memory_bandwidth * (shares.memory or gpu.memory_share or _MEMORY[side]),
        bandwidth=gpu.memory_bandwidth,
        units=gpu.sms or 1,
        casts=_CASTS[precision][side],
        fused=fused,
        net=_net(cluster, shares),
        hidden_tensor=_share_or(shares.hidden_tensor, exposed[side]),
        hidden_context=_share_or(shares.hidden_context, exposed[side]),
        hidden_expert=_share_or(shares.hidden_expert, _HIDDEN_EXPERT[side]),
        hidden_data=_share_or(shares.hidden_data, overlap),
        skew=shares.skew,
    )


def peak_of(gpu: Gpu, precision: Precision) -> float:
    """The peak in *precision*, or in the fewest bits above it that the GPU supports."""
    run_in = _supported(gpu, precision)
    return {"16-bit": gpu.peak, "8-bit": gpu.peak_8bit, "4-bit": gpu.peak_4bit}[run_in]


def _supported(gpu: Gpu, precision: Precision) -> Precision:
    if precision == "4-bit" and gpu.peak_4bit:
        return "4-bit"
    return "8-bit" if precision != "16-bit" and gpu.peak_8bit else "16-bit"


def _product_share(gpu: Gpu, shares: Shares, precision: Precision, side: Side) -> float:
    own = {"16-bit": gpu.product_share, "8-bit": gpu.product_share_8bit * _FEWER_BITS[side], "4-bit": 0.0}[precision]
    seen = _PRODUCT_OF_BLACKWELL if gpu.peak_4bit else _PRODUCT
    return shares.product or own * _powered(gpu) or seen[side]


def _powered(gpu: Gpu) -> float:
    """How much of the power of its chip a GPU may use: products are limited by it."""
    alike = (one.power for one in GPUS.values() if one.peak == gpu.peak)
    return min(1.0, gpu.power / max(alike, default=gpu.power)) if gpu.power else 1.0


def _share_or(given: float, otherwise: float) -> float:
    return given if given >= 0 else otherwise


def attention_kernels(shape: ModelShape, gpu: Gpu, shares: Shares = GIVEN) -> AttentionKernels:
    """Which kernels attention has: unfused ones write its scores to memory."""
    return "fused" if is_fused(shape, gpu, shares) else "unfused"


def is_fused(shape: ModelShape, gpu: Gpu, shares: Shares) -> bool:
    """Whether attention scores stay on the chip."""
    if shares.kernels == "as usual":
        return shape.gated or gpu.year >= _FLASH or not gpu.sms
    return shares.kernels == "fused"


def _net(cluster: Cluster, shares: Shares) -> Net:
    wires = {link.bandwidth: link for link in LINKS.values() if link.name.startswith("NVLink")}
    nvlink = LINKS["NVLink 3"]
    wire = wires.get(cluster.intra_bandwidth, nvlink)
    reached = (wire.approached or wire.effective) / wire.bandwidth or _INTRA
    known = cluster.intra_bandwidth in wires
    inside = shares.intra or (reached if known else _INTRA)
    return Net(
        ranks=cluster.gpus_per_node,
        inside=cluster.intra_bandwidth * inside,
        inside_start=nvlink.start,
        inside_step=cluster.intra_latency,
        ramp=nvlink.ramp,
        across=cluster.inter_bandwidth * (shares.inter or _INTER),
        across_start=_INTER_START,
        across_step=cluster.inter_latency,
        message=cluster.inter_bandwidth,
    )


def reduced_by(recipe: Recipe) -> ReducedBytes:
    """Bytes that data parallelism sends with *recipe*: weights are gathered as they are used."""
    return ReducedBytes(recipe.reduced_bytes, recipe.element_bytes)


class AttentionRate(NamedTuple):
    """What fused attention reaches of the 16-bit peak over long sequences, forward and backward with a causal mask.

    Heads of 128; sequences of *ramp* tokens reach half of it.
    """

    share: float
    ramp: float = 600.0


_A100, _HOPPER, _BLACKWELL = 108, (114, 132), 148  # by their multiprocessors
# FlashAttention-2, arXiv:2307.08691, figures 4 and 7: 180 to 190 of 312 TFLOP/s on an A100, up to 335 of 989 on an
# H100; FlashAttention before it and Triton's, 100 and up to 150. FlashAttention-3, arXiv:2407.08608, figures 5 and 6:
# 560 to 640 of 989; cuDNN beside it. FlashAttention-2 has no kernels for Blackwell and runs as on Hopper. cuDNN 9 and
# FlashAttention-4 on a B200: 1,605 of 2,250 forward, and less backward. Other GPUs: a prior.
ATTENTION: Mapping[tuple[str, str], AttentionRate] = {
    ("FA1", "A100"): AttentionRate(0.33),
    ("FA1", "Hopper"): AttentionRate(0.15),
    ("FA2", "A100"): AttentionRate(0.58),
    ("FA2", "Hopper"): AttentionRate(0.33),
    ("FA2", "Blackwell"): AttentionRate(0.15),
    ("FA2", "other"): AttentionRate(0.55),
    ("FA3", "Hopper"): AttentionRate(0.57, 1000.0),
    ("FA4", "Blackwell"): AttentionRate(0.50, 1000.0),
    ("cuDNN", "A100"): AttentionRate(0.58),
    ("cuDNN", "Hopper"): AttentionRate(0.55, 1000.0),
    ("cuDNN", "Blackwell"): AttentionRate(0.48, 1000.0),
    ("cuDNN", "other"): AttentionRate(0.50),
}
_BEST = {"A100": "FA2", "Hopper": "FA3", "Blackwell": "FA4"}
_SMALL_HEAD, _OF_SMALL_HEAD = 64, 0.75
_COPIED = 0.85  # of the memory's bandwidth, which kernels that copy or add reach
_HOST = 1.0e-3  # of a layer in eager PyTorch: some 140 kernels forward and backward, 7 us each
# Times that, with the hooks of FSDP, with DTensor, which dispatches each operation in Python, and in Megatron.
_OF_FSDP, _OF_DTENSOR, _OF_SPLIT = 1.5, 6.0, 1.3
_SLOWER = 0.75  # of the usual kernel: what others may reach
_MAXIMUM = 0.78  # of an A100's peak, in products that Megatron does not tune: nine tenths of the best that
# ml-engineering measured, 271 of 312 TFLOP/s
_FILLED = 512  # elements of a sum that filling and emptying a tile cost; a prior


def _family(gpu: Gpu) -> str:
    if gpu.sms == _A100:
        return "A100"
    return "Hopper" if gpu.sms in _HOPPER else "Blackwell" if gpu.sms == _BLACKWELL else "other"


def attention_rate(shape: ModelShape, gpu: Gpu, stack: Stack, side: Side = "middle") -> AttentionRate:
    """What the attention kernel of *stack* reaches on *gpu*; if it is not said, that on the *side* of what is usual.

    A model without a gate is mostly of 2023 or before, when there were FlashAttention and FlashAttention-2.
    """
    family = _family(gpu)
    if stack.attention not in ("unknown", "unfused"):
        return ATTENTION.get((stack.attention, family)) or ATTENTION["FA2", family]
    if side == "fast":
        return ATTENTION[_BEST.get(family, "FA2"), family]
    found = ATTENTION["FA2" if stack.is_pytorch else "cuDNN", family]
    old = None if shape.gated else ATTENTION.get(("FA1", family))
    if side == "slow":
        return old or found._replace(share=found.share * _SLOWER)
    return found._replace(share=math.sqrt(found.share * old.share)) if old else found


class _StackSpeed(NamedTuple):
    """Of unfused kernels, of the host's time for eager ones, and of messages, what a stack has."""

    eager: float
    host: float


_COMPILED = {"fast": _StackSpeed(0.0, 0.1), "middle": _StackSpeed(0.0, 0.3), "slow": _StackSpeed(0.15, 0.6)}
_EAGER = {"fast": _StackSpeed(0.6, 0.6), "middle": _StackSpeed(0.9, 1.0), "slow": _StackSpeed(1.1, 2.0)}
_EITHER = {"fast": _StackSpeed(0.0, 0.1), "middle": _StackSpeed(0.5, 0.6), "slow": _StackSpeed(1.0, 2.0)}
_KINDS = {"yes": _COMPILED, "no": _EAGER, "unknown": _EITHER}
_ROUTING = _sides(0.0, 1.0, 2.0)
_IN_GRAPHS = 0.3  # of that, in recipes of fewer bits, which capture CUDA graphs
_HIDDEN_BY_MEGATRON = 0.7  # of the traffic of experts, which DeepEP and other streams carry; a prior
_MESSAGES = _sides(0.0, 0.5, 1.0)
_LOST = _sides(0.0, 0.03, 0.08)  # of a step, to jitter, stragglers, and what runs beside
_GROUPS = _sides(1.3, 1.0, 0.7)  # of the rate of experts' products; a prior
_EAGER_LOGITS = 46.0


def stack_speeds(
    shape: ModelShape, cluster: Cluster, shares: Shares, stack: Stack, precision: Precision = "16-bit",
    side: Side = "middle",
) -> Speeds:  # fmt: skip
    """The speeds of a run of *stack*: as `speeds_of`, with what its kernels and its host take."""
    fused: Kernels = "unfused" if stack.attention == "unfused" else "fused"
    shares = replace(shares, kernels=fused) if shares.kernels == "as usual" else shares
    speeds, rate = speeds_of(shape, cluster, shares, precision, side), attention_rate(shape, cluster.gpu, stack, side)
    kind, gpu = _KINDS[stack.compiled][side], cluster.gpu
    heads = _OF_SMALL_HEAD if shape.head_size <= _SMALL_HEAD else 1.0
    width, once = shape.expert_feed_forward, stack.name == "Megatron"
    if once and side == "middle" and shares.hidden_expert < 0:
        speeds = speeds._replace(hidden_expert=_HIDDEN_BY_MEGATRON)
    grouped = shares.grouped or (width / (width + _FILLED) * _GROUPS[side] if width else 1.0)
    if stack.name != "Megatron" and _family(gpu) == "A100" and not shares.product:
        slower = min(1.0, _MAXIMUM / gpu.product_share) if gpu.product_share else 1.0
        speeds = speeds._replace(products=speeds.products * slower, exact=speeds.exact * slower)
    return speeds._replace(
        grouped=min(1.0, grouped),
        attention=gpu.peak * rate.share * heads * _powered(gpu),
        ramp=rate.ramp,
        eager=kind.eager * speeds.memory / (_COPIED * gpu.memory_bandwidth),
        logits=_EAGER_LOGITS if stack.loss == "eager" or stack.compiled == "no" else speeds.logits,
        host=_HOST * kind.host * (_OF_FSDP if stack.is_pytorch else 1.0) if speeds.fused else 0.0,
        host_of_tensor=_OF_DTENSOR if stack.is_pytorch else _OF_SPLIT,
        routing=_ROUTING[side] * (_IN_GRAPHS if precision != "16-bit" else 1.0),
        messages=_MESSAGES[side],
        once=once,
        skew=shares.skew or _LOST[side],
    )
