"""The speed of GPUs and of the links between them."""

from collections.abc import Iterator

from app.core.charts.axes import Axis, Tone, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.presets import GPUS, Gpu
from app.core.translation import noted, translate, translate_known
from app.core.units import BYTE, BYTE_PER_SECOND, SECOND, figures, show
from app.course.explorers.base import (
    ExplainedMistakes,
    Explorer,
    ExplorerOutput,
    Values,
    figure_summary,
    quantity_figure,
    share_figure,
)
from app.course.explorers.controls import Select, Slider

_ALL = {card.name: card for card in GPUS.values()}  # GPUS has short names, too
_NEWEST_FIRST = sorted(_ALL, key=lambda name: (-_ALL[name].year, name))
_CARDS = {name: f"{name} ({_ALL[name].year})" for name in ("H100 SXM", *_NEWEST_FIRST)}
_NODE = 8  # GPUs
_USES = {
    "HBM": noted("kernels"),
    "NVLink": noted("tensor parallelism"),
    "network": noted("pipeline and data parallelism"),
    "across pods": noted("data parallelism"),
}
_MESSAGES = tuple(10.0**power for power in range(6, 13))  # 1 MB to 1 TB
_TONES = {"HBM": Tone.HBM, "NVLink": Tone.NVLINK, "network": Tone.NETWORK, "across pods": Tone.ACROSS_PODS}
GPU = Select("gpu", noted("GPU"), _CARDS)


def _hierarchy(values: Values) -> ExplorerOutput:
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
    facts = tuple(quantity_figure(name, rate, BYTE_PER_SECOND) for name, rate in rates.items())
    facts += tuple(
        share_figure(translate("{name}, of HBM", name=translate_known(name)), rate / rates["HBM"])
        for name, rate in rates.items()
        if name != "HBM"
    )
    of = translate("a node of 8") if gpus > 1 else translate("one GPU")
    chart = Bars(
        title=translate("Bandwidth of {of}, both directions", of=of)
        if ways > 1
        else translate("Bandwidth of {of}, one direction", of=of),
        summary=figure_summary(says),
        axis=Axis(translate("bandwidth"), BYTE_PER_SECOND),
        bars=_rate_bars(rates, values.word("zoom")),
    )
    return ExplorerOutput(says, facts, (_race(rates, values.number("message"), says), chart))


def _race(rates: dict[str, float], size: float, says: str) -> Plot:
    """The time to move a message down each link, over its size."""
    took = {name: size / rate for name, rate in rates.items()}
    grips = {"HBM": Grip("message")}
    return Plot(
        title=translate("Time to move {size}", size=show(size, BYTE)),
        summary=figure_summary(says),
        x=Axis(translate("message"), BYTE, log=True),
        y=Axis(translate("time"), SECOND, log=True),
        series=tuple(
            Series(_TONES[name], name, tuple((each, each / rate) for each in _MESSAGES)) for name, rate in rates.items()
        ),
        marks=tuple(
            LabeledPoint(size, time, f"{translate_known(name)}: {show(time, SECOND, 3)}", grips.get(name))
            for name, time in took.items()
        ),
    )


def _gap(card: Gpu, ways: int, network: float) -> str:
    """How much faster NVLink is than the network, by each convention."""
    if not card.nvlink:
        return translate("This card has no NVLink; traffic to other GPUs goes over PCIe and the network.")
    alike = card.nvlink / network
    return translate(
        "NVLink is **{alike} times** as fast as the network of one GPU when both are "
        "counted the same way. It is {alike_2} times as fast if, as in datasheets, "
        "NVLink counts both directions and the network one; and {alike_3} times as "
        "fast as the network of all {node} GPUs of a node.",
        alike=figures(alike, 3),
        alike_2=figures(2 * alike, 3),
        alike_3=figures(alike / _NODE, 3),
        node=_NODE,
    )


def _rate_bars(rates: dict[str, float], first: str) -> tuple[Bar, ...]:
    """The levels from *first* on, all of them if it is not one."""
    names = list(rates)
    shown = names[names.index(first) :] if first in names else names
    return tuple(
        Bar(
            name,
            (Part(_TONES[name], _USES[name], rates[name]),),
            show(rates[name], BYTE_PER_SECOND)
            + ("" if name == "HBM" else translate(", {rates} of HBM", rates=percent_text(rates[name] / rates["HBM"]))),
        )
        for name in shown
    )


def _not_nvlink(values: Values) -> Iterator[tuple[float, str]]:
    """Bandwidths that are taken for that of NVLink, as it is counted here."""
    card, both = GPUS[values.word("gpu")], values.word("direction") == "both"
    gpus = _NODE if values.word("of") == "node" else 1
    nvlink = card.nvlink * gpus
    if both:
        yield nvlink, translate("That is one direction. Here, both are counted, as in a datasheet.")
    else:
        yield 2 * nvlink, translate("That is the datasheet's number: both directions together.")
    yield card.memory_bandwidth * gpus, translate("That is HBM, the memory of the GPU itself.")
    yield (values.number("network") * gpus * (2 if both else 1), translate("That is the network card."))


HIERARCHY = Explorer(
    name="bandwidth",
    title=noted("How much slower is the network?"),
    summary=noted("A message over HBM, NVLink, the network and across pods, by each way of counting."),
    question=noted("How fast is NVLink on an H100, counted in one direction?"),
    predicts=noted("NVLink"),
    chapter="hardware",
    formulas=("collectives.link_utilization",),
    controls=(
        GPU,
        Select("direction", noted("Count"), {"one": noted("one direction"), "both": noted("both directions")}),
        Select("of", noted("Bandwidth of"), {"gpu": noted("one GPU"), "node": noted("a node of 8")}),
        Slider(
            "network", noted("Network per GPU"), (1, 400), default=50, unit="GB/s", log=True, whole=False, aside=True
        ),
        Slider("message", noted("Message"), (1e-3, 1000), default=1, unit="GB", log=True, whole=False, aside=True),
        Slider("over", noted("Times slower across pods"), (1, 16), default=7, aside=True),
        Select(
            "zoom",
            noted("Show"),
            {
                "all": noted("all levels"),
                "NVLink": noted("NVLink and below"),
                "network": noted("the network and below"),
                "across pods": noted("across pods"),
            },
            aside=True,
        ),
    ),
    explore=_hierarchy,
    asks=noted("How fast is NVLink?"),
    foreseen=ExplainedMistakes(others=_not_nvlink),
)
