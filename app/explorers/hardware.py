"""The speed of GPUs and of the links between them."""

from collections.abc import Iterator

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.color import Tone
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    KeyFigure,
    Values,
    plain,
    quantity,
    summary_of,
)
from app.explorers.controls import Select, Slider
from app.formulas.presets import GPUS, Gpu
from app.units import BYTE_PER_SECOND, FLOP_PER_BYTE, FLOP_PER_SECOND, show

_ALL = {card.name: card for card in GPUS.values()}  # GPUS has short names, too
_NEWEST_FIRST = sorted(_ALL, key=lambda name: (-_ALL[name].year, name))
_CARDS = {name: f"{name} ({_ALL[name].year})" for name in ("H100 SXM", *_NEWEST_FIRST)}
_NODE = 8  # GPUs
_USES = {
    "HBM": "kernels",
    "NVLink": "tensor parallelism",
    "network": "pipeline and data parallelism",
    "across pods": "data parallelism",
}
_TONES = {
    "HBM": Tone.HBM,
    "NVLink": Tone.NVLINK,
    "network": Tone.NETWORK,
    "across pods": Tone.ACROSS_PODS,
}
_LATEST = "B200 SXM"
_DENSE_ONLY = 2019  # structured sparsity came with the A100
GPU = Select("gpu", "GPU", _CARDS)


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
            (Part(_TONES[name], _USES[name], rates[name]),),
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
        bars=tuple(Bar(name, (Part(Tone.COMPUTE, "", peak),)) for name, peak in peaks.items()),
    )
    ridges = Bars(
        title="FLOPs per byte at the ridge",
        summary="Peak over memory bandwidth",
        axis=Axis("ridge", FLOP_PER_BYTE),
        bars=tuple(
            Bar(card.name, (Part(Tone.HBM, "", card.peak / card.memory_bandwidth),))
            for card in cards
        ),
    )
    return Explored(says, facts, (chart, ridges))


def _skips_zeros(card: Gpu) -> bool:
    """Whether its peak doubles where two of every four weights are zero (2:4 sparsity)."""
    return card.year > _DENSE_ONLY and not card.name.startswith("TPU")


def _not_nvlink(values: Values) -> Iterator[tuple[float, str]]:
    """Bandwidths that are taken for that of NVLink, as it is counted here."""
    card, both = GPUS[values.word("gpu")], values.word("direction") == "both"
    gpus = _NODE if values.word("of") == "node" else 1
    nvlink = card.nvlink * gpus
    if both:
        yield nvlink, "That is one direction. Here, both are counted, as in a datasheet."
    else:
        yield 2 * nvlink, "That is the datasheet's number: both directions together."
    yield card.memory_bandwidth * gpus, "That is HBM, the memory of the GPU itself."
    yield values.number("network") * gpus * (2 if both else 1), "That is the network card."


HIERARCHY = Explorer(
    name="bandwidth",
    title="How much slower is the network?",
    summary="HBM, NVLink, the network and links across pods, by each counting convention.",
    question="How fast is NVLink on an H100, counted in one direction?",
    predicts="NVLink",
    chapter="hardware",
    formulas=("collectives.link_utilization",),
    controls=(
        GPU,
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
    foreseen=Foreseen(others=_not_nvlink),
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
    foreseen=Foreseen(
        exercise="hardware/a-decade", given=lambda values: {"peak": GPUS[_LATEST].peak}
    ),
)
