"""A ring all-reduce, step by step."""

import math
from dataclasses import dataclass

from app.core.charts.axes import NARROW, Arrow, Color, Drawing, Paper, Rect, Sheet, Tone, Words, widest, wrap_text
from app.core.formulas.collectives import ring_all_reduce_bytes, ring_all_reduce_steps
from app.core.simulators.ring import RingStep, play_ring_all_reduce
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers.base import (
    ExplainedMistakes,
    Explorer,
    ExplorerOutput,
    KeyFigure,
    Values,
    plain_figure,
    quantity_figure,
)
from app.course.explorers.controls import Slider


def ring_progress(now: RingStep, step: int, ranks: int, size: float) -> str:
    """What the last step did, and how much each rank has sent."""
    times = figures(now.sent_bytes / size)
    sent = translate(
        "Each rank has sent **{times}** times the array, {sent_bytes}.",
        times=times,
        sent_bytes=show(now.sent_bytes, BYTE),
    )
    if step == 0:
        return translate("Nothing has been sent yet. Every rank holds only its own values of every chunk.")
    chunk = now.sent[0]
    if step < ranks - 1:
        summed = translate("the values of one rank") if step == 1 else translate("the sum of {step} ranks", step=step)
        return translate(
            "Step {step} of the reduce-scatter: rank 0 sent chunk {chunk}, {summed}, and "
            "its neighbor added its own values. {sent}",
            step=step,
            chunk=chunk,
            summed=summed,
            sent=sent,
        )
    if step == ranks - 1:
        return translate(
            "The reduce-scatter is done: rank r owns the sum of chunk r + 1, and the last rank that of chunk 0. {sent}",
            sent=sent,
        )
    if step < 2 * (ranks - 1):
        return translate(
            "Step {step} of the all-gather: rank 0 sent the complete sum of chunk {chunk}; "
            "from here on nothing is added. {sent}",
            step=step - ranks + 1,
            chunk=chunk,
            sent=sent,
        )
    return translate("Done: every rank holds every sum. {sent}", sent=sent)


def phase_of(step: int, ranks: int) -> str:
    """The half of the all-reduce that a step belongs to."""
    if step == 0:
        return translate("before the first step")
    return "reduce-scatter" if step < ranks else "all-gather"


def describe_holding(share: frozenset[int], ranks: int) -> str:
    """What a rank holds of a chunk, if it has the values of those in *share*."""
    if len(share) == ranks:
        return translate("the sum of all")
    if len(share) == 1:
        return translate("its own values")
    return translate("the sum of ranks ") + ", ".join(map(str, sorted(share)))


_MOST = 12  # ranks
_RADII = (255.0, 140.0)  # of the circle, at most
_ROOM = 22  # pixels around the circle, for the boxes of the ranks
_CELL, _TOP = 26, 40
_PAIR = 12  # pixels from the middle to each of the two arrows between a pair of ranks
_OVER_A_PAIR = 64  # pixels that the phase is moved up, from between the two


def _ring(values: Values) -> ExplorerOutput:
    ranks, size = values.count("ranks"), values.number("size")
    asked = values.count("step")
    link = values.number("bandwidth"), values.number("latency")
    steps = list(play_ring_all_reduce(size, ranks, *link))
    last = ring_all_reduce_steps(ranks)
    step = min(asked, last)
    now = steps[step]
    says = ring_progress(now, step, ranks, size)
    if asked > last:
        says += translate(" {ranks} ranks need only {last} steps; step {last} is shown.", ranks=ranks, last=last)
    facts = (
        KeyFigure(noted("step"), translate("{step} of {last}", step=step, last=last)),
        quantity_figure(noted("sent by each rank"), now.sent_bytes, BYTE),
        plain_figure(noted("of the array"), now.sent_bytes / size),
        quantity_figure(noted("sent in total"), ring_all_reduce_bytes(size, ranks), BYTE),
        quantity_figure(noted("time so far"), now.time, SECOND),
        quantity_figure(noted("total time"), steps[-1].time, SECOND),
        plain_figure(noted("total steps"), last),
    )
    figures = (_circle(now, step, ranks), _grid(now, step, ranks))
    return ExplorerOutput(says, facts, figures, ended=step == last)


def _circle(now: RingStep, step: int, ranks: int) -> Drawing:
    """The ranks in a circle, and what they sent in the last step."""
    phase = phase_of(step, ranks)
    table = [(translate("From"), translate("To"), translate("Chunk"), translate("Content"))]
    content = translate("partial sum, to be added") if now.adding else translate("complete sum")
    for rank, chunk in enumerate(now.sent):
        table.append(
            (
                translate("rank {rank}", rank=rank),
                translate("rank {rank}", rank=(rank + 1) % ranks),
                str(chunk),
                content,
            )
        )
    return Drawing(
        title=translate("Sent in this step"),
        summary=phase,
        on=lambda paper: _Circle(now, step, ranks, paper).sheet(),
        table=tuple(table),
    )


@dataclass(frozen=True, slots=True)
class _Circle:
    """The places of the ranks on a paper."""

    now: RingStep
    step: int
    ranks: int
    paper: Paper

    def sheet(self) -> Sheet:
        """The boxes, the arrows, and the phase in the middle."""
        middle, center = self.paper.width / 2, _RADII[1] + _ROOM
        at = center - (_OVER_A_PAIR if self._is_pair else 0)
        phase = phase_of(self.step, self.ranks)
        note = translate("step {step}; arrows show chunk numbers", step=self.step) if self.step else translate("step 0")
        return Sheet(
            height=2 * center,
            rects=tuple(self._box(rank) for rank in range(self.ranks)),
            arrows=tuple(self._arrow(rank) for rank in range(len(self.now.sent))),
            words=(
                Words(middle, at - 4, phase, anchor="middle", strong=True),
                Words(middle, at + 16, note, anchor="middle", quiet=True),
            ),
        )

    @property
    def _is_pair(self) -> bool:
        """Two ranks are beside each other: what each sends comes the other way."""
        return self.ranks == 2  # noqa: PLR2004

    @property
    def _half(self) -> float:
        """Half the width of a box."""
        return _longest(self.ranks) / 2 + (4 if self.paper is NARROW else 12)

    def _place(self, rank: int) -> tuple[float, float]:
        angle = 2 * math.pi * rank / self.ranks - (math.pi if self._is_pair else math.pi / 2)
        across = min(_RADII[0], self.paper.width / 2 - self._half - 1)
        x, y = across * math.cos(angle), _RADII[1] * math.sin(angle)
        return round(self.paper.width / 2 + x, 2), round(_RADII[1] + _ROOM + y, 2)

    def _box(self, rank: int) -> Rect:
        (x, y), half = self._place(rank), self._half
        done = sum(len(share) == self.ranks for share in self.now.held[rank])
        return Rect(
            round(x - half, 2),
            y - 14,
            round(2 * half, 2),
            28,
            color=Color.GRAY,
            label=translate("rank {rank}", rank=rank),
            says=translate("rank {rank} holds {done} of {ranks} sums", rank=rank, done=done, ranks=self.ranks),
            outlined=True,
        )

    def _arrow(self, rank: int) -> Arrow:
        """The arrow of what *rank* sent, from the edge of one box to the edge of the next."""
        to = (rank + 1) % self.ranks
        (x1, y1), (x2, y2) = self._place(rank), self._place(to)
        length = math.hypot(x2 - x1, y2 - y1)
        x, y = (x2 - x1) / length, (y2 - y1) / length
        inside = min(self._half / max(abs(x), 1e-9), 14 / max(abs(y), 1e-9))
        room = min(inside + 4, length * 0.36)
        aside = _PAIR if self._is_pair else 0
        x1, x2, y1, y2 = x1 + aside * y, x2 + aside * y, y1 - aside * x, y2 - aside * x
        what = translate("a partial sum of") if self.now.adding else translate("the sum of")
        return Arrow(
            round(x1 + room * x, 2),
            round(y1 + room * y, 2),
            round(x2 - room * x, 2),
            round(y2 - room * y, 2),
            color=Color.GREEN,
            dashed=self.now.adding,
            carries=True,
            label=str(self.now.sent[rank]),
            says=translate(
                "rank {rank} to rank {to}: {what} chunk {sent}", rank=rank, to=to, what=what, sent=self.now.sent[rank]
            ),
        )


def _longest(ranks: int) -> float:
    """Pixels that the longest name of a rank takes."""
    return widest([translate("rank {rank}", rank=rank) for rank in range(ranks)])


def _grid(now: RingStep, step: int, ranks: int) -> Drawing:
    """What each rank holds of each chunk."""
    table = [(translate("Rank"), *(translate("chunk {chunk}", chunk=chunk) for chunk in range(ranks)))]
    table += [
        (translate("rank {rank}", rank=rank), *(describe_holding(share, ranks) for share in now.held[rank]))
        for rank in range(ranks)
    ]
    return Drawing(
        title=translate("Held by each rank"),
        summary=translate("After step {step}", step=step),
        on=lambda paper: _cells(now, ranks, paper),
        table=tuple(table),
    )


def _cells(now: RingStep, ranks: int, paper: Paper) -> Sheet:
    """A row for each rank, a column for each chunk, and what the numbers mean below."""
    left = round(_longest(ranks)) + 10
    wide = min(64, (paper.width - left) // ranks)
    words = [Words(left, 14, translate("chunk"), quiet=True)]
    for chunk in range(ranks):
        x = left + chunk * wide + (wide - 4) / 2
        words.append(Words(x, _TOP - 10, f"{chunk}", anchor="middle", quiet=True))
    for rank in range(ranks):
        words.append(Words(left - 10, _ring_row(rank) + 17, translate("rank {rank}", rank=rank), anchor="end"))
    says = translate("Number of ranks whose values are summed; outlined: received in this step.")
    notes = wrap_text(says, paper.width)
    below = _ring_row(ranks) + 18
    words += [Words(0, below + 17 * at, line, quiet=True) for at, line in enumerate(notes)]
    return Sheet(
        height=below + 17 * len(notes) - 8,
        rects=tuple(
            _cell(now, rank, chunk, left + chunk * wide, wide - 4) for rank in range(ranks) for chunk in range(ranks)
        ),
        words=tuple(words),
    )


def _ring_row(rank: int) -> int:
    return _TOP + rank * (_CELL + 4)


def _cell(now: RingStep, rank: int, chunk: int, x: float, width: float) -> Rect:
    share, ranks = now.held[rank][chunk], len(now.held)
    full, own = len(share) == ranks, len(share) == 1
    return Rect(
        x,
        _ring_row(rank),
        width,
        _CELL,
        color=Tone.IDLE if own else Tone.COMMUNICATION,
        label=translate("all") if full else str(len(share)),
        says=translate(
            "rank {rank}, chunk {chunk}: {holds}", rank=rank, chunk=chunk, holds=describe_holding(share, ranks)
        ),
        outlined=not full and not own,
        marked=bool(now.sent) and chunk == now.sent[rank - 1],
    )


RING = Explorer(
    name="ring",
    title=noted("What moves around the ring?"),
    summary=noted("A ring all-reduce step by step: what each rank sends and holds, in bytes."),
    question=noted("8 ranks all-reduce 1 GB. How much does each rank send until every rank has the sum?"),
    predicts=noted("sent in total"),
    chapter="collectives",
    formulas=(
        "collectives.ring_all_reduce_bytes",
        "collectives.ring_all_reduce_steps",
        "collectives.ring_all_reduce_time",
    ),
    controls=(
        Slider("step", noted("Step"), (0, 2 * (_MOST - 1)), default=3, plays=True, aside=True),
        Slider("ranks", noted("Ranks"), (2, _MOST), default=8),
        Slider("size", noted("Size"), (0.001, 100_000), default=1000, unit="MB", log=True, whole=False),
        Slider(
            "bandwidth",
            noted("Bandwidth, one direction"),
            (1, 1000),
            default=50,
            unit="GB/s",
            log=True,
            whole=False,
            aside=True,
        ),
        Slider(
            "latency", noted("Latency per step"), (0.1, 100), default=5, unit="us", log=True, whole=False, aside=True
        ),
    ),
    explore=_ring,
    asks=noted("How much does each rank send until every rank has the sum?"),
    open=(0, 1),
    foreseen=ExplainedMistakes(exercise="collectives/bytes-sent-by-a-ring"),
)
