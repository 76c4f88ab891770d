"""The page about the trust in predictions as plain values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from app.core.charts.axes import Axis, Color, percent_text
from app.core.charts.scatter import Dot, DotGroup, Mark, Scatter
from app.core.errors import NotFoundError, nearest
from app.core.published import NEAR, Outcome, PublishedRun, Source, accuracy, layout_degrees, outcomes, sources
from app.core.translation import language, localize, noted, translate
from app.core.units import BYTE, FLOP_PER_SECOND, SECOND, figures, show
from app.course.explorers.words import change_words
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.frame.renderer import Hyperlink


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """How near the predictions of the runs of a stack, or of a source, are."""

    link: Hyperlink
    rows: str
    error: str
    bias: str
    held: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A published run: what was printed, what is predicted, and why they differ."""

    name: str
    layout: str
    printed: str
    measured: str
    predicted: str
    error: str
    memory: str
    reason: str
    place: Hyperlink


def stack_rows(found: Sequence[Outcome]) -> Iterator[AccuracyRow]:
    """How near the predictions of each stack are, and all together; without runs that a preset was fitted to."""
    tests = [one for one in found if not one.run.calibrates]
    for kind in sorted({one.run.kind for one in tests}):
        yield _accuracy_row(Hyperlink("", kind), [one for one in tests if one.run.kind == kind])
    yield _accuracy_row(Hyperlink("", translate("All")), tests)


def _accuracy_row(link: Hyperlink, found: Sequence[Outcome]) -> AccuracyRow:
    near = accuracy(found)
    memory = [abs(one.memory_error) for one in found if one.memory_error is not None]
    rows = translate("{predicted} of {rows}", predicted=near.predicted, rows=near.rows)
    factor = "" if near.width is None else f"× {figures(near.width, 3)}"
    return AccuracyRow(
        link=link,
        rows=str(near.rows) if near.rows == near.predicted else rows,
        error="–" if near.error is None else percent_text(float(f"{near.error:.3g}")),
        bias="–" if near.bias is None else change_words(1 + near.bias, 1),
        held=translate("{held} of {intervals}, {factor} wide", held=near.held, intervals=near.predicted, factor=factor),
        memory=percent_text(sum(memory) / len(memory)) if memory else "–",
    )


def run_rows(found: Sequence[Outcome]) -> Iterator[RunRow]:
    """Every run of *found*, and what is predicted of it."""
    for one in found:
        run, foreseen, printed = one.run, one.prediction, one.run.printed.memory
        yield RunRow(
            name=describe_run(run),
            layout=_layout(run),
            printed=_printed(run),
            measured=show(run.step_time, SECOND, 3),
            predicted=predicted_text(one),
            error=error_text(one),
            memory=f"{show(printed, BYTE, 3)}, {change_words(foreseen.memory, printed)}"
            if printed and foreseen
            else "",
            reason=one.reason or (translate("not predicted: {why}", why=one.why) if one.why else ""),
            place=Hyperlink(run.table.address, run.place),
        )


def describe_run(run: PublishedRun) -> str:
    """*run* in a few words."""
    return translate(
        "{model} on {gpus:,} {gpu}{note}",
        model=run.model,
        gpus=run.gpus,
        gpu=run.machine.cluster.gpu.name,
        note=f", {run.note}" if run.note else "",
    )


def _layout(run: PublishedRun) -> str:
    """Degrees, batch and precision."""
    named = layout_degrees(run.layout) if run.layout else {}
    parts = [f"{name} {degree}" for name, degree in named.items()]
    parts.append(translate("{batch:,} × {sequence:,} tokens", batch=run.batch, sequence=run.sequence))
    parts.append(run.precision)
    return ", ".join((*parts, translate("release {release}", release=run.release)) if run.release else parts)


def _printed(run: PublishedRun) -> str:
    """The numbers of the source."""
    printed = run.printed
    texts = (
        (printed.seconds, f"{figures(printed.seconds, 4)} s"),
        (printed.token_rate, translate("{token_rate} tokens/s", token_rate=figures(printed.token_rate, 5))),
        (
            printed.hours_per_trillion,
            translate("{hours_per_trillion} h per 10¹² tokens", hours_per_trillion=figures(printed.hours_per_trillion)),
        ),
        (printed.rate, show(printed.rate, FLOP_PER_SECOND, 4)),
        (printed.utilization, translate("{utilization} MFU", utilization=percent_text(printed.utilization))),
    )
    return ", ".join(localize(text) for value, text in texts if value)


def predicted_text(one: Outcome) -> str:
    """The predicted time, and both ends of its range."""
    found = one.prediction
    if found is None:
        return "–"
    time, low, high = (show(value, SECOND, 3) for value in (found.time, found.low, found.high))
    return translate("{time}, {low} to {high}", time=time, low=low, high=high)


def error_text(one: Outcome) -> str:
    """How far the prediction is off."""
    return "–" if one.prediction is None else change_words(one.prediction.time, one.run.step_time)


TITLE = noted("How far to trust this")
SAYS = noted("The formulas against the training runs that others measured and published, row by row.")
ADDRESS = "/trust"
_STYLES: tuple[tuple[Color, Mark], ...] = (  # of the sources, those with the most rows first
    (Color.BLUE, "circle"),
    (Color.ORANGE, "square"),
    (Color.PURPLE, "triangle"),
    (Color.GREEN, "diamond"),
    (Color.ORANGE, "circle"),
    (Color.BLUE, "square"),
    (Color.GREEN, "triangle"),
    (Color.PURPLE, "diamond"),
    (Color.GRAY, "circle"),
    (Color.GRAY, "square"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustPage:
    """The published runs, of one source if one is chosen."""

    title: str
    chosen: str
    count: int
    predicted: int
    within: int
    near: str
    figure: FigureView
    stacks: tuple[AccuracyRow, ...]
    sources: tuple[AccuracyRow, ...]
    source: Source | None
    rows: tuple[RunRow, ...]


def known_source(name: str) -> str:
    """*name*, if it is that of a source, or empty.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = [source.id for source in sources()]
    if name and name not in known:
        raise NotFoundError(
            translate("no source is called {name!r}{near}", name=name[:40], near=nearest(name[:40], known))
        )
    return name


def _of(chosen: str) -> tuple[Outcome, ...]:
    return tuple(one for one in outcomes() if chosen in ("", one.run.source.id))


@cache
def trust_page(spoken: str, chosen: str) -> TrustPage:
    """The page of the source with the id *chosen*, or of all of them."""
    found = _of(chosen)
    drawn = scatter_of(chosen)
    source = next((one for one in sources() if one.id == chosen), None)
    return TrustPage(
        title=source.title if source else "",
        chosen=chosen,
        count=len(found),
        predicted=sum(one.prediction is not None for one in found),
        within=sum(one.is_near for one in found),
        near=percent_text(NEAR),
        figure=figure_view(drawn, ADDRESS, 0, f"?source={chosen}" if chosen else "", name="trust"),
        stacks=tuple(stack_rows(found)),
        sources=tuple(
            _accuracy_row(Hyperlink(f"{ADDRESS}?source={one.id}", one.title), mine)
            for one in sources()
            if not chosen and (mine := [row for row in found if row.run.source is one])
        ),
        source=source,
        rows=tuple(run_rows(found)) if source else (),
    )


def scatter_of(chosen: str) -> Scatter:
    """The predicted steps over the measured ones."""
    ids = {source.title: source.id for source in sources()}
    groups = tuple(group for group in _groups(language()) if group.dots and chosen in ("", ids[group.name]))
    near = sum(one.is_near for one in _of(chosen))
    total = sum(len(group.dots) for group in groups)
    return Scatter(
        title=translate("Predicted and measured time of a step"),
        summary=translate(
            "Of {total} predicted steps, {near} are within {near_2} of the measured time "
            "or hold it. On the line, both are equal.",
            total=total,
            near=near,
            near_2=percent_text(NEAR),
        ),
        x=Axis(label=translate("measured"), unit=SECOND, log=True),
        y=Axis(label=translate("predicted"), unit=SECOND, log=True),
        groups=groups,
        band=NEAR,
    )


@cache
def _groups(spoken: str) -> tuple[DotGroup, ...]:
    """The dots of each source, which have the same color and mark on every page."""
    return tuple(
        DotGroup(color, mark, source.title, tuple(_dots(source)))
        for source, (color, mark) in zip(sources(), _STYLES, strict=False)
    )


def _dots(source: Source) -> Iterator[Dot]:
    for one in _of(source.id):
        found, run = one.prediction, one.run
        if found:
            says = translate(
                "{title}, {said}: measured {step_time}, predicted {predicted_text} ({error_text})",
                title=source.title,
                said=describe_run(run),
                step_time=show(run.step_time, SECOND, 3),
                predicted_text=predicted_text(one),
                error_text=error_text(one),
            )
            yield Dot(run.step_time, found.time, found.low, found.high, describe_run(run), says)
