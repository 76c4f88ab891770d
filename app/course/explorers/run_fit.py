"""Whether a run fits, how fast it is, and what it takes: layout, memory, step and bill together."""

from collections.abc import Iterator
from dataclasses import replace

from app.core.charts.axes import Axis, money_text, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Drawing
from app.core.formulas.cost import electricity_cost
from app.core.formulas.presets import Layout
from app.core.translation import noted, translate
from app.core.units import BYTE, DOLLAR, FLOP, JOULE, SECOND, show
from app.course.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    KeyFigure,
    Preset,
    StateTable,
    Values,
    counted,
    figure_summary,
    quantity_figure,
    share_figure,
)
from app.course.explorers.configured_states import model_value
from app.course.explorers.controls import Select, Slider, in_group
from app.course.explorers.layouts import MORE_CARDS, MORE_MODELS, memory_bars
from app.course.explorers.neighbors import HEADER, best_neighbors, neighbor_row
from app.course.explorers.placements import (
    CARDS,
    MODELS,
    NETWORK_PER_GPU,
    PRECISIONS,
    RECOMPUTE,
    SEQUENCES_PER_STEP,
    TOKENS_PER_SEQUENCE,
    degree_controls,
    placement,
)
from app.course.explorers.projection import Projection, projection
from app.course.explorers.published_runs import HOURS, LLAMA, LLAMA_LONG, ExplorableRun, published_as, trust_figures
from app.course.explorers.run_fit_words import fit_of, fitting_next_steps, limit_of, said_of, verdict_of
from app.course.explorers.runs import bill_drawing, energy_text
from app.course.explorers.traffic import traffic_bars

_EIGHT = ExplorableRun(
    name="Llama 3.1 8B on 8 H100s",
    model="Llama-3-8B",
    gpu="H100",
    network=50,
    layout=Layout(data=8, zero_stage=3, microbatches=8),
    tokens=0.16,
    printed=(),
    source="20 tokens per parameter, 64 sequences per step",
)
_PRESETS = (
    Preset(noted("Llama 3 405B as trained"), LLAMA.state),
    Preset(noted("8B on 8 × H100"), _EIGHT.state),
    Preset(LLAMA_LONG.name, LLAMA_LONG.state),
)


def _explored(values: Values) -> Explored:
    placed = placement(values)
    run, paper = projection(values, placed), published_as(placed)
    others = best_neighbors(FIT.controls, values, run)
    figures = (
        memory_bars(placed.model, placed.cluster, placed.layout, figure_summary(fit_of(run))),
        _step_bars(run, paper),
        traffic_bars(placed.model, placed.cluster, placed.layout),
        _bill(run, values.number("electricity") / 100),
    )
    return Explored(
        says=said_of(run, paper),
        facts=tuple(_facts(run, paper)),
        figures=figures,
        notice=placed.notice,
        verdict=verdict_of(run, paper),
        tables=(
            StateTable(
                title=translate("One change away"),
                says=fitting_next_steps(run, others),
                header=HEADER if others else (),
                rows=tuple(neighbor_row(run, other) for other in others),
            ),
            trust_figures(),
        ),
    )


def _facts(run: Projection, paper: ExplorableRun | None) -> Iterator[KeyFigure]:
    beside = {p.measure.label: p.shown for p in paper.printed} if paper else {}

    def marked(fact: KeyFigure, label: str) -> KeyFigure:
        says = translate("published: {beside}", beside=beside[label]) if label in beside else ""
        return KeyFigure(fact.label, fact.value, fact.exact, fact.unit, beside=says)

    yield quantity_figure(noted("memory per GPU"), run.memory.total, BYTE)
    yield quantity_figure(noted("step"), run.times.total, SECOND)
    yield marked(share_figure("MFU", run.utilization), "MFU")
    yield KeyFigure(noted("limited by"), limit_of(run))
    yield quantity_figure(noted("length of the run"), run.duration, SECOND, 3)
    yield marked(KeyFigure("GPU-hours", HOURS.text(run.hours), run.hours), "GPU-hours")
    yield KeyFigure(noted("rent"), money_text(run.rent), run.rent, DOLLAR)
    if run.placed.cluster.gpu.power:  # of some accelerators it is not published
        yield KeyFigure(noted("energy of the GPUs"), energy_text(run.energy), run.energy, JOULE)


def _step_bars(run: Projection, paper: ExplorableRun | None) -> Bars:
    times = run.times
    parts = (
        Part(Tone.COMPUTE, translate("compute, optimizer"), times.compute + times.launches + times.optimizer),
        Part(Tone.RECOMPUTE, translate("recompute"), times.recompute),
        Part(Tone.EXPOSED, translate("communication"), run.communication),
        Part(Tone.IDLE, translate("bubble"), times.bubble),
    )
    bars = [Bar(translate("step"), parts)]
    if paper and paper.printed:
        first = paper.printed[0]
        took = times.total * first.slower(run)
        bars.append(Bar(translate("published"), (Part(Color.GRAY, translate("as published"), took),)))
    return Bars(
        title=translate("Time of a step"),
        summary=translate("A step takes {total}", total=show(times.total, SECOND)),
        axis=Axis(translate("time"), SECOND),
        bars=tuple(bars),
    )


def _bill(run: Projection, dollars_per_kwh: float) -> Drawing:
    return bill_drawing((*_bill_of_time(run), *_bill_of_energy(run, dollars_per_kwh)))


def _bill_of_time(run: Projection) -> Iterator[tuple[str, str]]:
    yield (
        translate("{flops} per token", flops=show(run.token_flops, FLOP, 3)),
        show(run.token_flops * run.tokens, FLOP, 3),
    )
    gpu, shown = counted(run.gpus, "GPU"), percent_text(run.utilization)
    yield translate("{gpu} at {shown}", gpu=gpu, shown=shown), show(run.duration, SECOND, 3)
    yield translate("GPU-hours"), HOURS.text(run.hours)
    price = money_text(run.price)
    yield translate("Rent at {price} an hour", price=price), money_text(run.rent)


def _bill_of_energy(run: Projection, dollars_per_kwh: float) -> Iterator[tuple[str, str]]:
    watts = run.placed.cluster.gpu.power
    if not watts:
        return
    electricity = electricity_cost(run.gpus, watts, run.duration, dollars_per_kwh)
    yield translate("Energy at {watts:,.0f} W", watts=watts), energy_text(run.energy)
    cents = 100 * dollars_per_kwh
    yield (translate("Of it, electricity at {electricity:.3g} ¢/kWh", electricity=cents), money_text(electricity))


def _not_the_memory(values: Values) -> Iterator[tuple[float, str]]:
    """Bytes that are taken for the memory of a GPU."""
    memory = projection(values, placement(values)).memory
    state = memory.weights + memory.gradients + memory.optimizer
    yield memory.weights, translate("Those are the weights alone.")
    yield (state, translate("That is the training state alone. Activations and buffers come on top of it."))
    yield (
        state + memory.activations / max(1, values.count("pipeline")),
        translate(
            "A stage of a pipeline holds the activations of several micro-batches at once, until their backward passes."
        ),
    )


FIT = Explorer(
    name="fit",
    title=noted("Will my run fit?"),
    summary=noted("How fast is it, how much does it cost, and what limits it?"),
    question=noted("Llama 3.1 405B as trained on 16,384 H100s: how much memory does a GPU need?"),
    predicts=noted("memory per GPU"),
    chapter="capstone",
    formulas=(
        "memory.memory_budget",
        "layout.step_time",
        "throughput.training_time",
        "cost.rental_cost",
        "cost.energy",
    ),
    controls=(
        *in_group(
            noted("Model and machine"),
            Select("model", noted("Model"), {name: name for name in (*MODELS, *MORE_MODELS)}, own=model_value),
            Select("gpu", "GPU", {name: name for name in (*CARDS, *MORE_CARDS)}),
            Slider("gpus", "GPUs", (1, 32768), default=16384, doubles=True),
            replace(NETWORK_PER_GPU, aside=True),
            Slider(
                "product", noted("Percent of the peak in products (0: known value)"), (0, 100), default=0, aside=True
            ),
        ),
        *degree_controls(64),
        *in_group(
            noted("Batch and recomputation"),
            Slider("micro", noted("Sequences per micro-batch"), (1, 64), default=1, doubles=True),
            SEQUENCES_PER_STEP,
            TOKENS_PER_SEQUENCE,
            Select("recompute", noted("Recomputation"), dict(RECOMPUTE)),
            Select("precision", noted("Products in"), {name: name for name in PRECISIONS}),
        ),
        *in_group(
            noted("Run and bill"),
            Slider(
                "tokens",
                noted("Tokens of the run"),
                (0.001, 100),
                default=15.6,
                unit="trillion",
                log=True,
                whole=False,
                aside=True,
            ),
            Slider("price", noted("Dollars per GPU-hour"), (0.1, 20), default=2, log=True, whole=False, aside=True),
            Slider("electricity", noted("Cents per kWh"), (1, 60), default=5, whole=False, aside=True),
        ),
    ),
    explore=_explored,
    asks=noted("How much memory does a GPU need?"),
    foreseen=Foreseen(others=_not_the_memory),
    presets=_PRESETS,
    compares=True,
)
