"""What the page of a trace shows: the tolls of a step, and what to try."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from app.core.charts.axes import Axis, Tone, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.errors import sentence
from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.measurements.pieces import wire_of
from app.core.measurements.trace.activity import COMMUNICATION, COMPUTE, COPY
from app.core.measurements.trace.report import KindOfCollective, Lever, TraceReport, levers
from app.core.translation import localize, noted, translate
from app.core.units import BYTE_PER_SECOND, SECOND, in_english, show, show_size
from app.site.web.explore.figures import BOTH, drawn_on

_DOES = {COMPUTE: noted("computes"), COMMUNICATION: noted("communicates"), COPY: noted("copies")}
_KERNELS = 12
_TONES: Mapping[str, Tone] = {
    noted("compute"): Tone.COMPUTE,
    noted("exposed communication"): Tone.EXPOSED,
    noted("exposed copies"): Tone.BUFFERS,
    noted("bubble and skew"): Tone.IDLE,
    "waiting of the GPU": Tone.IDLE,
    noted("host stalls"): Tone.WEIGHT_GRADIENT,
    noted("idle, launch unknown"): Tone.RECOMPUTE,
}
_ALONE = {"bubble and skew": noted("waiting of the GPU")}
ASKED = ("model", "cluster", "layout")


@dataclass(frozen=True, slots=True)
class PredictedTolls:
    """The tolls that `layout.step_time` says, or why there are none."""

    given: Mapping[str, str]
    tolls: Mapping[str, float]
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    """One trace."""

    title: str
    says: str
    facts: tuple[tuple[str, str], ...]
    caption: str
    svg: Markup
    tolls: tuple[tuple[str, ...], ...]  # a header, then a row for each toll
    levers: tuple[tuple[Lever, str], ...]
    collectives: tuple[tuple[str, ...], ...]
    kernels: tuple[tuple[str, ...], ...]
    doubts: tuple[str, ...]
    problem: str  # why nothing is predicted


def predicted_tolls(given: Mapping[str, str]) -> PredictedTolls | None:
    """What the formulas say for a model, a cluster and a layout; None if none is given."""
    asked = {name: given.get(name, "").strip()[:300] for name in ASKED}
    if not any(asked.values()):
        return None
    try:
        read = {name: in_english(text) for name, text in asked.items()}
        model, cluster = ModelShape.read(read["model"]), Cluster.read(read["cluster"])
        step = step_time(model, cluster, Layout.on(read["layout"], cluster.gpus, model.layers))
    except (ValueError, ArithmeticError) as error:
        return PredictedTolls(asked, {}, sentence(localize(str(error))))
    return PredictedTolls(asked, dict(tolls_of_step(step)))


def tolls_of_step(step: StepTime) -> Iterator[tuple[str, float]]:
    """The parts of a predicted step by toll."""
    moved = step.tensor + step.context + step.expert + step.data + step.messages
    waited = step.bubble + step.skew
    yield "compute", step.total - moved - waited - step.launches
    yield "exposed communication", moved
    yield "exposed copies", 0.0
    yield "bubble and skew", waited
    yield "host stalls", step.launches


def tolls_per_step(report: TraceReport) -> dict[str, float]:
    """Seconds of a step by toll; of the whole trace if no steps are marked."""
    tolls, steps = report.tolls, max(report.steps, 1)
    unknown = {"idle, launch unknown": tolls.unexplained / steps} if tolls.unexplained else {}
    return {
        "compute": tolls.compute / steps,
        "exposed communication": (tolls.exposed_communication - report.exposed_skew) / steps,
        "exposed copies": tolls.exposed_copies / steps,
        "bubble and skew": (tolls.waiting + report.exposed_skew) / steps,
        "host stalls": tolls.host / steps,
        **unknown,
    }


def trace_view(report: TraceReport, title: str, beside: PredictedTolls | None) -> TraceView:
    """The view of a *report*, *beside* what the formulas say."""
    measured: Mapping[str, float] = tolls_per_step(report)
    foreseen: Mapping[str, float] = beside.tolls if beside else {}
    if report.alone and not foreseen.get("bubble and skew"):
        # A single rank has neither a bubble nor skew.
        measured, foreseen = ({_ALONE.get(name, name): tolls[name] for name in tolls} for tolls in (measured, foreseen))
    bars = _bars(measured, foreseen)
    return TraceView(
        title=title,
        says=_says(report, measured),
        facts=tuple(_facts(report)),
        caption=bars.title,
        svg=drawn_on(BOTH, bars),
        tolls=tuple(_toll_rows(measured, foreseen)),
        levers=tuple(
            (
                replace(one, toll=localize(one.toll), says=localize(one.says), formula=localize(one.formula)),
                _saved(report, one),
            )
            for one in levers(report)
        ),
        collectives=tuple(_collectives(report)),
        kernels=tuple(
            (one.name, translate(_DOES[one.sort]), f"{one.count:,}", show(one.time, SECOND, 3))
            for one in report.kernels[:_KERNELS]
        ),
        doubts=tuple(map(sentence, report.doubts)),
        problem=beside.problem if beside else "",
    )


def _bars(measured: Mapping[str, float], foreseen: Mapping[str, float]) -> Bars:
    rows = {translate("measured"): measured}
    if foreseen:
        rows[translate("predicted")] = foreseen
    return Bars(
        title=translate("Where a step's time goes"),
        summary="; ".join(f"{name} {show(sum(parts.values()), SECOND)}" for name, parts in rows.items()),
        axis=Axis(translate("Time"), SECOND),
        bars=tuple(
            Bar(
                name,
                tuple(Part(_TONES[toll], translate(toll), time) for toll, time in parts.items()),
                show(sum(parts.values()), SECOND, 3),
            )
            for name, parts in rows.items()
        ),
    )


def _toll_rows(measured: Mapping[str, float], foreseen: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    wall = sum(measured.values())
    yield (
        translate("Toll"),
        translate("Measured"),
        translate("Share"),
        *((translate("Predicted"),) if foreseen else ()),
    )
    for toll, time in measured.items():
        beside = (show(foreseen.get(toll, 0.0), SECOND, 3),) if foreseen else ()
        yield (translate(toll), show(time, SECOND, 3), percent_text(time / wall if wall else 0), *beside)
    beside = (show(sum(foreseen.values()), SECOND, 3),) if foreseen else ()
    yield (translate("all"), show(wall, SECOND, 3), "100 %", *beside)


def _says(report: TraceReport, measured: Mapping[str, float]) -> str:
    """The largest toll after compute, in a sentence."""
    wall = sum(measured.values())
    toll = max((name for name in measured if name != "compute"), key=lambda name: measured[name])
    share = percent_text(measured[toll] / wall if wall else 0)
    of = translate("of a step") if report.steps else translate("of the time")
    kernels = percent_text(measured["compute"] / wall if wall else 0)
    says = translate("The GPU computes in {kernels} {of}.", kernels=kernels, of=of)
    if measured[toll] > 0:
        says += translate(" The largest toll is {toll}: {share}.", toll=translate(toll), share=share)
    first = next(iter(levers(report)), None)
    if first is None:
        return translate("{says} Nothing else takes more than 1 %: faster kernels are what is left.", says=says)
    return translate(
        "{says} Try first: {says_2} It saves at most {saved} {of}.",
        says=says,
        says_2=localize(first.says),
        saved=_saved(report, first),
        of=of,
    )


def _facts(report: TraceReport) -> Iterator[tuple[str, str]]:
    steps = max(report.steps, 1)
    yield ((translate("Step") if report.steps else translate("Time")), show(report.tolls.wall / steps, SECOND))
    yield translate("Whole steps"), f"{report.steps:,}"
    if report.hardware:
        yield "GPU", report.hardware
    if report.rank is not None:
        yield (
            translate("Rank"),
            f"{report.rank:,}" + (translate(" of {world:,}", world=report.world) if report.world else ""),
        )
    if report.ranks > 1:
        yield translate("Ranks compared"), f"{report.ranks:,}"
    if communication := report.tolls.communication:
        yield (translate("Hidden communication"), percent_text(report.tolls.overlapped_communication / communication))
    if report.last:
        yield (
            translate("Arrives last"),
            translate("rank {last}, {last_2} % of the time", last=report.last[0], last_2=report.last[1]),
        )


def _saved(report: TraceReport, lever: Lever) -> str:
    share = percent_text(lever.saves / report.tolls.wall)
    return f"{show(lever.saves / max(report.steps, 1), SECOND, 3)} ({share})"


def _collectives(report: TraceReport) -> Iterator[tuple[str, ...]]:
    for one in report.collectives:
        size = show_size(one.size) if one.size else translate("unknown")
        time = show(one.time, SECOND, 3)
        bandwidth = translate("unknown") if one.bandwidth is None else show(one.bandwidth, BYTE_PER_SECOND, 3)
        if one.bandwidth is not None and report.ranks == 1:
            bandwidth = translate("at least {reached}", reached=bandwidth)
        yield (one.kind, f"{one.count:,}", size, time, bandwidth, _of_the_wire(one, report))


def _of_the_wire(one: KindOfCollective, report: TraceReport) -> str:
    """How much of the wire the largest collectives reach, as far as the GPU's name tells."""
    found = wire_of(one.kind, one.ranks, report.hardware)
    if found is None or one.bandwidth is None:
        return translate("unknown")
    wire, which = found
    says = translate("{share} of {link}", share=percent_text(one.bandwidth / wire), link=which)
    if one.bandwidth > wire:
        says = translate("{share}: most stays in a node, or a switch sums", share=says)
    return translate("at least {reached}", reached=says) if report.ranks == 1 else says
