"""Published runs that the controls can describe, and what was measured of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from app.core.formulas.presets import GPUS, Layout, ModelShape
from app.core.published import PrintedNumbers, published_run
from app.core.translation import Numeral, language, noted, translate, translate_known
from app.core.units import FLOP_PER_SECOND, figures, show
from app.course.explorers.base import StateRow, StateTable
from app.course.explorers.placements import Placement, layout_state, named_cluster
from app.course.explorers.projection import Projection, project_run
from app.course.explorers.words import change_words

_GIGA, _TRILLION = 1e9, 1e12
_TOKENS = 160e9  # of a run of 8 billion parameters whose length was not published


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMeasure:
    """Something that papers print of a run, and its value *of* a projection; if it *costs*, it grows with the step."""

    label: str
    of: Callable[[Projection], float]
    printed: Callable[[PrintedNumbers], float]
    text: Callable[[float], str]
    costs: bool = False


MFU = PublishedMeasure(
    label="MFU",
    of=lambda run: run.utilization,
    printed=lambda of: of.utilization,
    text=lambda share: f"{figures(100 * share, 3)} %",
)
RATE = PublishedMeasure(
    label=noted("FLOP/s per GPU"),
    of=lambda run: run.rate,
    printed=lambda of: of.rate,
    text=lambda rate: show(rate, FLOP_PER_SECOND, 3),
)
TOKEN_RATE = PublishedMeasure(
    label=noted("tokens per second and GPU"),
    of=lambda run: run.token_rate,
    printed=lambda of: of.token_rate,
    text=lambda rate: figures(float(f"{rate:.4g}")),
)
HOURS = PublishedMeasure(
    label="GPU-hours",
    of=lambda run: run.hours,
    printed=lambda of: of.gpu_hours,
    text=lambda hours: f"{figures(float(f'{hours:.4g}'))}",
    costs=True,
)
HOURS_PER_TRILLION = PublishedMeasure(
    label=noted("GPU-hours per trillion tokens"),
    of=lambda run: run.hours_per_trillion,
    printed=lambda of: of.hours_per_trillion,
    text=lambda hours: f"{figures(float(f'{hours:.3g}'))}",
    costs=True,
)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A number of a paper."""

    measure: PublishedMeasure
    value: float

    @property
    def shown(self) -> str:
        """The number."""
        return self.measure.text(self.value)

    @property
    def text(self) -> str:
        """The number and what it is of."""
        return f"{self.shown} {translate_known(self.measure.label)}"

    def slower(self, run: Projection) -> float:
        """How many times as long as *run* this one took."""
        ratio = self.value / self.measure.of(run)
        return ratio if self.measure.costs else 1 / ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorableRun:
    """A run as published: the first *printed* number tells its step, and *apart* what the formulas do not describe."""

    name: str
    model: str
    gpu: str
    network: float  # GB/s per GPU
    layout: Layout
    tokens: float  # trillions
    printed: tuple[PrintedNumber, ...]
    source: str
    apart: str = ""

    @property
    def state(self) -> Mapping[str, str]:
        """The controls that describe it."""
        return {
            "model": self.model,
            "gpu": self.gpu,
            "gpus": str(self.layout.gpus),
            "network": f"{self.network:g}",
            **layout_state(self.layout),
            "tokens": f"{self.tokens:g}",
            "product": "0",
        }

    @property
    def projected(self) -> Projection:
        """What the formulas say of it."""
        cluster = named_cluster(self.gpu, self.layout.gpus, self.network * _GIGA)
        placed = Placement(model=ModelShape.named(self.model), cluster=cluster, layout=self.layout)
        return project_run(placed, round(self.tokens * _TRILLION))

    def is_of(self, placed: Placement) -> bool:
        """Whether it is the run that is laid out like that."""
        own = placed.layout
        same = replace(
            self.layout,
            name=own.name,
            source=own.source,
            sequence_parallel=own.sequence_parallel,
            context_by=own.context_by,
        )
        machine = ModelShape.named(self.model), GPUS[self.gpu]
        return same == own and machine == (placed.model, placed.cluster.gpu)


def _published_layout(
    row: str, name: str, *measures: PublishedMeasure, gpu: str, apart: str = "", model: str = ""
) -> ExplorableRun:
    """The published *row*, as the controls describe it: products in 16 bits."""
    run = published_run(row)
    if run.shape is None or run.layout is None:
        raise ValueError(f"{row} has no layout: {run.unknown}")
    return ExplorableRun(
        name=name,
        model=model or run.shape.name,
        gpu=gpu,
        network=run.machine.cluster.inter_bandwidth / _GIGA,
        layout=replace(run.layout, precision="16-bit"),
        tokens=(run.printed.run_tokens or _TOKENS) / _TRILLION,
        printed=tuple(PrintedNumber(each, each.printed(run.printed)) for each in measures),
        source=run.table.name,
        apart=apart,
    )


LLAMA = _published_layout(
    "llama-3 table row 2",
    noted("Llama 3 405B on 16,384 H100s"),
    *(MFU, RATE, HOURS),
    gpu="H100",
    apart=noted("The GPU-hours are those of the model card, a total that may include other stages and interruptions."),
)
DEEPSEEK = _published_layout(
    "deepseek-v3 table row 1",
    noted("DeepSeek-V3 on 2,048 H800s"),
    *(HOURS_PER_TRILLION, HOURS),
    gpu="H800",
    apart=noted(
        "This run is outside the model. DeepSeek computes products in 8 bits, hides the "
        "all-to-alls behind computation, stores activations in 8 bits and recomputes norms and "
        "up-projections; this projection does none of it, so both time and memory come out too "
        "large."
    ),
)
LLAMA_LONG = _published_layout("llama-3 table row 3", noted("Llama 3 405B, 128K tokens"), MFU, gpu="H100")
RUNS = (
    _published_layout(
        "llama-3 table row 1",
        noted("Llama 3 405B on 8,192 H100s"),
        MFU,
        gpu="H100",
        apart=noted("The batch is that of 16,384 GPUs, so that each holds more micro-batches."),
    ),
    LLAMA,
    LLAMA_LONG,
    _published_layout(
        "torchtitan 2024 table 1 row 2",
        noted("Llama 3.1 8B on 8 H100s of 500 W (torchtitan)"),
        TOKEN_RATE,
        gpu="H100 96GB HBM2e 500 W",
        model="Llama-3-8B",
        apart=noted(
            "Limited to 500 W, these GPUs run below the clock of their peak; how far below it is is not published."
        ),
    ),
    DEEPSEEK,
)


def published_as(placed: Placement) -> ExplorableRun | None:
    """The published run that is laid out like that, if there is one."""
    return next((run for run in RUNS if run.is_of(placed)), None)


def published_near(placed: Placement) -> ExplorableRun | None:
    """A published run of the same model on as many of the same GPUs, if there is one."""
    wanted = placed.model, placed.cluster.gpu, placed.cluster.gpus
    return next((run for run in RUNS if (ModelShape.named(run.model), GPUS[run.gpu], run.layout.gpus) == wanted), None)


@cache
def off_by() -> tuple[str, str]:
    """The smallest and the largest error of a projected step, of published runs."""
    errors = sorted(abs(1 / run.printed[0].slower(run.projected) - 1) for run in RUNS)
    least, most = (Numeral(f"{100 * error:.2g} %") for error in (errors[0], errors[-1]))
    return least, most


def trust_figures() -> StateTable:
    """Published runs and what the formulas say of them."""
    return _trust(language())


@cache
def _trust(spoken: str) -> StateTable:
    rows = []
    for paper in RUNS:
        run = paper.projected
        for printed in paper.printed:
            label, of = printed.measure.label, printed.measure.of(run)
            off = change_words(of, printed.value)
            cells = label, printed.shown, printed.measure.text(of), off, paper.source
            rows.append(StateRow(paper.name, paper.state, cells))
    return StateTable(
        title=translate("How far to trust this"),
        says=(
            translate(
                "These are projections. Kernels and links reach the shares of their peaks that are "
                "listed with the hardware, and no GPU waits for a slower one. A framework's own "
                "memory is not included. Where a step was published, this is how far the "
                "projection is from it. [All published runs](/trust) are on a page of their own."
            )
        ),
        header=(
            translate("Published run"),
            translate("Number"),
            translate("Published"),
            translate("Projected"),
            translate("Off by"),
            translate("Source"),
        ),
        rows=tuple(rows),
        folded=True,
    )
