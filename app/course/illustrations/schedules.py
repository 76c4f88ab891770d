"""What a device does over time: passes of a pipeline, layers and messages, saved states."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from app.core.charts.axes import NARROW, Arrow, Color, Paper, Sheet, Tone, Words
from app.core.charts.timeline import SAID, SCHEDULE_NAMES, Lane, TimeBar, Timeline
from app.core.errors import capitalize
from app.core.formulas.checks import positive, whole
from app.core.simulators.links import buckets
from app.core.simulators.pipeline import SimulatedSchedule, Times, build, simulate_schedule
from app.core.translation import say, translate, translate_known
from app.core.units import SECOND, Count, Ratio, Seconds, figures, show
from app.course.illustrations import base

_MOST = 160  # passes of a schedule; with more, its beginning is drawn
_STAGES = 64
_LAYERS = 128
_ROW = 26
_EQUAL = Times(1.0, 1.0, 1.0)


def _pipeline(
    stages: Count,
    microbatches: Count,
    schedule: Literal["1f1b", "gpipe", "naive", "interleaved"] = "1f1b",
    virtual: Count = 1,
) -> base.Sketch:
    for name, count in (("stages", stages), ("microbatches", microbatches), ("virtual", virtual)):
        if count > _STAGES * (1 if name == "stages" else 16):
            raise ValueError(say("a pipeline of {count} {name} is too large to draw", count=figures(count), name=name))
    played = _played(schedule, stages, min(microbatches, _enough(stages)), virtual)
    bars = sum(map(len, played.slots))
    end = played.makespan * min(1.0, _MOST / bars)
    cut = microbatches > _enough(stages) or end < played.makespan
    return Timeline(
        title=capitalize(translate_known(SCHEDULE_NAMES[schedule]))
        + (translate(", the beginning of a step") if cut else ""),
        summary=translate(
            "{stages:,} stages, {microbatches:,} micro-batches; gray is idle", stages=stages, microbatches=microbatches
        ),
        rows=tuple(
            Lane(translate("stage {device}", device=device), "", tuple(_bars(played, device, end)))
            for device in range(stages)
        ),
        end=end,
        kinds=tuple((kind, translate(SAID[kind])) for kind in "FB"),
        untimed=True,
    )


def _enough(stages: int) -> int:
    """Micro-batches that fill the beginning of a step."""
    return max(2 * stages, _MOST // stages)


@lru_cache(maxsize=16)
def _played(schedule: str, stages: int, microbatches: int, virtual: int) -> SimulatedSchedule:
    if virtual > 1:
        microbatches = -(-microbatches // stages) * stages
    return simulate_schedule(build(schedule, stages, microbatches, virtual), _EQUAL)


def _bars(played: SimulatedSchedule, device: int, end: float) -> Iterator[TimeBar]:
    """The passes of *device* that start before *end*; both halves of a backward pass are one."""
    for slot in played.slots[device]:
        if slot.start < end and slot.kind != "W":
            long = 2.0 if slot.kind == "I" else slot.end - slot.start
            kind = "F" if slot.kind == "F" else "B"
            label = str(slot.microbatch)
            yield TimeBar(slot.start, min(slot.start + long, end), kind, label, "")


def _overlap(layers: Count, compute: Seconds, reduce: Seconds) -> base.Sketch:
    if layers > _LAYERS:
        raise ValueError(
            say("{layers} layers are too many to draw: at most {most}", layers=figures(layers), most=_LAYERS)
        )
    positive("compute", compute)
    sent = buckets(layers, 1, compute, positive("reduce", reduce), 0.0)
    work = tuple(TimeBar(at * compute, (at + 1) * compute, "B", str(layers - at), "") for at in range(layers))
    talk = tuple(TimeBar(start, end, "C", str(layers - at), "") for at, (start, end) in enumerate(sent))
    return Timeline(
        title=translate("{layers} layers, the last one first", layers=layers),
        summary=translate(
            "backward pass {compute} and all-reduce {reduce} each",
            compute=show(compute, SECOND),
            reduce=show(reduce, SECOND),
        ),
        rows=(Lane(translate("compute"), "", work), Lane(translate("network"), "", talk)),
        end=sent[-1][1],
        kinds=(("B", translate("backward pass of a layer")), ("C", translate("all-reduce of its gradients"))),
        untimed=True,
    )


def _accumulation(
    compute: Seconds | None = None, reduce: Seconds | None = None, count: Count | None = None
) -> base.Sketch:
    work, talk = compute or reduce or 1.0, reduce or compute or 1.0
    many = whole("count", count, 2) if count else 0
    note = base.note_lines(
        [
            translate("{many:,} micro-batches", many=many) if many else "",
            translate("{compute} for each", compute=show(compute, SECOND)) if compute else "",
            translate("{reduce} for an all-reduce", reduce=show(reduce, SECOND)) if reduce else "",
        ]
    )

    def on(paper: Paper) -> Sheet:
        most = 6 if paper is NARROW else 9
        names = [base.GAP if n is None else str(n + 1) for n in base.first_numbers(many or most + 1, most)]
        if not many:
            names = [*names[: names.index(base.GAP) + 1], translate("last")]
        cells = [base.Piece(work, name, Tone.COMPUTE) for name in names]
        send = base.Piece(talk, translate("all-reduce"), Tone.COMMUNICATION)
        each = [one for cell in cells for one in ((cell,) if cell.label == base.GAP else (cell, send))]
        rects, words = [], []
        total = sum(one.share for one in each)
        for at, (says, pieces) in enumerate(
            (
                (translate("all-reduce after each micro-batch"), each),
                (translate("once, after the last"), [*cells, send]),
            )
        ):
            y = at * (_ROW + 30)
            right = paper.width * sum(one.share for one in pieces) / total
            words.append(Words(0, y + 13, says, quiet=True))
            rects += base.row(pieces, 0, right, y + 20, _ROW)
            words += base.gaps(pieces, 0, right, y + 20, _ROW)
        names_of = ((Tone.COMPUTE, translate("micro-batch")), (Tone.COMMUNICATION, translate("all-reduce")))
        samples, says_of, foot = base.key(names_of, 2 * (_ROW + 30), paper)
        return Sheet(height=foot, rects=(*rects, *samples), words=(*words, *says_of))

    return base.sketch(translate("A step of accumulated gradients"), note, on)


def _waiting(share: Ratio) -> base.Sketch:
    if not 0 < share < 1:
        raise ValueError(say("{name} must be between 0 and 1, not {value}", name="share", value=f"{share:g}"))
    names = ((Tone.COMPUTE, translate("computation")), (Tone.COMMUNICATION, translate("waiting for communication")))

    def on(paper: Paper) -> Sheet:
        pieces = [base.Piece(size, "", tone) for size, (tone, _) in zip((1 - share, share), names, strict=True)]
        samples, words, foot = base.key(names, _ROW + 8, paper)
        rects = base.row(pieces, 0, paper.width, 0, _ROW)
        return Sheet(height=foot, rects=(*rects, *samples), words=tuple(words))

    return base.sketch(translate("A step"), translate("computation, then waiting for communication"), on)


def _saves(
    checkpoint: Seconds | None = None, interval: Seconds | None = None, restart: Seconds | None = None
) -> base.Sketch:
    facts = (
        translate("a checkpoint takes {checkpoint}", checkpoint=show(checkpoint, SECOND)) if checkpoint else "",
        translate("one is saved every {interval}", interval=show(interval, SECOND)) if interval else "",
        translate("a restart takes {restart}", restart=show(restart, SECOND)) if restart else "",
    )
    work, save = base.Piece(6, "", Tone.COMPUTE), base.Piece(1, "", Tone.OPTIMIZER)
    lost, again = base.Piece(3.4, "", Tone.DROPPED), base.Piece(1.6, "", Tone.BUFFERS)
    names = (
        (Tone.COMPUTE, translate("work")),
        (Tone.OPTIMIZER, translate("a checkpoint is saved")),
        (Tone.DROPPED, translate("work that is lost")),
        (Tone.BUFFERS, translate("restart")),
    )

    def on(paper: Paper) -> Sheet:
        rects = base.row((work, save, work, save, lost, again, work), 0, paper.width, 22, _ROW)
        crash = round(rects[4].x + rects[4].width, 2)
        samples, words, foot = base.key(names, 22 + _ROW + 8, paper)
        return Sheet(
            height=foot,
            rects=(*rects, *samples),
            arrows=(Arrow(crash, 15, crash, 24 + _ROW, color=Color.GRAY, head=False),),
            words=(Words(crash, 11, translate("failure"), anchor="middle", strong=True), *words),
        )

    says = base.note_lines([translate("work since the last checkpoint is lost"), *facts])
    return base.sketch(translate("Checkpoints and a failure, not to scale"), says, on)


def _layers(layers: Count, stages: Count) -> base.Sketch:
    def on(paper: Paper) -> Sheet:
        left, right = 0.0, float(paper.width)
        cells = [base.Piece(1, "", Tone.WEIGHTS) for _ in range(min(layers, 200))]
        shown = base.first_numbers(stages, 6 if paper is NARROW else 16)
        boxes = [base.Piece(1, base.GAP if at is None else str(at), Color.GRAY, outlined=True) for at in shown]
        rects = base.row(cells, left, right, 20, 18)
        rects += base.row(boxes, left, right, 76, 30)
        words = [
            Words(0, 12, translate("{layers:,} layers", layers=layers), quiet=True),
            Words(0, 68, translate("{stages:,} stages", stages=stages), quiet=True),
            *base.gaps(boxes, left, right, 76, 30),
        ]
        return Sheet(height=108, rects=tuple(rects), words=tuple(words))

    return base.sketch(
        translate("{layers:,} layers for {stages:,} stages", layers=layers, stages=stages),
        translate("the layers, and the stages to fill"),
        on,
    )


PIPELINE = base.Illustration("pipeline", "a schedule of a pipeline, without times", _pipeline)
OVERLAP = base.Illustration("overlap", "a backward pass, and the messages beside it", _overlap)
ACCUMULATION = base.Illustration("accumulation", "a step that reduces after each micro-batch, or once", _accumulation)
WAITING = base.Illustration("waiting", "a step that waits for a share of its time", _waiting)
SAVES = base.Illustration("saves", "a run with checkpoints and a failure, not to scale", _saves)
LAYERS = base.Illustration("layers", "the layers of a model, and the stages of a pipeline", _layers)
