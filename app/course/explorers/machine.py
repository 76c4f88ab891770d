"""What one machine can do: its links, its kernels, and the generations before it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.core.charts.axes import Axis, Color, Tone, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas import throughput
from app.core.formulas.presets import GPUS, Gpu
from app.core.translation import Numeral, noted, translate, translate_known
from app.core.units import BYTE, BYTE_PER_SECOND, FLOP_PER_BYTE, FLOP_PER_SECOND, RATIO, SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider, in_group, log_slider
from app.course.explorers.words import figure_summary, relative_text

_LINE = ("K40", "V100 SXM2", "A100 SXM 80GB", "H100 SXM", "B200 SXM", "B300 SXM")
_OTHERS = ("TPU v4", "TPU v5p", "MI300X")
_LATEST = _LINE[-1]
_DENSE_ONLY = 2019  # structured sparsity came with the A100
_YEAR = Axis(noted("year"), RATIO, year=True)


def _generations(values: Values) -> ExplorerOutput:
    first, last = GPUS[values.word("since")], GPUS[_LATEST]
    cards = [GPUS[name] for name in _LINE if GPUS[name].year >= first.year]
    sparse = values.word("peak") == "sparse"
    grown = {name: pairs[-1][1] for name, pairs in _growth(cards, sparse=sparse).items()}
    ridges = [card.peak / card.memory_bandwidth for card in (first, last)]
    says = translate(
        "From {shown} to {shown_2} the peak grew **{grown} times** and memory "
        "bandwidth {grown_2} times: a kernel must do {ridges} to keep up, and needed "
        "{ridges_2} then.",
        shown=_shown_generations(first),
        shown_2=_shown_generations(last),
        grown=figures(grown["peak"], 3),
        grown_2=figures(grown["memory bandwidth"], 3),
        ridges=show(ridges[1], FLOP_PER_BYTE, 3),
        ridges_2=show(ridges[0], FLOP_PER_BYTE, 3),
    )
    if not first.tensor_cores:
        says += translate(
            " The {name} has no tensor cores: its peak is in FP32, the others' in 16 bits.", name=first.name
        )
    if sparse:
        says += translate(" With sparsity every peak since 2020 is doubled, and no training run reaches it.")
    facts = (
        KeyFigure.plain(noted("growth of the peak"), grown["peak"], 3),
        *(KeyFigure.plain(f"{name}", factor, 3) for name, factor in grown.items() if name != "peak"),
        KeyFigure(noted("ridge"), f"{show(ridges[1], FLOP_PER_BYTE, 3)}", ridges[1], FLOP_PER_BYTE),
    )
    return ExplorerOutput(says, facts, (_over_the_years(cards, figure_summary(says), sparse=sparse), _ridges()))


def _shown_generations(card: Gpu) -> str:
    return translate("the {name} ({year})", name=card.name, year=card.year)


def _growth(cards: list[Gpu], *, sparse: bool) -> Mapping[str, tuple[tuple[float, float], ...]]:
    """Each quantity over the years, relative to the first card that has it."""
    quantities = {
        noted("peak"): [card.peak * (2 if sparse and card.year > _DENSE_ONLY else 1) for card in cards],
        noted("memory bandwidth"): [card.memory_bandwidth for card in cards],
        noted("memory"): [card.memory for card in cards],
        "NVLink": [card.nvlink for card in cards],
    }
    found = {}
    for name, sizes in quantities.items():
        start = next(size for size in sizes if size)
        found[name] = tuple((float(card.year), size / start) for card, size in zip(cards, sizes, strict=True) if size)
    return found


def _over_the_years(cards: list[Gpu], summary: str, *, sparse: bool) -> Plot:
    grown = _growth(cards, sparse=sparse)
    colors = (Color.BLUE, Color.ORANGE, Color.PURPLE, Color.GREEN)
    return Plot(
        title=translate("Growth since {year}", year=cards[0].year),
        summary=summary,
        x=_YEAR,
        y=Axis(translate("times that of the {name}", name=cards[0].name), RATIO, log=True),
        series=tuple(Series(color, name, points) for color, (name, points) in zip(colors, grown.items(), strict=True)),
        marks=tuple(
            LabeledPoint(year, factor, card.name.partition(" ")[0])
            for card, (year, factor) in zip(cards, grown["peak"], strict=True)
        ),
    )


def _ridges() -> Plot:
    """FLOPs per byte at the ridge of every card."""
    line = [GPUS[name] for name in _LINE]
    points = tuple((float(card.year), card.peak / card.memory_bandwidth) for card in line)
    others = [GPUS[name] for name in _OTHERS]
    return Plot(
        title=translate("FLOPs per byte at the ridge"),
        summary=translate("Peak over memory bandwidth: what a kernel must do with each byte to keep up"),
        x=_YEAR,
        y=Axis(translate("peak over memory bandwidth"), FLOP_PER_BYTE),
        series=(Series(Color.BLUE, "", points),),
        marks=tuple(
            LabeledPoint(float(card.year), card.peak / card.memory_bandwidth, card.name) for card in (*line, *others)
        ),
    )


def _not_the_growth(values: Values) -> Iterator[tuple[float, str]]:
    """Factors that are taken for the growth of the peak."""
    first, last = GPUS[values.word("since")], GPUS[_LATEST]
    yield (
        last.memory_bandwidth / first.memory_bandwidth,
        translate("That is how memory bandwidth grew. The peak grew faster, thanks to tensor cores and fewer bits."),
    )
    yield last.memory / first.memory, translate("That is how the memory grew.")
    yield (
        2.0 ** ((last.year - first.year) / 2),
        translate(
            "That is a doubling every two years, as in Moore's law. Tensor cores and shorter numbers added to it."
        ),
    )


GENERATIONS = Explorer(
    name="gpus",
    title=noted("How much faster did GPUs get?"),
    summary=noted("Peaks, memory, bandwidth and links over the years: what grew, and what fell behind."),
    question=noted("How many times the peak of a K40 (2013) is the peak of a B300 (2025)?"),
    predicts=noted("growth of the peak"),
    chapter="hardware",
    formulas=("throughput.ridge_intensity",),
    controls=(
        Select("since", noted("Since"), {name: f"{name} ({GPUS[name].year})" for name in _LINE[:4]}),
        Select("peak", noted("Peak"), {"dense": noted("dense"), "sparse": noted("with sparsity, as advertised")}),
    ),
    explore=_generations,
    asks=noted("How many times the peak of the first GPU is the peak of a B300?"),
    foreseen=ExplainedMistakes(
        exercise="hardware/a-decade",
        answer="compute",
        given=lambda _: {"peak": GPUS[_LATEST].peak},
        others=_not_the_growth,
    ),
    part_of="machine",
)


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
    facts = tuple(KeyFigure.quantity(name, rate, BYTE_PER_SECOND) for name, rate in rates.items())
    facts += tuple(
        KeyFigure.relative(translate("{name}, of HBM", name=translate_known(name)), rate / rates["HBM"])
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
    bars = []
    for name in shown:
        ratio, says = rates[name] / rates["HBM"], show(rates[name], BYTE_PER_SECOND)
        if ratio > 1:
            says += translate(", {times} HBM", times=relative_text(ratio))
        elif name != "HBM":
            says += translate(", {rates} of HBM", rates=percent_text(ratio))
        bars.append(Bar(name, (Part(_TONES[name], _USES[name], rates[name]),), says))
    return tuple(bars)


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
        log_slider("network", noted("Network per GPU"), (1, 400), 50, "GB/s", aside=True),
        log_slider("message", noted("Message"), (1e-3, 1000), 1, "GB", aside=True),
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
    part_of="machine",
)


_INTENSITIES = tuple(10 ** (place / 4 - 1) for place in range(21))  # 0.1 to 10,000 FLOP/B
_HEAD = 128  # size of an attention head


def _roofline(values: Values) -> ExplorerOutput:
    card = GPUS[values.word("gpu")]
    peak, bandwidth = card.peak, card.memory_bandwidth
    size = values.count("size")
    kernels = _kernels(size, values.count("sequence"))
    ridge = throughput.ridge_intensity(peak, bandwidth)
    reached = {name: throughput.attainable_flops(x, peak, bandwidth) for name, x in kernels.items()}
    bound = [_kernel_name(name) for name, x in kernels.items() if x < ridge]
    says = translate(
        "On the {name} a kernel needs **{intensity}** to reach {peak}. ",
        name=card.name,
        intensity=_intensity(ridge),
        peak=show(peak, FLOP_PER_SECOND),
    ) + (
        translate("Memory-bound: {bound}.", bound=", ".join(bound))
        if bound
        else translate("None of these is memory-bound.")
    )
    facts = (
        KeyFigure(noted("ridge"), _intensity(ridge), ridge, FLOP_PER_BYTE),
        *(
            KeyFigure(_kernel_name(name), f"{_intensity(x)}, {show(reached[name], FLOP_PER_SECOND)}")
            for name, x in kernels.items()
        ),
    )
    # The product moves along the roof with its size, which its intensity is proportional to.
    grips = {name: Grip("size", size / x) for name, x in kernels.items() if name.endswith("product")}
    places = sorted({*_INTENSITIES, *kernels.values(), ridge})
    roof = tuple((x, throughput.attainable_flops(x, peak, bandwidth)) for x in places)
    plot = Plot(
        title=translate("Roofline"),
        summary=figure_summary(says),
        x=Axis(translate("arithmetic intensity"), FLOP_PER_BYTE, log=True),
        y=Axis(translate("attainable"), FLOP_PER_SECOND, log=True),
        series=(Series(Color.BLUE, card.name, roof),),
        marks=(
            *(LabeledPoint(x, reached[name], _kernel_name(name), grips.get(name)) for name, x in kernels.items()),
            LabeledPoint(ridge, peak, translate("ridge {intensity}", intensity=_intensity(ridge))),
        ),
    )
    return ExplorerOutput(says, facts, (plot,))


def _kernel_name(kernel: str) -> str:
    size, product, _ = kernel.partition("³ product")
    return translate("{size}³ product", size=Numeral(size)) if product else translate_known(kernel)


def _kernels(size: int, sequence: int) -> dict[str, float]:
    """The arithmetic intensity of some kernels."""
    attention = 2 * throughput.matmul_flops(sequence, sequence, _HEAD)
    return {
        "ReLU": throughput.elementwise_intensity(2.0, 1, 1),
        noted("attention, unfused"): attention / throughput.standard_attention_bytes(sequence, _HEAD),
        noted("attention, fused"): attention / (4 * sequence * _HEAD * 2),
        f"{size:,}³ product": throughput.matmul_intensity(size, size, size, 2.0),
    }


def _intensity(value: float) -> str:
    return f"{figures(value)} FLOP/B"


ROOFLINE = Explorer(
    name="roofline",
    title=noted("Compute-bound or memory-bound?"),
    summary=noted("The roofline of a GPU, with a matrix product, a ReLU, and attention."),
    question=noted("From which arithmetic intensity on is a kernel on an H100 compute-bound?"),
    predicts=noted("ridge"),
    chapter="hardware",
    formulas=(
        "throughput.ridge_intensity",
        "throughput.attainable_flops",
        "throughput.matmul_intensity",
        "throughput.elementwise_intensity",
    ),
    controls=(
        GPU,
        Slider("size", noted("Side of the product"), (16, 32768), default=4096, doubles=True, aside=True),
        Slider(
            "sequence", noted("Sequence length of the attention"), (128, 131072), default=4096, doubles=True, aside=True
        ),
    ),
    explore=_roofline,
    asks=noted("From which arithmetic intensity on is a kernel on this GPU compute-bound?"),
    foreseen=ExplainedMistakes(
        exercise="hardware/ridge-point",
        given=lambda values: {
            "peak": GPUS[values.word("gpu")].peak,
            "bandwidth": GPUS[values.word("gpu")].memory_bandwidth,
        },
    ),
    part_of="machine",
)


_PARTS = ((noted("Kernels"), ROOFLINE), (noted("Links"), HIERARCHY), (noted("Generations"), GENERATIONS))


def _machine(values: Values) -> ExplorerOutput:
    kernels, links, generations = (part.explore(values) for _, part in _PARTS)
    rates = tuple(fact for fact in links.facts if fact.unit == BYTE_PER_SECOND)
    return ExplorerOutput(
        "\n\n".join(one.says for one in (kernels, links, generations)),
        kernels.facts[:1] + rates,
        kernels.figures + links.figures + generations.figures,
    )


MACHINE = Explorer(
    name="machine",
    title=noted("What can a machine do?"),
    summary=noted("The roofline of a GPU, a message over each of its links, and what grew over the generations."),
    question=ROOFLINE.question,
    predicts=ROOFLINE.predicts,
    chapter="hardware",
    formulas=tuple(dict.fromkeys(name for _, part in _PARTS for name in part.formulas)),
    controls=(
        replace(GPU, group=noted("Machine")),
        *(
            replace(control, aside=True)
            for name, part in _PARTS
            for control in in_group(name, *(one for one in part.controls if one.name != GPU.name))
        ),
    ),
    explore=_machine,
    asks=ROOFLINE.asks,
    foreseen=ExplainedMistakes(exercise="hardware/ridge-point", given=ROOFLINE.foreseen.given),
)
