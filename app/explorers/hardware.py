"""Where a GPU's time goes: compute, memory, links."""

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, Fact, Values, plain, quantity
from app.explorers.controls import Select, Slider
from app.formulas.presets import GPUS, Gpu
from app.formulas.throughput import (
    attainable_flops,
    elementwise_intensity,
    matmul_flops,
    matmul_intensity,
    ridge_intensity,
    standard_attention_bytes,
)
from app.units import BYTE_PER_SECOND, FLOP_PER_BYTE, FLOP_PER_SECOND, figures, show

_ALL = {card.name: card for card in GPUS.values()}  # GPUS has short names, too
_NEWEST_FIRST = sorted(_ALL, key=lambda name: (-_ALL[name].year, name))
_CARDS = {name: f"{name} ({_ALL[name].year})" for name in ("H100 SXM", *_NEWEST_FIRST)}
_INTENSITIES = tuple(10 ** (place / 4 - 1) for place in range(21))  # 0.1 to 10,000 FLOP/B
_HEAD = 128


def _roofline(values: Values) -> Explored:
    card = GPUS[values.word("gpu")]
    size, sequence = values.count("size"), values.count("sequence")
    peak, bandwidth = card.peak, card.memory_bandwidth
    roof = tuple((x, attainable_flops(x, peak, bandwidth)) for x in _INTENSITIES)
    flops = 2 * matmul_flops(sequence, sequence, _HEAD)
    kernels = {
        "ReLU": elementwise_intensity(2.0, 1, 1),
        "attention, unfused": flops / standard_attention_bytes(sequence, _HEAD),
        "attention, fused": flops / (4 * sequence * _HEAD * 2),
        f"{size}³ product": matmul_intensity(size, size, size, 2.0),
    }
    ridge = ridge_intensity(peak, bandwidth)
    reached = {name: attainable_flops(x, peak, bandwidth) for name, x in kernels.items()}
    marks = [LabeledPoint(x, reached[name], name) for name, x in kernels.items()]
    marks.append(LabeledPoint(ridge, peak, f"ridge {_intensity(ridge)}"))
    waiting = [name for name, x in kernels.items() if x < ridge]
    says = (
        f"On the {card.name} a kernel needs **{_intensity(ridge)}** to reach "
        f"{show(peak, FLOP_PER_SECOND)}. "
        + (f"Waiting for memory: {', '.join(waiting)}." if waiting else "None of these waits.")
    )
    facts = (Fact("ridge", _intensity(ridge), ridge, FLOP_PER_BYTE),) + tuple(
        Fact(name, f"{_intensity(x)}, {show(reached[name], FLOP_PER_SECOND)}")
        for name, x in kernels.items()
    )
    plot = Plot(
        "Roofline",
        says.replace("*", ""),
        Axis("arithmetic intensity", FLOP_PER_BYTE, log=True),
        Axis("attainable", FLOP_PER_SECOND, log=True),
        (Series("f", card.name, roof),),
        tuple(marks),
    )
    return Explored(says, facts, (plot,))


def _intensity(value: float) -> str:
    return f"{figures(value)} FLOP/B"


def _hierarchy(values: Values) -> Explored:
    card, ways = GPUS[values.word("gpu")], 2 if values.word("direction") == "both" else 1
    whole = values.word("of") == "node"
    network, over = values.number("network"), values.number("over")
    gpus = 8 if whole else 1
    levels = {
        "HBM": ("f", card.memory_bandwidth),
        "NVLink": ("c", card.nvlink * ways),
        "network": ("c", network * ways),
        "across pods": ("c", network * ways / over),
    }
    scaled = {name: (kind, rate * gpus) for name, (kind, rate) in levels.items() if rate}
    top = card.memory_bandwidth * gpus
    first = values.word("zoom")
    names = list(scaled)
    shown = names[names.index(first) :] if first in names else names
    bars = tuple(
        Bar(
            name,
            (Part(scaled[name][0], _RUNS[name], scaled[name][1]),),
            f"{show(scaled[name][1], BYTE_PER_SECOND)}, {scaled[name][1] / top:.2g} of HBM",
        )
        for name in shown
    )
    link, card_rate = card.nvlink * ways, network * ways
    mixed = card.nvlink * 2 / network if card.nvlink else 0.0
    says = (
        f"NVLink is **{link / card_rate:.3g} times** the network for one GPU when both are counted "
        f"alike; quoted as sources do, both directions against one, {mixed:.3g} times; and "
        f"{card.nvlink / (8 * network):.3g} times where one NVLink carries what all 8 cards of a "
        "node do."
        if link
        else "This card has no NVLink; what leaves it goes over PCIe and the network."
    )
    facts = tuple(quantity(name, rate, BYTE_PER_SECOND) for name, (_, rate) in scaled.items())
    facts += tuple(
        Fact(f"{name}, of HBM", f"{rate / top:.2g}", rate / top)
        for name, (_, rate) in scaled.items()
    )[1:]
    of, direction = "a node of 8" if whole else "one GPU", "both" if ways > 1 else "one"
    title = f"Bandwidth of {of}, {direction} direction{'s' if ways > 1 else ''}"
    chart = Bars(title, says.replace("*", ""), Axis("bandwidth", BYTE_PER_SECOND), bars)
    return Explored(says, facts, (chart,))


_RUNS = {
    "HBM": "kernels",
    "NVLink": "tensor parallelism",
    "network": "pipeline and data parallelism",
    "across pods": "data parallelism",
}


def _generations(values: Values) -> Explored:
    sparse = 2.0 if values.word("peak") == "sparse" else 1.0
    cards = sorted(_ALL.values(), key=lambda card: (card.year, card.peak))
    bars = tuple(
        Bar(f"{card.name}", (Part("f", "", card.peak * (sparse if _skips_zeros(card) else 1)),))
        for card in cards
    )
    first, last = GPUS["K40"], GPUS[_LATEST]
    says = (
        f"From {first.name} ({first.year}) to {last.name} ({last.year}) dense peaks grew "
        f"**{last.peak / first.peak:.3g} times**, and memory bandwidth "
        f"{last.memory_bandwidth / first.memory_bandwidth:.3g} times: the ridge moved from "
        f"{show(first.peak / first.memory_bandwidth, FLOP_PER_BYTE)} to "
        f"{show(last.peak / last.memory_bandwidth, FLOP_PER_BYTE)}."
        + (
            " With sparsity every figure since 2020 is twice as large, and no training reaches it."
            if sparse > 1
            else ""
        )
    )
    growth = last.peak / first.peak
    facts = (plain("peak, newest over oldest", growth, 3),) + tuple(
        Fact(
            f"{card.name}, {card.year}",
            f"{show(card.peak, FLOP_PER_SECOND)}, {show(card.memory_bandwidth, BYTE_PER_SECOND)}",
        )
        for card in cards
    )
    chart = Bars("Peaks in 16 bits", says.replace("*", ""), Axis("peak", FLOP_PER_SECOND), bars)
    ratio = Bars(
        "FLOP that a byte must be worth",
        "Peak over bandwidth",
        Axis("ridge", FLOP_PER_BYTE),
        tuple(Bar(c.name, (Part("b", "", c.peak / c.memory_bandwidth),)) for c in cards),
    )
    return Explored(says, facts, (chart, ratio))


def _skips_zeros(card: Gpu) -> bool:
    """Whether its peak doubles where two of every four weights are zero."""
    return card.year > _DENSE_ONLY and not card.name.startswith("TPU")


_LATEST = "B200 SXM"
_DENSE_ONLY = 2019  # structured sparsity came with the A100
_GPU = Select("gpu", "GPU", _CARDS)
ROOFLINE = Explorer(
    "roofline",
    "Compute or memory?",
    "The roofline of a GPU, with a matrix product, a ReLU and attention, fused and not.",
    "How many FLOPs must an H100 do with each byte before it no longer waits for memory?",
    "ridge",
    "hardware",
    (
        "throughput.ridge_intensity",
        "throughput.attainable_flops",
        "throughput.matmul_intensity",
        "throughput.elementwise_intensity",
    ),
    (
        _GPU,
        Slider("size", "Side of the product", 16, 32768, 4096, doubles=True, aside=True),
        Slider("sequence", "Tokens of the attention", 128, 131072, 4096, doubles=True, aside=True),
    ),
    _roofline,
    "How many FLOPs must the GPU do with each byte before it no longer waits for memory?",
)
HIERARCHY = Explorer(
    "bandwidth",
    "How steep is the cliff?",
    "HBM, NVLink, the network and what is beyond, with the conventions kept apart.",
    "How fast is NVLink on an H100, counted in one direction?",
    "NVLink",
    "hardware",
    ("collectives.link_utilization",),
    (
        _GPU,
        Select("direction", "Count", {"one": "one direction", "both": "both directions"}),
        Select(
            "zoom",
            "Look at",
            {
                "all": "all levels",
                "NVLink": "NVLink and below",
                "network": "the network and below",
                "across pods": "across pods",
            },
            aside=True,
        ),
        Select("of", "Of", {"gpu": "one GPU", "node": "a node of 8"}),
        Slider("network", "Network card", 1, 400, 50, "GB/s", log=True, whole=False, aside=True),
        Slider("over", "Oversubscription across pods", 1, 16, 7, aside=True),
    ),
    _hierarchy,
    "How fast is NVLink?",
)
GPUS_SHOWN = Explorer(
    "gpus",
    "How fast did GPUs get faster?",
    "Peaks and memory bandwidths of a decade, dense and sparse told apart.",
    "How many times as many FLOPs does a B200 do as a K40?",
    "peak, newest over oldest",
    "hardware",
    ("throughput.ridge_intensity",),
    (
        Select(
            "peak", "Peak", {"dense": "dense", "sparse": "with sparsity, as advertised"}, aside=True
        ),
    ),
    _generations,
    "How many times as many FLOPs does the newest GPU do as the oldest?",
)
