"""A ring all-reduce, one step at a time."""

import math

from app.charts.drawing import Arrow, Drawing, Rect, Words
from app.explorers.base import Explored, Explorer, Fact, Values, plain, quantity
from app.explorers.controls import Slider
from app.formulas.collectives import ring_all_reduce_bytes, ring_all_reduce_steps
from app.simulators.collectives.ring import Moment, moments
from app.units import BYTE, SECOND, figures, show

_MOST = 12  # ranks that are drawn
_WIDTH, _CIRCLE = 720, 400
_CELL, _LEFT, _TOP = 26, 92, 40


def _ring(values: Values) -> Explored:
    ranks, size = values.count("ranks"), values.number("size")
    asked = values.count("step")
    all_moments = list(moments(size, ranks, values.number("bandwidth"), values.number("latency")))
    last = ring_all_reduce_steps(ranks)
    step = min(asked, last)
    now = all_moments[step]
    whole = ring_all_reduce_bytes(size, ranks)
    says = _told(now, step, ranks, size)
    if asked > last:
        says += f" {ranks} ranks need {last} steps, so step {last} is shown."
    facts = (
        Fact("step", f"{step} of {last}"),
        quantity("sent by each rank", now.sent_bytes, BYTE),
        plain("of the array", now.sent_bytes / size),
        quantity("in the end", whole, BYTE),
        quantity("time so far", now.time, SECOND),
        quantity("time of it all", all_moments[-1].time, SECOND),
        plain("steps in all", last),
    )
    figures = (_circle(now, step, ranks), _table_of(now, step, ranks))
    return Explored(says, facts, figures, ended=step == last)


def _told(now: Moment, step: int, ranks: int, size: float) -> str:
    times = figures(now.sent_bytes / size)
    sent = f"Each rank has sent **{times}** of the array, {show(now.sent_bytes, BYTE)}."
    if step == 0:
        return "Nothing has been sent. Every rank holds its own numbers in every chunk."
    chunk = now.sent[0]
    if step < ranks - 1:
        return (
            f"Step {step} of the reduce-scatter: rank 0 passed chunk {chunk} on, with the numbers "
            f"of {step} {'rank' if step == 1 else 'ranks'}, and its neighbour added its own. {sent}"
        )
    if step == ranks - 1:
        return (
            f"The reduce-scatter is done: rank r owns the sum of chunk r + 1, and the last rank "
            f"that of chunk 0. {sent}"
        )
    if step < 2 * (ranks - 1):
        return (
            f"Step {step - ranks + 1} of the all-gather: rank 0 passed the finished chunk {chunk} "
            f"on, and nothing is added any more. {sent}"
        )
    return f"Done: every rank holds every sum. {sent}"


def _place(rank: int, ranks: int, far: float) -> tuple[float, float]:
    angle = 2 * math.pi * rank / ranks - math.pi / 2
    x, y = _WIDTH / 2 + far * math.cos(angle) * 1.5, _CIRCLE / 2 + far * math.sin(angle)
    return round(x, 2), round(y, 2)


def _circle(now: Moment, step: int, ranks: int) -> Drawing:
    """The ranks on a circle, and what the last step sent along it."""
    far = _CIRCLE / 2 - 34
    rects, arrows = [], []
    for rank in range(ranks):
        x, y = _place(rank, ranks, far)
        done = sum(len(share) == ranks for share in now.held[rank])
        says = f"rank {rank} holds {done} of {ranks} sums"
        rects.append(Rect(x - 34, y - 16, 68, 32, "i", f"rank {rank}", says, outlined=True))
        if now.sent:
            to = _place((rank + 1) % ranks, ranks, far)
            kind, what = ("b", "a partial sum of") if now.adding else ("c", "the sum of")
            chunk = now.sent[rank]
            told = f"rank {rank} to rank {(rank + 1) % ranks}: {what} chunk {chunk}"
            arrows.append(_between((x, y), to, kind, str(chunk), told))
    phase = "before the first step" if not step else f"step {step}, chunk numbers beside the arrows"
    words = (
        Words(_WIDTH / 2, _CIRCLE / 2 - 4, _phase(step, ranks), "middle", strong=True),
        Words(_WIDTH / 2, _CIRCLE / 2 + 16, phase, "middle", quiet=True),
    )
    table = [("From", "To", "Chunk", "What it is")]
    for rank, chunk in enumerate(now.sent):
        what = "partial sum, to be added" if now.adding else "complete sum"
        table.append((f"rank {rank}", f"rank {(rank + 1) % ranks}", str(chunk), what))
    return Drawing(
        "What the step sent", _phase(step, ranks), _WIDTH, _CIRCLE, tuple(rects), tuple(arrows),
        words, tuple(table),
    )  # fmt: skip


def _phase(step: int, ranks: int) -> str:
    if step == 0:
        return "at rest"
    return "reduce-scatter" if step < ranks else "all-gather"


def _between(
    one: tuple[float, float], other: tuple[float, float], kind: str, label: str, says: str
) -> Arrow:
    """An arrow from *one* to *other* that leaves room for both."""
    long = math.hypot(other[0] - one[0], other[1] - one[1])
    x, y = (other[0] - one[0]) / long, (other[1] - one[1]) / long
    room = min(40 if abs(x) > abs(y) else 22, long / 3)
    return Arrow(
        round(one[0] + room * x, 2), round(one[1] + room * y, 2),
        round(other[0] - room * x, 2), round(other[1] - room * y, 2), kind, label, says,
    )  # fmt: skip


def _table_of(now: Moment, step: int, ranks: int) -> Drawing:
    """Whose numbers each rank holds of each chunk."""
    rects, words = [], []
    wide = max(_CELL, min(64, (_WIDTH - _LEFT - 20) // ranks))
    table: list[tuple[str, ...]] = [("Rank", *(f"chunk {chunk}" for chunk in range(ranks)))]
    for chunk in range(ranks):
        words.append(
            Words(_LEFT + (chunk + 0.5) * wide, _TOP - 10, f"{chunk}", "middle", quiet=True)
        )
    words.append(Words(_LEFT, 14, "chunk", quiet=True))
    for rank in range(ranks):
        y = _TOP + rank * (_CELL + 4)
        words.append(Words(_LEFT - 10, y + 17, f"rank {rank}", "end"))
        row = [f"rank {rank}"]
        came = now.sent[rank - 1] if now.sent else None
        for chunk, share in enumerate(now.held[rank]):
            full, own = len(share) == ranks, len(share) == 1
            kind = "c" if full else "e" if own else "b"
            label = "all" if full else str(len(share))
            says = f"rank {rank}, chunk {chunk}: {_holds(share, ranks)}"
            rects.append(
                Rect(
                    _LEFT + chunk * wide,
                    y,
                    wide - 4,
                    _CELL,
                    kind,
                    label,
                    says,
                    marked=chunk == came,
                )
            )
            row.append(_holds(share, ranks))
        table.append(tuple(row))
    height = _TOP + ranks * (_CELL + 4) + 30
    words.append(
        Words(
            _LEFT,
            height - 8,
            "How many ranks' numbers are in it; outlined: what has just come.",
            quiet=True,
        )
    )
    return Drawing(
        "Who holds what", f"After step {step}", _WIDTH, height, tuple(rects), (), tuple(words),
        tuple(table),
    )  # fmt: skip


def _holds(share: frozenset[int], ranks: int) -> str:
    if len(share) == ranks:
        return "the sum of all"
    if len(share) == 1:
        return "its own numbers"
    return "the sum of ranks " + ", ".join(map(str, sorted(share)))


RING = Explorer(
    "ring",
    "What goes round the ring?",
    "A ring all-reduce step by step: what is sent, who holds what, and the bytes counted.",
    "8 ranks add up 1 GB. How much does each of them send until everybody has the sum?",
    "in the end",
    "collectives",
    (
        "collectives.ring_all_reduce_bytes",
        "collectives.ring_all_reduce_steps",
        "collectives.ring_all_reduce_time",
    ),
    (
        Slider("step", "Step", 0, 2 * (_MOST - 1), 3, plays=True, aside=True),
        Slider("ranks", "Ranks", 2, _MOST, 8),
        Slider("size", "Size", 0.001, 100_000, 1000, "MB", log=True, whole=False),
        Slider(
            "bandwidth",
            "Bandwidth, one direction",
            1,
            1000,
            50,
            "GB/s",
            log=True,
            whole=False,
            aside=True,
        ),
        Slider(
            "latency", "Latency of a step", 0.1, 100, 5, "us", log=True, whole=False, aside=True
        ),
    ),
    _ring,
    "How much does each rank send until everybody has the sum?",
    open=(0, 1),
)
