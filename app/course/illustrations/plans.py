"""A plan of a run: the GPU-hours that money buys, and what FSDP sends beside the computation."""

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Arrow, Sheet, Words
from app.core.charts.paper import Paper
from app.core.formulas.checks import whole
from app.core.units import Count
from app.course.illustrations.base import Illustration, Piece, Sketch, box, key, row, sketch

_ROW, _HIGH = 26, 96


def _rent(gpus: Count) -> Sketch:
    many = f"{whole('gpus', gpus):,} {'GPU' if gpus == 1 else 'GPUs'}"

    def on(paper: Paper) -> Sheet:
        left, top = 24.0, 22.0
        foot, right = top + _HIGH, paper.width - 8.0
        end = left + (right - left) * 0.7
        return Sheet(
            height=foot + 24,
            rects=(box(left, top, end - left, _HIGH, "GPU-hours", Tone.COMPUTE),),
            arrows=(Arrow(left, foot, right, foot, color=Color.GRAY), Arrow(left, foot, left, 8.0, color=Color.GRAY)),
            words=(
                Words(left + 10, 14, many, quiet=True),
                Words(end, foot + 18, "the money is spent", anchor="end", quiet=True),
                Words(right, foot + 18, "time", anchor="end", quiet=True),
            ),
        )

    return sketch("What money buys, not to scale", f"{many} until the money is spent", on)


def _sharded_step() -> Sketch:
    names = (
        (Tone.COMPUTE, "computation"),
        (Tone.COMMUNICATION, "all-gather of weights"),
        (Tone.GRADIENTS, "reduce-scatter of gradients"),
    )

    def on(paper: Paper) -> Sheet:
        work = [Piece(1, "forward", Tone.COMPUTE), Piece(2, "backward", Tone.COMPUTE)]
        sent = [Piece(1, "", Tone.COMMUNICATION)] * 2 + [Piece(1, "", Tone.GRADIENTS)]
        rects = row(work, 0, paper.width, 20, _ROW)
        rects += row(sent, 0, paper.width, 72, _ROW)
        samples, words, foot = key(names, 72 + _ROW + 8, paper)
        says = (Words(0, 13, "GPU", quiet=True), Words(0, 65, "network", quiet=True))
        return Sheet(height=foot, rects=(*rects, *samples), words=(*says, *words))

    says = "weights are gathered for both passes, and gradients are reduced in the second"
    return sketch("A step of FSDP, not to scale", says, on)


RENT = Illustration("rent", "the GPU-hours that money buys: GPUs, and time", _rent)
SHARDED_STEP = Illustration("sharded-step", "computation and messages of a step with FSDP", _sharded_step)
