"""The tables of the page of published runs: how near each source is, each row, each coefficient."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.charts.axes import percent_text
from app.core.formulas.presets import GPUS, LINKS, Gpu, Link
from app.core.formulas.records import hints_of
from app.core.published import Outcome, PublishedAccuracy, PublishedRun, Source, accuracy, layout_degrees
from app.core.translation import SOURCE, language, localized, translate
from app.core.units import BYTE, FLOP_PER_SECOND, SECOND, Unit, figures, show
from app.course.explorers.base import change_words
from app.site.web.frame.renderer import Hyperlink
from app.site.web.reference.field_names import field_name
from app.site.web.reference.hardware import anchor_of

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
            name=said(run),
            layout=_layout(run),
            printed=_printed(run),
            measured=show(run.step_time, SECOND, 3),
            predicted=predicted_text(one),
            error=error_text(one),
            memory=_memory(one),
            reason=one.reason or (translate("not predicted: {why}", why=one.why) if one.why else ""),
            place=Hyperlink(run.table.address, run.place),
        )


def said(run: PublishedRun) -> str:
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
    return ", ".join(localized(text) for value, text in texts if value)


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
