"""A replica that serves: its memory, its time, and the prompts that wait for it."""

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Arrow, Rect, Sheet, Words
from app.core.charts.paper import NARROW, Paper
from app.core.formulas.checks import at_least, positive, whole
from app.core.translation import say
from app.core.units import BYTE, Bytes, Count, show
from app.course.illustrations.base import GAP, Illustration, Piece, Sketch, box, gaps, key, row, sketch

_ROW = 28


def _replica(memory: Bytes, weights: Bytes, free: Bytes = 0.0) -> Sketch:
    left = positive("memory", memory) - positive("weights", weights) - at_least("free", free, 0)
    if left <= 0:
        raise ValueError(say("weights and free must be less than {memory}", memory=show(memory, BYTE)))
    names = [(Tone.WEIGHTS, f"weights {show(weights, BYTE)}")]
    pieces = [Piece(weights, "", Tone.WEIGHTS), Piece(left, "caches", Color.GRAY, outlined=True)]
    if free:
        names.append((Tone.IDLE, "kept free"))
        pieces.append(Piece(free, "", Tone.IDLE))

    def on(paper: Paper) -> Sheet:
        rects = row(pieces, 0, paper.width, 20, _ROW)
        samples, words, foot = key(names, 20 + _ROW + 8, paper)
        says = Words(0, 13, f"{show(memory, BYTE)} of memory", quiet=True)
        return Sheet(height=foot, rects=(*rects, *samples), words=(says, *words))

    says = f"{show(memory, BYTE)}: weights {show(weights, BYTE)}, room for caches"
    return sketch("The memory of a replica", says, on)


def _request(batch: Count | None = None) -> Sketch:
    many = f"of {whole('batch', batch):,} requests" if batch else "request of the batch"

    def on(paper: Paper) -> Sheet:
        steps = 5 if paper is NARROW else 9
        names = [*map(str, range(1, steps)), GAP, "last"]
        pieces = [Piece(3, "prompt", Tone.COMPUTE)]
        pieces += [Piece(1.5, name, Tone.COMMUNICATION) for name in names]
        rects = row(pieces, 0, paper.width, 20, _ROW)
        words = [Words(0, 13, "A replica, over time", quiet=True)]
        words += gaps(pieces, 0, paper.width, 20, _ROW)
        entries = (
            (Tone.COMPUTE, "the prompt of one request is read"),
            (Tone.COMMUNICATION, f"a step: a token for each {many}"),
        )
        samples, says, foot = key(entries, 20 + _ROW + 8, paper)
        return Sheet(height=foot, rects=(*rects, *samples), words=(*words, *says))

    says = f"its prompt is read, and each step then writes a token for each {many}"
    return sketch("A request on a replica, not to scale", says, on)


def _queue() -> Sketch:
    def on(paper: Paper) -> Sheet:
        waiting = 3 if paper is NARROW else 5
        wide, high, y = 34.0, 26.0, 30.0
        end = paper.width - 96.0
        start = end - 34 - waiting * (wide + 4)
        rects: list[Rect] = [box(start + at * (wide + 4), y, wide, high, "", Tone.ACTIVATIONS) for at in range(waiting)]
        rects.append(box(end, y - 6, 96, high + 12, "replica", Tone.COMPUTE))
        middle = y + high / 2
        ends = ((0.0, start - 6), (end - 36, end - 4))
        return Sheet(
            height=y + high + 30,
            rects=tuple(rects),
            arrows=tuple(Arrow(x1, middle, x2, middle, color=Color.GRAY) for x1, x2 in ends),
            words=(
                Words(0, 14, "arrive at random", quiet=True),
                Words(start, y + high + 20, "wait", quiet=True),
                Words(paper.width, y + high + 24, "reads one at a time", anchor="end", quiet=True),
            ),
        )

    return sketch("Prompts at a replica", "they arrive at random, wait, and are read in turn", on)


REPLICA = Illustration("replica", "the memory of a replica: weights, and room for caches", _replica)
REQUEST = Illustration("request", "the time of a replica: prompts are read, steps write", _request)
QUEUE = Illustration("queue", "prompts that wait for a replica", _queue)
