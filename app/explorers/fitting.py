"""Whether a run fits, how fast it is, and what it takes: layout, memory, step and bill together."""

from collections.abc import Iterator
from dataclasses import replace

from app.charts.axes import Axis, money_text, percent_text
from app.charts.bars import Bar, Bars, Part
from app.charts.color import Color, Tone
from app.explorers.base import (
    Explored,
    Explorer,
    Foreseen,
    KeyFigure,
    Preset,
    StateTable,
    Values,
    Verdict,
    change,
    quantity,
    share,
    summary_of,
)
from app.explorers.controls import Select, Slider, in_group
from app.explorers.layouts import memory_bars
from app.explorers.neighbors import HEADER, Neighbor, best_neighbors, is_better, neighbor_row
from app.explorers.placements import (
    CARDS,
    MODELS,
    NETWORK_PER_GPU,
    RECOMPUTE,
    SEQUENCES_PER_STEP,
    TOKENS_PER_SEQUENCE,
    degrees,
    placement,
)
from app.explorers.projecting import Projection, projection
from app.explorers.published import (
    DEEPSEEK,
    HOURS,
    LLAMA,
    ExplorableRun,
    off_by,
    published_as,
    published_near,
    trust,
)
from app.explorers.runs import energy_text
from app.formulas.presets import Layout
from app.translation import noted, translate
from app.units import BYTE, DOLLAR, JOULE, SECOND, show

_SEEN = 0.0005  # of a step; what takes less is not mentioned
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
    Preset("Llama 3 405B as trained", LLAMA.state),
    Preset("8B on 8 × H100", _EIGHT.state),
    Preset("DeepSeek-V3", DEEPSEEK.state),
)


def _explored(values: Values) -> Explored:
    placed = placement(values)
    run, paper = projection(values, placed), published_as(placed)
    others = best_neighbors(FIT.controls, values, run)
    figures = (
        memory_bars(placed.model, placed.cluster, placed.layout, summary_of(_fit(run))),
        _step_bars(run, paper),
    )
    return Explored(
        says=_said(run, paper),
        facts=tuple(_facts(run, paper)),
        figures=figures,
        notice=placed.notice,
        verdict=_verdict(run, paper),
        tables=(
            StateTable(
                title="One change away",
                says=_next(run, others),
                header=HEADER if others else (),
                rows=tuple(neighbor_row(run, other) for other in others),
            ),
            trust(),
        ),
    )


def _verdict(run: Projection, paper: ExplorableRun | None) -> Verdict:
    if run.spare >= 0:
        return Verdict(True, "It fits", _fit(run))
    title = "It ran, but these formulas say it does not fit" if paper else "It does not fit"
    return Verdict(False, title, _fit(run))


def _fit(run: Projection) -> str:
    """How much memory is left, or lacking."""
    room = show(run.room, BYTE)
    if run.spare >= 0:
        return f"{show(run.spare, BYTE, 3)} of {room} to spare on the fullest GPU."
    return f"The fullest GPU needs {show(-run.spare, BYTE, 3)} more than its {room}."


def _limits(run: Projection) -> tuple[tuple[float, str], ...]:
    """What a step spends its time on, the most first."""
    times = run.times
    spent = (
        (times.compute + times.recompute + times.launches + times.optimizer, "compute"),
        (run.communication, "communication"),
        (times.bubble, "the pipeline bubble"),
    )
    return tuple(sorted(spent, reverse=True))


def _limit(run: Projection) -> str:
    """What limits the run, in a few words."""
    if run.spare < 0:
        return "memory"
    spent, name = _limits(run)[0]
    return f"{name}, {percent_text(spent / run.times.total)}"


def _said(run: Projection, paper: ExplorableRun | None) -> str:
    total = run.times.total
    (most, first), *rest = ((spent, name) for spent, name in _limits(run) if spent > _SEEN * total)
    says = (
        f"A step of {run.placed.layout.tokens:,} tokens takes **{show(total, SECOND)}**. "
        f"{percent_text(most / total)} of it is {first}"
    )
    says += "".join(f", {percent_text(spent / total)} {name}" for spent, name in rest) + "."
    if run.communication > _SEEN * total:
        longest, kind = max((spent, kind) for kind, spent in run.sent)
        says += f" Most of the communication is for {kind}, {show(longest, SECOND, 3)}."
    near, far = off_by()
    limits = f"This is a projection. For the published runs below, it is off by {near} to {far}."
    return f"{says}\n\n{' '.join(filter(None, (_published(run, paper), limits)))}"


def _published(run: Projection, paper: ExplorableRun | None) -> str:
    """What was published of this run, or of one on the same GPUs."""
    if paper:
        printed = paper.printed[0]
        took = show(run.times.total * printed.slower(run), SECOND)
        return (
            f"**Published:** {paper.name} reports {printed.text}, which is a step of {took}. "
            f"{paper.apart}"
        )
    if near := published_near(run.placed):
        printed = near.printed[0]
        here = printed.measure.of(near.projected)
        return (
            f"**Published, in another layout:** {near.name} reports {printed.text}. Projected, "
            f"that layout gets {printed.measure.text(here)} ({change(here, printed.value)})."
        )
    return ""


def _facts(run: Projection, paper: ExplorableRun | None) -> Iterator[KeyFigure]:
    beside = {p.measure.label: p.shown for p in paper.printed} if paper else {}

    def marked(fact: KeyFigure, label: str) -> KeyFigure:
        says = f"published: {beside[label]}" if label in beside else ""
        return KeyFigure(fact.label, fact.value, fact.exact, fact.unit, beside=says)

    yield quantity(noted("memory per GPU"), run.memory.total, BYTE)
    yield quantity(noted("step"), run.times.total, SECOND)
    yield marked(share("MFU", run.utilization), "MFU")
    yield KeyFigure(noted("limited by"), _limit(run))
    yield quantity(noted("length of the run"), run.duration, SECOND, 3)
    yield marked(KeyFigure("GPU-hours", HOURS.text(run.hours), run.hours), "GPU-hours")
    yield KeyFigure(noted("rent"), money_text(run.rent), run.rent, DOLLAR)
    yield KeyFigure(noted("energy of the GPUs"), energy_text(run.energy), run.energy, JOULE)


def _step_bars(run: Projection, paper: ExplorableRun | None) -> Bars:
    times = run.times
    parts = (
        Part(Tone.COMPUTE, "compute, optimizer", times.compute + times.launches + times.optimizer),
        Part(Tone.RECOMPUTE, "recompute", times.recompute),
        Part(Tone.EXPOSED, "communication", run.communication),
        Part(Tone.IDLE, "bubble", times.bubble),
    )
    bars = [Bar("step", parts)]
    if paper and paper.printed:
        first = paper.printed[0]
        took = times.total * first.slower(run)
        bars.append(Bar("published", (Part(Color.GRAY, "as published", took),)))
    return Bars(
        title=translate("Time of a step"),
        summary=translate("A step takes {total}", total=show(times.total, SECOND)),
        axis=Axis(translate("time"), SECOND),
        bars=tuple(bars),
    )


def _next(run: Projection, others: tuple[Neighbor, ...]) -> str:
    """What the table of neighbors shows."""
    better = [one for one in others if is_better(one, run)]
    if run.spare < 0:
        if better:
            return "Single changes that make it fit, those with the fewest GPU-hours first."
        smaller = "These save the most memory." if others else ""
        return f"No single change makes it fit. {smaller}".rstrip()
    if len(better) == len(others) > 0:
        return "The single changes that save the most GPU-hours."
    if better:
        return "The single changes with the fewest GPU-hours. Not all of them are better."
    nearest = "These come closest." if others else ""
    return f"No single change that fits saves half a percent of the GPU-hours. {nearest}".rstrip()


def _not_the_memory(values: Values) -> Iterator[tuple[float, str]]:
    """Bytes that are taken for the memory of a GPU."""
    memory = projection(values, placement(values)).memory
    state = memory.weights + memory.gradients + memory.optimizer
    yield memory.weights, "Those are the weights alone."
    yield state, "That is the training state alone. Activations and buffers come on top of it."
    yield (
        state + memory.activations / max(1, values.count("pipeline")),
        "A stage of a pipeline holds the activations of several micro-batches at once, until their "
        "backward passes.",
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
            Select("model", noted("Model"), {name: name for name in MODELS}),
            Select("gpu", "GPU", {name: name for name in CARDS}),
            Slider("gpus", "GPUs", (1, 32768), default=16384, doubles=True),
            replace(NETWORK_PER_GPU, aside=True),
            Slider(
                "product",
                noted("Share of the peak that products reach, in percent (0: known for the GPU)"),
                (0, 100),
                default=0,
                aside=True,
            ),
        ),
        *degrees(64),
        *in_group(
            noted("Batch and recomputation"),
            Slider("micro", noted("Sequences per micro-batch"), (1, 64), default=1, doubles=True),
            SEQUENCES_PER_STEP,
            TOKENS_PER_SEQUENCE,
            Select("recompute", noted("Recomputation"), {name: name for name in RECOMPUTE}),
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
            Slider(
                "price",
                noted("Dollars per GPU-hour"),
                (0.1, 20),
                default=2,
                log=True,
                whole=False,
                aside=True,
            ),
        ),
    ),
    explore=_explored,
    asks=noted("How much memory does a GPU need?"),
    foreseen=Foreseen(others=_not_the_memory),
    presets=_PRESETS,
    compares=True,
    related=("layout",),
)
