"""How GPUs grew: compute, memory and links over the years."""

from collections.abc import Iterator, Mapping

from app.core.charts.axes import Axis, Color
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.formulas.presets import GPUS, Gpu
from app.core.translation import noted, translate
from app.core.units import FLOP_PER_BYTE, RATIO, figures, show
from app.course.explorers.base import (
    ExplainedMistakes,
    Explorer,
    ExplorerOutput,
    KeyFigure,
    Values,
    figure_summary,
    plain_figure,
)
from app.course.explorers.controls import Select

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
        plain_figure(noted("growth of the peak"), grown["peak"], 3),
        *(plain_figure(f"{name}", factor, 3) for name, factor in grown.items() if name != "peak"),
        KeyFigure(noted("ridge"), f"{show(ridges[1], FLOP_PER_BYTE, 3)}", ridges[1], FLOP_PER_BYTE),
    )
    return ExplorerOutput(says, facts, (_over_the_years(cards, figure_summary(says), sparse=sparse), _ridges()))


def _shown_generations(card: Gpu) -> str:
    return translate("the {name} ({year})", name=card.name, year=card.year)


def _growth(cards: list[Gpu], *, sparse: bool) -> Mapping[str, tuple[tuple[float, float], ...]]:
    """Each quantity over the years, relative to the first card that has it."""
    quantities = {
        noted("peak"): [_peak(card, sparse=sparse) for card in cards],
        noted("memory bandwidth"): [card.memory_bandwidth for card in cards],
        noted("memory"): [card.memory for card in cards],
        "NVLink": [card.nvlink for card in cards],
    }
    found = {}
    for name, sizes in quantities.items():
        start = next(size for size in sizes if size)
        found[name] = tuple((float(card.year), size / start) for card, size in zip(cards, sizes, strict=True) if size)
    return found


def _peak(card: Gpu, *, sparse: bool) -> float:
    """The dense peak, or that with two of every four weights zero (2:4 sparsity)."""
    return card.peak * (2 if sparse and card.year > _DENSE_ONLY else 1)


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
)
