"""What a kernel can reach on a GPU."""

from app.core.charts.axes import Axis, Color
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.presets import GPUS
from app.core.formulas.throughput import (
    attainable_flops,
    elementwise_intensity,
    matmul_flops,
    matmul_intensity,
    ridge_intensity,
    standard_attention_bytes,
)
from app.core.translation import Numeral, noted, translate, translate_known
from app.core.units import FLOP_PER_BYTE, FLOP_PER_SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values, figure_summary
from app.course.explorers.controls import Slider
from app.course.explorers.hardware import GPU

_INTENSITIES = tuple(10 ** (place / 4 - 1) for place in range(21))  # 0.1 to 10,000 FLOP/B
_HEAD = 128  # size of an attention head


def _roofline(values: Values) -> ExplorerOutput:
    card = GPUS[values.word("gpu")]
    peak, bandwidth = card.peak, card.memory_bandwidth
    size = values.count("size")
    kernels = _kernels(size, values.count("sequence"))
    ridge = ridge_intensity(peak, bandwidth)
    reached = {name: attainable_flops(x, peak, bandwidth) for name, x in kernels.items()}
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
    places = sorted({*_INTENSITIES, *kernels.values(), ridge})
    roof = tuple((x, attainable_flops(x, peak, bandwidth)) for x in places)
    plot = Plot(
        title=translate("Roofline"),
        summary=figure_summary(says),
        x=Axis(translate("arithmetic intensity"), FLOP_PER_BYTE, log=True),
        y=Axis(translate("attainable"), FLOP_PER_SECOND, log=True),
        series=(Series(Color.BLUE, card.name, roof),),
        marks=(
            *(LabeledPoint(x, reached[name], _kernel_name(name), _grip(name, x, size)) for name, x in kernels.items()),
            LabeledPoint(ridge, peak, translate("ridge {intensity}", intensity=_intensity(ridge))),
        ),
    )
    return ExplorerOutput(says, facts, (plot,))


def _grip(kernel: str, intensity: float, size: int) -> Grip | None:
    """The product moves along the roof with its size, which its intensity is proportional to."""
    return Grip("size", size / intensity) if kernel.endswith("product") else None


def _kernel_name(kernel: str) -> str:
    size, product, _ = kernel.partition("³ product")
    return translate("{size}³ product", size=Numeral(size)) if product else translate_known(kernel)


def _kernels(size: int, sequence: int) -> dict[str, float]:
    """The arithmetic intensity of some kernels."""
    attention = 2 * matmul_flops(sequence, sequence, _HEAD)
    return {
        "ReLU": elementwise_intensity(2.0, 1, 1),
        noted("attention, unfused"): attention / standard_attention_bytes(sequence, _HEAD),
        noted("attention, fused"): attention / (4 * sequence * _HEAD * 2),
        f"{size:,}³ product": matmul_intensity(size, size, size, 2.0),
    }


def _intensity(value: float) -> str:
    return f"{figures(value)} FLOP/B"


def _rates_of(values: Values) -> dict[str, float]:
    """The peak and the memory bandwidth of the GPU."""
    card = GPUS[values.word("gpu")]
    return {"peak": card.peak, "bandwidth": card.memory_bandwidth}


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
    foreseen=ExplainedMistakes(exercise="hardware/ridge-point", given=_rates_of),
)
