"""The page about the trust in predictions as plain values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from app.core.charts.axes import Axis, Color, percent_text
from app.core.charts.scatter import Dot, DotGroup, Mark, Scatter
from app.core.errors import NotFoundError, nearest
from app.core.formulas.presets import GPUS, LINKS, Gpu, Link
from app.core.formulas.records import hints_of
from app.core.published import (
    NEAR,
    Outcome,
    PublishedAccuracy,
    PublishedRun,
    Source,
    accuracy,
    layout_degrees,
    outcomes,
    sources,
)
from app.core.translation import SOURCE, language, localize, noted, translate
from app.core.units import BYTE, FLOP_PER_SECOND, SECOND, Unit, figures, show
from app.course.explorers.base import change_words
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.frame.renderer import Hyperlink
from app.site.web.reference.formulas import anchor_of, field_name

# What a prediction does not depend on.
_UNUSED = {"name", "source", "year", "power", "tensor_cores", "nvlink"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """How near the predictions of a source are; *worst* is the farthest, and why."""

    link: Hyperlink
    rows: str
    error: str
    bias: str
    held: str
    memory: str
    worst: str


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


@dataclass(frozen=True, slots=True)
class CoefficientRow:
    """The numbers of a GPU or link that the predictions start from, and their source.

    A GPU that differs from its preset is not on another page, so that its link has no address.
    """

    link: Hyperlink
    values: str
    source: str


def accuracy_rows(found: Sequence[Outcome], shown: Sequence[Source]) -> Iterator[AccuracyRow]:
    """How near the predictions of each source are; if there are more, also all together."""
    for source in shown:
        mine = [one for one in found if one.run.source is source]
        yield _accuracy_row(source.title, source_href(source), accuracy(mine), mine)
    if len(shown) > 1:
        dense = [one for one in found if one.run.is_dense_16_bit]
        tests = [one for one in dense if not one.run.calibrates]
        yield _accuracy_row(translate("Dense, in 16 bits"), "", accuracy(tests), tests)
        yield _accuracy_row(translate("All"), "", accuracy(found), found)


def _accuracy_row(name: str, href: str, near: PublishedAccuracy, found: Sequence[Outcome]) -> AccuracyRow:
    held = (
        translate(
            "{held} of {intervals}, {factor} wide", held=near.held, intervals=near.intervals, factor=_factor(near.width)
        )
        if near.intervals
        else "–"
    )
    memory = [abs(one.memory_error) for one in found if one.memory_error is not None]
    worst = near.worst
    why = f": {worst.reason}" if worst and worst.reason else ""
    farthest = f"{worst.run.said}, {error_text(worst)}{why}" if worst else "–"
    return AccuracyRow(
        link=Hyperlink(href, name),
        rows=str(near.rows)
        if near.rows == near.predicted
        else translate("{predicted} of {rows}", predicted=near.predicted, rows=near.rows),
        error="–" if near.error is None else percent_text(float(f"{near.error:.3g}")),
        bias="–" if near.bias is None else change_words(1 + near.bias, 1),
        held=held,
        memory=percent_text(sum(memory) / len(memory)) if memory else "–",
        worst=f"{_calibration(found)}{farthest}",
    )


def _calibration(found: Sequence[Outcome]) -> str:
    """That the presets of some GPUs have numbers from these very runs, if they do."""
    known = found[0].run.calibrates if found and all(one.run.calibrates for one in found) else ()
    return (
        translate("Calibrates the preset of {known}, so it does not test it. ", known=", ".join(known)) if known else ""
    )


def _factor(width: float | None) -> str:
    return "" if width is None else f"× {figures(width, 3)}"


def run_rows(found: Sequence[Outcome]) -> Iterator[RunRow]:
    """Every run of *found*, and what is predicted of it."""
    for one in found:
        run = one.run
        yield RunRow(
            name=describe_run(run),
            layout=_layout(run),
            printed=_printed(run),
            measured=show(run.step_time, SECOND, 3),
            predicted=predicted_text(one),
            error=error_text(one),
            memory=_memory(one),
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
    """The predicted time, or both ends of its interval."""
    found = one.prediction
    if found is None:
        return "–"
    if not found.is_interval:
        return show(found.low, SECOND, 3)
    return translate("{low} to {high}", low=show(found.low, SECOND, 3), high=show(found.high, SECOND, 3))


def error_text(one: Outcome) -> str:
    """How far the prediction is off; an interval that holds the measured time is not off."""
    found = one.prediction
    if found is None:
        return "–"
    if found.is_interval and one.holds:
        return translate("held")
    return change_words(found.middle, one.run.step_time)


def _memory(one: Outcome) -> str:
    found, measured = one.prediction, one.run.printed.memory
    if not measured or found is None:
        return ""
    return f"{show(measured, BYTE, 3)}, {change_words(found.memory, measured)}"


def coefficient_rows(runs: Sequence[PublishedRun]) -> Iterator[CoefficientRow]:
    """The GPUs of *runs*, and the links."""
    used = {gpu.name: gpu for gpu in (run.machine.cluster.gpu for run in runs)}
    for gpu in used.values():
        href = f"/hardware#{anchor_of(gpu)}" if gpu in GPUS.values() else ""
        yield CoefficientRow(Hyperlink(href, gpu.name), _values(gpu), gpu.source)
    for known in LINKS.values():
        link = Hyperlink(f"/hardware#{anchor_of(known)}", known.name)
        yield CoefficientRow(link, _values(known), known.source)


def _values(record: Gpu | Link) -> str:
    """The numbers of *record* with their units, unpublished ones left out."""
    named = []
    for field, hint in hints_of(type(record)).items():
        unit = next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)
        value = getattr(record, field)
        if unit and value and field not in _UNUSED:
            named.append(f"{_named(field)} {show(value, unit)}")
    return ", ".join(named)


def _named(field: str) -> str:
    """The words of *field* before its number."""
    return field.replace("_", " ") if language() == SOURCE else field_name(field)


def source_href(source: Source) -> str:
    """The page of a source alone."""
    return f"/trust?source={source.id}"


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
)


@dataclass(frozen=True, slots=True)
class SourceSection:
    """A source with its rows."""

    source: Source
    rows: tuple[RunRow, ...]

    @property
    def has_memory(self) -> bool:
        """Whether memory was published, too."""
        return any(row.memory for row in self.rows)


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
    accuracies: tuple[AccuracyRow, ...]
    sections: tuple[SourceSection, ...]
    coefficients: tuple[CoefficientRow, ...]


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
    shown = [source for source in sources() if chosen in ("", source.id)]
    return TrustPage(
        title=shown[0].title if chosen else "",
        chosen=chosen,
        count=len(found),
        predicted=sum(one.prediction is not None for one in found),
        within=sum(one.is_near for one in found),
        near=percent_text(NEAR),
        figure=figure_view(drawn, ADDRESS, 0, f"?source={chosen}" if chosen else "", name="trust"),
        accuracies=tuple(accuracy_rows(found, shown)),
        sections=tuple(SourceSection(source, tuple(run_rows(_of(source.id)))) for source in shown),
        coefficients=tuple(coefficient_rows([one.run for one in found])),
    )


def scatter_of(chosen: str) -> Scatter:
    """The predicted steps over the measured ones."""
    groups = tuple(group for group in _groups(language()) if group.dots and chosen in ("", _ids()[group.name]))
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


def _ids() -> Mapping[str, str]:
    return {source.title: source.id for source in sources()}


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
            yield Dot(run.step_time, found.middle, found.low, found.high, describe_run(run), says)
