"""Answers that a policy writes, and a replica that serves."""

from collections.abc import Sequence

from app.core.charts.axes import NARROW, Arrow, Color, Paper, Rect, Sheet, Tone, Words
from app.core.formulas.checks import at_least, positive, several, whole
from app.core.translation import say, translate
from app.core.units import BYTE, Bytes, Count, figures, show
from app.course.illustrations.base import GAP, Illustration, Piece, Sketch, box, first_numbers, gaps, key, row, sketch

_ROW, _BAR, _STEP = 30.0, 14.0, 19.0


def _answers(lengths: Sequence[Count]) -> Sketch:
    tokens = several("lengths", lengths)

    def on(paper: Paper) -> Sheet:
        scale = (paper.width - 60) / max(tokens)
        rects = [box(0, at * _STEP, one * scale, _BAR, "", Tone.COMPUTE) for at, one in enumerate(tokens)]
        words = [Words(round(one * scale + 6, 2), at * _STEP + 11, f"{figures(one)}") for at, one in enumerate(tokens)]
        return Sheet(height=len(tokens) * _STEP, rects=tuple(rects), words=tuple(words))

    return sketch(
        translate("The answers of a step"), translate("{tokens} answers and their tokens", tokens=len(tokens)), on
    )


def _group_sketch(group: Count) -> Sketch:
    whole("group", group, 2)
    names = ((Tone.COMPUTE, translate("right")), (Tone.DROPPED, translate("wrong")))
    rows = (
        (translate("all right"), 1.0),
        (translate("some right"), 0.6),
        (translate("one right"), 0.0),
        (translate("all wrong"), -1.0),
    )

    def on(paper: Paper) -> Sheet:
        rects: list[Rect] = []
        words: list[Words] = []
        cell = min(22.0, (paper.width - 90) / group)
        for at, (says, share) in enumerate(rows):
            right = max(1, round(share * group)) if share >= 0 else 0
            tones = [Tone.COMPUTE] * right + [Tone.DROPPED] * (group - right)
            y = at * (_BAR + 8)
            rects += [box(k * cell, y, cell - 2, _BAR, "", tone) for k, tone in enumerate(tones)]
            words.append(Words(round(group * cell + 8, 2), y + 11, says))
        samples, said, foot = key(names, len(rows) * (_BAR + 8) + 4, paper)
        return Sheet(height=foot, rects=(*rects, *samples), words=(*words, *said))

    return sketch(translate("Groups of answers to one prompt"), translate("{group} answers each", group=group), on)


def _policy_step() -> Sketch:
    names = (
        (Tone.COMPUTE, translate("writing")),
        (Tone.IDLE, translate("waiting for the longest answer")),
        (Tone.BACKWARD, translate("scoring and learning")),
    )

    def on(paper: Paper) -> Sheet:
        one = [Piece(4, "", Tone.COMPUTE), Piece(3, "", Tone.IDLE), Piece(3, "", Tone.BACKWARD)]
        rects = row([*one, *one], 0, paper.width, 20, _ROW)
        words = [Words(0, 12, translate("one after the other, on all GPUs"), quiet=True)]
        words.append(Words(0, 20 + _ROW + 20, translate("side by side, on two sets of GPUs"), quiet=True))
        top = 20 + _ROW + 28
        for at, tone in enumerate((Tone.COMPUTE, Tone.BACKWARD)):
            rects += row([Piece(1, "", tone)] * 4, 0, paper.width, top + at * 18, 15)
        samples, said, foot = key(names, top + 42, paper)
        return Sheet(height=foot, rects=(*rects, *samples), words=(*words, *said))

    return sketch(translate("Steps in two ways, not to scale"), translate("writing, waiting, learning"), on)


def _copies(trainers: Count, ranks: Count) -> Sketch:
    def on(paper: Paper) -> Sheet:
        above = [Piece(1, "" if k is not None else GAP, Tone.BACKWARD) for k in first_numbers(trainers, 24)]
        parts = [Piece(1, "", Tone.WEIGHTS) for _ in first_numbers(ranks, 16)]
        half = paper.width * 0.42
        rects = row(above, 0, paper.width, 20, 18)
        words = [
            Words(
                0,
                12,
                translate("{trainers:,} GPUs train, each with its part of the weights", trainers=trainers),
                quiet=True,
            ),
            *gaps(above, 0, paper.width, 20, 18),
            Words(0, 68, translate("copies that generate, {ranks:,} GPUs each", ranks=ranks), quiet=True),
            Words(round(paper.width / 2, 2), 88, GAP, anchor="middle"),
        ]
        for left in (0.0, paper.width - half):
            rects += row(parts, left, left + half, 76, 18)
        return Sheet(height=98, rects=tuple(rects), words=tuple(words))

    return sketch(translate("New weights on their way"), translate("from the GPUs that train to those that write"), on)


ANSWERS = Illustration("answers", "the answers of a step, and how long they are", _answers)
GROUPS = Illustration("groups", "groups of answers, right and wrong", _group_sketch)
POLICY_STEP = Illustration("policy-step", "writing and learning, in two ways", _policy_step)
COPIES = Illustration("copies", "GPUs that train, and copies of the model that write", _copies)


_REPLICAS_ROW = 28


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
        rects = row(pieces, 0, paper.width, 20, _REPLICAS_ROW)
        samples, words, foot = key(names, 20 + _REPLICAS_ROW + 8, paper)
        says = Words(0, 13, f"{show(memory, BYTE)} of memory", quiet=True)
        return Sheet(height=foot, rects=(*rects, *samples), words=(says, *words))

    says = f"{show(memory, BYTE)}: weights {show(weights, BYTE)}, room for caches"
    return sketch("The memory of a replica", says, on)


def _request(batch: Count | None = None) -> Sketch:
    many = f"of {batch:,} requests" if batch else "request of the batch"

    def on(paper: Paper) -> Sheet:
        steps = 5 if paper is NARROW else 9
        names = [*map(str, range(1, steps)), GAP, "last"]
        pieces = [Piece(3, "prompt", Tone.COMPUTE)]
        pieces += [Piece(1.5, name, Tone.COMMUNICATION) for name in names]
        rects = row(pieces, 0, paper.width, 20, _REPLICAS_ROW)
        words = [Words(0, 13, "A replica, over time", quiet=True)]
        words += gaps(pieces, 0, paper.width, 20, _REPLICAS_ROW)
        entries = (
            (Tone.COMPUTE, "the prompt of one request is read"),
            (Tone.COMMUNICATION, f"a step: a token for each {many}"),
        )
        samples, says, foot = key(entries, 20 + _REPLICAS_ROW + 8, paper)
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
