"""The speed of GPUs: compute, memory and links."""

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.color import Color
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, KeyFigure, Values, plain, quantity, summary_of
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
_HEAD, _NODE = 128, 8  # size of an attention head, GPUs per node
_USES = {
    "HBM": "kernels",
    "NVLink": "tensor parallelism",
    "network": "pipeline and data parallelism",
    "across pods": "data parallelism",
}
_LATEST = "B200 SXM"
_DENSE_ONLY = 2019  # structured sparsity came with the A100
_GPU = Select("gpu", "GPU", _CARDS)


def _roofline(values: Values) -> Explored:
    card = GPUS[values.word("gpu")]
    peak, bandwidth = card.peak, card.memory_bandwidth
    kernels = _kernels(values.count("size"), values.count("sequence"))
    ridge = ridge_intensity(peak, bandwidth)
    reached = {name: attainable_flops(x, peak, bandwidth) for name, x in kernels.items()}
    bound = [name for name, x in kernels.items() if x < ridge]
    says = (
        f"On the {card.name} a kernel needs **{_intensity(ridge)}** to reach "
        f"{show(peak, FLOP_PER_SECOND)}. "
        + (f"Memory-bound: {', '.join(bound)}." if bound else "None of these is memory-bound.")
    )
    facts = (
        KeyFigure("ridge", _intensity(ridge), ridge, FLOP_PER_BYTE),
        *(
            KeyFigure(name, f"{_intensity(x)}, {show(reached[name], FLOP_PER_SECOND)}")
            for name, x in kernels.items()
        ),
    )
    roof = tuple((x, attainable_flops(x, peak, bandwidth)) for x in _INTENSITIES)
    plot = Plot(
        title="Roofline",
        summary=summary_of(says),
        x=Axis("arithmetic intensity", FLOP_PER_BYTE, log=True),
        y=Axis("attainable", FLOP_PER_SECOND, log=True),
        series=(Series(Color.BLUE, card.name, roof),),
        marks=(
            *(LabeledPoint(x, reached[name], name) for name, x in kernels.items()),
            LabeledPoint(ridge, peak, f"ridge {_intensity(ridge)}"),
        ),
    )
    return Explored(says, facts, (plot,))


def _kernels(size: int, sequence: int) -> dict[str, float]:
    """The arithmetic intensity of some kernels."""
    attention = 2 * matmul_flops(sequence, sequence, _HEAD)
    return {
        "ReLU": elementwise_intensity(2.0, 1, 1),
        "attention, unfused": attention / standard_attention_bytes(sequence, _HEAD),
        "attention, fused": attention / (4 * sequence * _HEAD * 2),
        f"{size}³ product": matmul_intensity(size, size, size, 2.0),
    }


def _intensity(value: float) -> str:
    return f"{figures(value)} FLOP/B"


def _hierarchy(values: Values) -> Explored:
    card, ways = GPUS[values.word("gpu")], 2 if values.word("direction") == "both" else 1
    gpus = _NODE if values.word("of") == "node" else 1
    network = values.number("network") * ways
    rates = {
        "HBM": card.memory_bandwidth,
        "NVLink": card.nvlink * ways,
        "network": network,
        "across pods": network / values.number("over"),
    }
    rates = {name: rate * gpus for name, rate in rates.items() if rate}
    says = _gap(card, ways, values.number("network"))
    facts = tuple(quantity(name, rate, BYTE_PER_SECOND) for name, rate in rates.items())
    facts += tuple(
        KeyFigure(f"{name}, of HBM", f"{rate / rates['HBM']:.2g}", rate / rates["HBM"])
        for name, rate in rates.items()
        if name != "HBM"
    )
    of = f"a node of {_NODE}" if gpus > 1 else "one GPU"
    chart = Bars(
        title=f"Bandwidth of {of}, {'both directions' if ways > 1 else 'one direction'}",
        summary=summary_of(says),
        axis=Axis("bandwidth", BYTE_PER_SECOND),
        bars=_rate_bars(rates, values.word("zoom")),
    )
    return Explored(says, facts, (chart,))


def _gap(card: Gpu, ways: int, network: float) -> str:
    """How much faster NVLink is than the network, by each convention."""
    if not card.nvlink:
        return "This card has no NVLink; traffic to other GPUs goes over PCIe and the network."
    return (
        f"NVLink is **{card.nvlink * ways / (network * ways):.3g} times** as fast as the network "
        f"of one GPU when both are counted the same way. It is {card.nvlink * 2 / network:.3g} "
        "times if, as datasheets do, NVLink counts both directions and the network one; and "
        f"{card.nvlink / (_NODE * network):.3g} times the network of all {_NODE} GPUs of a node."
    )


def _rate_bars(rates: dict[str, float], first: str) -> tuple[Bar, ...]:
    """The levels from *first* on, all of them if it is not one."""
    names = list(rates)
    shown = names[names.index(first) :] if first in names else names
    return tuple(
        Bar(
            name,
            (Part(Color.BLUE if name == "HBM" else Color.GREEN, _USES[name], rates[name]),),
            f"{show(rates[name], BYTE_PER_SECOND)}, {rates[name] / rates['HBM']:.2g} of HBM",
        )
        for name in shown
    )


def _generations(values: Values) -> Explored:
    sparse = values.word("peak") == "sparse"
    cards = sorted(_ALL.values(), key=lambda card: (card.year, card.peak))
    first, last = GPUS["K40"], GPUS[_LATEST]
    growth = last.peak / first.peak
    says = (
        f"From {first.name} ({first.year}) to {last.name} ({last.year}) dense peaks grew "
        f"**{growth:.3g} times**, and memory bandwidth "
        f"{last.memory_bandwidth / first.memory_bandwidth:.3g} times: the ridge moved from "
        f"{show(first.peak / first.memory_bandwidth, FLOP_PER_BYTE)} to "
        f"{show(last.peak / last.memory_bandwidth, FLOP_PER_BYTE)}."
    )
    if sparse:
        says += " With sparsity every peak since 2020 is doubled, and no training run reaches it."
    facts = (
        plain("peak, newest over oldest", growth, 3),
        *(
            KeyFigure(
                f"{card.name}, {card.year}",
                f"{show(card.peak, FLOP_PER_SECOND)}, "
                f"{show(card.memory_bandwidth, BYTE_PER_SECOND)}",
            )
            for card in cards
        ),
    )
    peaks = {card.name: card.peak * (2 if sparse and _skips_zeros(card) else 1) for card in cards}
    chart = Bars(
        title="Peaks in 16 bits",
        summary=summary_of(says),
        axis=Axis("peak", FLOP_PER_SECOND),
        bars=tuple(Bar(name, (Part(Color.BLUE, "", peak),)) for name, peak in peaks.items()),
    )
    ridges = Bars(
        title="FLOPs per byte at the ridge",
        summary="Peak over memory bandwidth",
        axis=Axis("ridge", FLOP_PER_BYTE),
        bars=tuple(
            Bar(card.name, (Part(Color.ORANGE, "", card.peak / card.memory_bandwidth),))
            for card in cards
        ),
    )
    return Explored(says, facts, (chart, ridges))


def _skips_zeros(card: Gpu) -> bool:
    """Whether its peak doubles where two of every four weights are zero (2:4 sparsity)."""
    return card.year > _DENSE_ONLY and not card.name.startswith("TPU")


ROOFLINE = Explorer(
    name="roofline",
    title="Compute-bound or memory-bound?",
    summary="The roofline of a GPU, with a matrix product, a ReLU, and attention.",
    question="From which arithmetic intensity on is a kernel on an H100 compute-bound?",
    predicts="ridge",
    chapter="hardware",
    formulas=(
        "throughput.ridge_intensity",
        "throughput.attainable_flops",
        "throughput.matmul_intensity",
        "throughput.elementwise_intensity",
    ),
    controls=(
        _GPU,
        Slider("size", "Side of the product", (16, 32768), default=4096, doubles=True, aside=True),
        Slider(
            "sequence",
            "Sequence length of the attention",
            (128, 131072),
            default=4096,
            doubles=True,
            aside=True,
        ),
    ),
    explore=_roofline,
    asks="From which arithmetic intensity on is a kernel on this GPU compute-bound?",
)
HIERARCHY = Explorer(
    name="bandwidth",
    title="How much slower is the network?",
    summary="HBM, NVLink, the network and links across pods, by each counting convention.",
    question="How fast is NVLink on an H100, counted in one direction?",
    predicts="NVLink",
    chapter="hardware",
    formulas=("collectives.link_utilization",),
    controls=(
        _GPU,
        Select("direction", "Count", {"one": "one direction", "both": "both directions"}),
        Select("of", "Bandwidth of", {"gpu": "one GPU", "node": f"a node of {_NODE}"}),
        Slider(
            "network",
            "Network per GPU",
            (1, 400),
            default=50,
            unit="GB/s",
            log=True,
            whole=False,
            aside=True,
        ),
        Slider("over", "Oversubscription across pods", (1, 16), default=7, aside=True),
        Select(
            "zoom",
            "Show",
            {
                "all": "all levels",
                "NVLink": "NVLink and below",
                "network": "the network and below",
                "across pods": "across pods",
            },
            aside=True,
        ),
    ),
    explore=_hierarchy,
    asks="How fast is NVLink?",
)
GPUS_SHOWN = Explorer(
    name="gpus",
    title="How much faster did GPUs get?",
    summary="Peaks and memory bandwidths over a decade, dense and sparse.",
    question="How many times the peak of a K40 is the peak of a B200?",
    predicts="peak, newest over oldest",
    chapter="hardware",
    formulas=("throughput.ridge_intensity",),
    controls=(
        Select(
            "peak", "Peak", {"dense": "dense", "sparse": "with sparsity, as advertised"}, aside=True
        ),
    ),
    explore=_generations,
    asks="How many times the peak of the oldest GPU is the peak of the newest?",
)
