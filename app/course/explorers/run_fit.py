"""Whether a run fits, how long its step takes, and what is said of it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from app.core.charts.axes import Axis, Color, Tone, money_text, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Layout
from app.core.formulas.presets.stacks import likely_stack, stack_recipe
from app.core.formulas.step.speeds import attention_kernels
from app.core.predicting.estimate import PredictionRequest, estimate
from app.core.translation import noted, translate, translate_known
from app.core.units import BYTE, DOLLAR, FLOP, JOULE, SECOND, Seconds, show
from app.course.explorers import placements, published_runs
from app.course.explorers.base import Explorer, ExplorerOutput, KeyFigure, StateTable, Values, YesOrNo
from app.course.explorers.controls import Select, Slider, in_group, log_slider
from app.course.explorers.layouts import MORE_CARDS, MORE_MODELS, memory_bars, traffic_bars
from app.course.explorers.projection import (
    HEADER,
    Neighbor,
    Projection,
    best_neighbors,
    is_better,
    neighbor_row,
    projection,
)
from app.course.explorers.runs import bill_drawing, energy_text
from app.course.explorers.words import change_words, counted_noun, figure_summary

_SEEN = 0.0005  # of a step; what takes less is not mentioned
_MODELS = (*placements.MODELS, "Llama-3.1-8B", "Llama-3.1-70B", *MORE_MODELS)
_DEGREES = ("tensor", "pipeline", "context", "expert", "data")
_HELD_BACK = 0.05  # of what is allocated
_DOUBLINGS, _NODE = 12, 8  # of the GPUs that a run would fit on, and the largest tensor parallelism of it


def verdict_of(run: Projection, paper: published_runs.ExplorableRun | None) -> YesOrNo:
    """Whether it fits and by how much; in a sentence, the step and the layout."""
    if run.spare >= 0:
        return YesOrNo(True, translate("Yes: {spare} to spare.", spare=show(run.spare, BYTE, 3)), _step_text(run))
    lacking, room = show(-run.spare, BYTE, 3), show(run.room, BYTE)
    title = translate("No: {lacking} more than the {room} of a GPU.", lacking=lacking, room=room)
    if paper:
        return YesOrNo(False, title, translate("It ran, but these formulas say that it does not fit."))
    return YesOrNo(False, title, _larger_machine(run))


def _step_text(run: Projection) -> str:
    """The time of a step with its range, and the layout, in a sentence."""
    low, high = _step_range(run)
    step = translate(
        "{step} ({low} to {high})",
        step=show(run.times.total, SECOND, 3),
        low=show(low, SECOND, 3),
        high=show(high, SECOND, 3),
    )
    says = translate("{step} a step, {layout}.", step=step, layout=layout_words(run.placed.layout))
    if run.spare < _HELD_BACK * run.memory.total:
        says += translate(" That is tight: an allocator may hold 5 % more than it hands out.")
    return says


def _step_range(run: Projection) -> tuple[Seconds, Seconds]:
    """The shortest and the longest step with the program that would most likely train, which nobody named."""
    placed, total = run.placed, run.times.total
    stack = likely_stack(placed.layout, placed.cluster.gpu, None)
    found = estimate(
        PredictionRequest(
            model=placed.model,
            cluster=placed.cluster,
            layout=placed.layout,
            recipe=stack_recipe(stack, None),
            shares=run.shares,
            stack=stack,
        )
    )
    return min(found.low, total), max(found.high, total)


def layout_words(layout: Layout) -> str:
    """The degrees of *layout* that are not 1, and what it shards and computes again.

    >>> layout_words(Layout(tensor=4, data=4, zero_stage=2))
    'tensor\xa04 × data\xa04, ZeRO\xa02'
    """
    degrees = [f"{name} {getattr(layout, name)}" for name in _DEGREES if getattr(layout, name) > 1]
    words = [" × ".join(one.replace(" ", "\N{NO-BREAK SPACE}") for one in degrees) or translate("one GPU")]
    if layout.virtual > 1:
        words.append(counted_noun(layout.virtual, "pipeline chunk"))
    if layout.micro_batch > 1:
        words.append(translate("micro-batches of {count}", count=layout.micro_batch))
    if layout.shards > 1:
        words.append(f"ZeRO\N{NO-BREAK SPACE}{layout.zero_stage}")
    again = {"operations": translate("recomputation of operations"), "full": translate("full recomputation")}
    return ", ".join([*words, *filter(None, [again.get(layout.recompute)])])


def _larger_machine(run: Projection) -> str:
    """How many of the same GPUs the run would fit on, sharded and computed again as far as that goes."""
    placed = run.placed
    for more in (2**power for power in range(1, _DOUBLINGS)):
        gpus = more * run.gpus
        tensor = min(placed.cluster.gpus_per_node, _NODE)
        for split in (1, tensor):
            layout = Layout(
                tensor=split,
                data=gpus // split,
                zero_stage=3,
                recompute="full",
                sequence=placed.layout.sequence,
                context_by="all-gather",
            )
            with suppress(ValueError):
                kernels = attention_kernels(placed.model, placed.cluster.gpu)
                if memory_budget(placed.model, layout, kernels=kernels).total <= run.room:
                    return translate(
                        "It fits on {gpus} of them: {layout}.", gpus=f"{gpus:,}", layout=layout_words(layout)
                    )
    return ""


def fit_of(run: Projection) -> str:
    """How much memory is left, or lacking."""
    room = show(run.room, BYTE)
    if run.spare >= 0:
        return translate("{spare} of {room} to spare on the fullest GPU.", spare=show(run.spare, BYTE, 3), room=room)
    return translate("The fullest GPU needs {spare} more than its {room}.", spare=show(-run.spare, BYTE, 3), room=room)


def _limits(run: Projection) -> tuple[tuple[float, str], ...]:
    """What a step spends its time on, the most first."""
    times = run.times
    spent = (
        (times.compute + times.recompute + times.launches + times.optimizer, translate("compute")),
        (run.communication, translate("communication")),
        (times.bubble, translate("the pipeline bubble")),
    )
    return tuple(sorted(spent, reverse=True))


def limit_of(run: Projection) -> str:
    """What limits the run, in a few words."""
    if run.spare < 0:
        return translate("memory")
    spent, name = _limits(run)[0]
    return f"{name}, {percent_text(spent / run.times.total)}"


def said_of(run: Projection, paper: published_runs.ExplorableRun | None) -> str:
    """What a step takes, what was published, and how far to trust it (Markdown)."""
    total = run.times.total
    (most, first), *rest = ((spent, name) for spent, name in _limits(run) if spent > _SEEN * total)
    says = translate(
        "A step of {tokens:,} tokens takes **{total}**. {most} of it is {first}",
        tokens=run.placed.layout.tokens,
        total=show(total, SECOND),
        most=percent_text(most / total),
        first=first,
    )
    says += "".join(f", {percent_text(spent / total)} {name}" for spent, name in rest) + "."
    if run.communication > _SEEN * total:
        longest, kind = max((spent, kind) for kind, spent in run.sent)
        says += translate(
            " Most of the communication is for {kind}, {longest}.", kind=kind, longest=show(longest, SECOND, 3)
        )
    near, far = published_runs.off_by()
    limits = translate("This is a projection. For published runs, it is off by {near} to {far}.", near=near, far=far)
    taken = translate("The cluster is taken to be {cluster}.", cluster=run.placed.cluster.understood)
    return f"{says} {taken}\n\n{' '.join(filter(None, (_published(run, paper), limits)))}"


def _published(run: Projection, paper: published_runs.ExplorableRun | None) -> str:
    """What was published of this run, or of one on the same GPUs."""
    if paper:
        printed = paper.printed[0]
        took = show(run.times.total * printed.slower(run), SECOND)
        return translate(
            "**Published:** {name} reports {text}, which is a step of {took}. {apart}",
            name=translate_known(paper.name),
            text=printed.text,
            took=took,
            apart=translate_known(paper.apart) if paper.apart else "",
        )
    if near := published_runs.published_near(run.placed):
        printed = near.printed[0]
        here = printed.measure.of(near.projected)
        return translate(
            "**Published, in another layout:** {name} reports {text}. Projected, that layout gets {text_2} ({change}).",
            name=translate_known(near.name),
            text=printed.text,
            text_2=printed.measure.text(here),
            change=change_words(here, printed.value),
        )
    return ""


def fitting_next_steps(run: Projection, others: tuple[Neighbor, ...]) -> str:
    """What the table of neighbors shows."""
    better = [one for one in others if is_better(one, run)]
    if run.spare < 0:
        if better:
            return translate("Single changes that make it fit, those with the fewest GPU-hours first.")
        smaller = translate("These save the most memory.") if others else ""
        return translate("No single change makes it fit. {smaller}", smaller=smaller).rstrip()
    if len(better) == len(others) > 0:
        return translate("The single changes that save the most GPU-hours.")
    if better:
        return translate("The single changes with the fewest GPU-hours. Not all of them are better.")
    nearest = translate("These come closest.") if others else ""
    return translate(
        "No single change that fits saves half a percent of the GPU-hours. {nearest}", nearest=nearest
    ).rstrip()


def _explored(values: Values) -> ExplorerOutput:
    placed = placements.placement(values)
    run, paper = projection(values, placed), published_runs.published_as(placed)
    others = best_neighbors(FIT.controls, values, run)
    flops = translate("{flops} per token", flops=show(run.token_flops, FLOP, 3)), run.token_flops * run.tokens
    power = run.placed.cluster.gpu.power, values.number("electricity")
    figures = (
        memory_bars(placed.model, placed.cluster, placed.layout, figure_summary(fit_of(run))),
        _step_bars(run, paper),
        traffic_bars(placed.model, placed.cluster, placed.layout),
        bill_drawing(flops, gpus=run.gpus, used=run.utilization, time=run.duration, price=run.price, power=power),
    )
    return ExplorerOutput(
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
            published_runs.trust_figures(),
        ),
    )


def _facts(run: Projection, paper: published_runs.ExplorableRun | None) -> Iterator[KeyFigure]:
    beside = {p.measure.label: p.shown for p in paper.printed} if paper else {}

    def marked(fact: KeyFigure, label: str) -> KeyFigure:
        says = translate("published: {beside}", beside=beside[label]) if label in beside else ""
        return KeyFigure(fact.label, fact.value, fact.exact, fact.unit, beside=says)

    yield KeyFigure.quantity(noted("memory per GPU"), run.memory.total, BYTE)
    yield KeyFigure.quantity(noted("step"), run.times.total, SECOND)
    yield marked(KeyFigure.share("MFU", run.utilization), "MFU")
    yield KeyFigure(noted("limited by"), limit_of(run))
    yield KeyFigure.quantity(noted("length of the run"), run.duration, SECOND, 3)
    yield marked(KeyFigure("GPU-hours", published_runs.HOURS.text(run.hours), run.hours), "GPU-hours")
    yield KeyFigure(noted("rent"), money_text(run.rent), run.rent, DOLLAR)
    if run.placed.cluster.gpu.power:  # of some accelerators it is not published
        yield KeyFigure(noted("energy of the GPUs"), energy_text(run.energy), run.energy, JOULE)


def _step_bars(run: Projection, paper: published_runs.ExplorableRun | None) -> Bars:
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


FIT = Explorer(
    name="fit",
    title=noted("Will my run fit?"),
    summary=noted("A model, a GPU and how many: the best layout, its memory and its time."),
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
            Select("model", noted("Model"), dict(zip(_MODELS, _MODELS, strict=True)), own=placements.model_value),
            Select("gpu", "GPU", {name: name for name in (*placements.CARDS, *MORE_CARDS)}),
            Slider("gpus", "GPUs", (1, 32768), default=16384, doubles=True),
            replace(placements.NETWORK_PER_GPU, aside=True),
            Slider(
                "product", noted("Percent of the peak in products, if not the usual"), (0, 100), default=0, aside=True
            ),
        ),
        *placements.degree_controls(64),
        *placements.BATCH_CONTROLS,
        *in_group(
            noted("Run and bill"),
            log_slider("tokens", noted("Tokens of the run"), (0.001, 100), 15.6, "trillion", aside=True),
            log_slider("price", noted("Dollars per GPU-hour"), (0.1, 20), 2, aside=True),
            Slider("electricity", noted("Cents per kWh"), (1, 60), default=5, whole=False, aside=True),
        ),
    ),
    explore=_explored,
    compares=True,
)
