"""Figures of what an exercise asks: what a schedule did, what a GPU holds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.core.charts.axes import Arrow, Color, Drawing, Paper, Rect, Sheet, Tone, Words, legend, text_width, wrap_text
from app.core.charts.motion import Motion
from app.core.charts.timeline import Timeline
from app.core.formulas import Input, inputs_of
from app.core.formulas.checks import ZeroStage, positive
from app.core.simulators.programs import STREAMS, PlayedSchedule, PlayedSpan
from app.core.translation import noted, say, translate, translate_known
from app.core.units import BYTE, Bytes, Count, show
from app.course.kinds.base import CountedPart, CountedParts

_AROUND = 8  # pixels around the label of a box
GAP = "…"
Sketch = Drawing | Timeline | Motion


@dataclass(frozen=True)
class Illustration:
    """A figure with an exercise's numbers: what is given and its shape, no result; its inputs are those of *draw*."""

    name: str
    says: str
    draw: Callable[..., Sketch]

    @cached_property
    def inputs(self) -> Mapping[str, Input]:
        """What it is drawn from, by name."""
        return inputs_of(self.draw)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a row: its share of the width, its label and its color."""

    share: float
    label: str
    color: Tone | Color
    outlined: bool = False


def sketch(title: str, summary: str, on: Callable[[Paper], Sheet]) -> Drawing:
    """A drawing of what is given, which has no values for a table."""
    return Drawing(title=title, summary=summary, on=on, table=((translate("What"), translate("Value")),))


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    label: str = "",
    color: Tone | Color = Tone.IDLE,
    *,
    outlined: bool = False,
    marked: bool = False,
) -> Rect:
    """A box, with its label written inside where there is room."""
    return Rect(
        round(x, 2),
        round(y, 2),
        round(width, 2),
        round(height, 2),
        color=color,
        label=label if text_width(label) + _AROUND <= width else "",
        says=label,
        outlined=outlined,
        marked=marked,
    )


def row(pieces: Iterable[Piece], left: float, right: float, y: float, height: float) -> list[Rect]:
    """*pieces* end to end from *left* to *right*."""
    pieces = list(pieces)
    scale = (right - left) / sum(piece.share for piece in pieces)
    found, x = [], left
    for piece in pieces:
        width = piece.share * scale
        if piece.label != GAP:
            gap = min(2, width / 4)
            found.append(box(x, y, width - gap, height, piece.label, piece.color, outlined=piece.outlined))
        x += width
    return found


def gaps(pieces: Sequence[Piece], left: float, right: float, y: float, height: float) -> list[Words]:
    """The dots between the *pieces* of a row that stand for those that are left out."""
    scale = (right - left) / sum(piece.share for piece in pieces)
    found, x = [], left
    for piece in pieces:
        width = piece.share * scale
        if piece.label == GAP:
            found.append(Words(round(x + width / 2, 2), y + height / 2 + 4, GAP, anchor="middle"))
        x += width
    return found


def first_numbers(count: int, most: int) -> list[int | None]:
    """The numbers below *count*; with more than *most*, the first ones, None, and the last.

    >>> first_numbers(4, 5), first_numbers(100, 5)
    ([0, 1, 2, 3], [0, 1, 2, None, 99])
    """
    if count <= most:
        return list(range(count))
    return [*range(most - 2), None, count - 1]


def key(names: Sequence[tuple[Tone | Color, str]], y: float, paper: Paper) -> tuple[list[Rect], list[Words], float]:
    """What the colors stand for, from *y* down: boxes, names, and where they end."""
    placed = legend([(str(color.value), translate_known(name)) for color, name in names], 0, paper.width)
    rects = [
        box(entry.x, y + entry.y, 11, 11, "", color) for entry, (color, _) in zip(placed.entries, names, strict=True)
    ]
    words = [Words(entry.x + 17, y + entry.y + 10, entry.name) for entry in placed.entries]
    return rects, words, y + placed.height


def note_lines(parts: Iterable[str]) -> str:
    """*parts* that are not empty, as the lines of a note."""
    return ", ".join(part for part in parts if part)


_MOST = 700  # bars; with more, the beginning is drawn
_ROW, _HIGH, _LINE = 20, 26, 16  # pixels of a stream, of the memory, and of a line of text
_LABELED = 11  # pixels of memory that have room for a number
_TONES: dict[str, tuple[Tone, str]] = {
    "F": (Tone.COMPUTE, noted("forward")),
    "B": (Tone.BACKWARD, noted("backward")),
    "I": (Tone.BACKWARD, noted("backward")),
    "G": (Tone.WEIGHT_GRADIENT, noted("weight gradient")),
}
_SENT = (Tone.COMMUNICATION, noted("communication"))
_HELD, _OVER = (Tone.ACTIVATIONS, noted("memory held")), (Tone.DROPPED, noted("over the limit"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """Units of time to pixels."""

    left: float
    scale: float
    end: int

    def x(self, time: float) -> float:
        return self.left + min(time, self.end) * self.scale


def schedule_sketch(played: PlayedSchedule) -> Drawing:
    """The bars of each stream above what the rank holds; the first computation that waits has a heavy edge."""
    spans = [span for span in played.spans if span.end > span.start]
    spans.sort(key=lambda span: span.start)
    shown = spans[:_MOST]
    end = shown[-1].end if len(shown) < len(spans) else max(played.time, 1)
    peaks = ", ".join(map(str, played.peaks))
    held = translate("; the most that each rank held: {peaks}", peaks=peaks) if played.machine.sizes else ""
    cut = translate(", of which the first {end} are drawn", end=end) if end < played.time else ""
    says = translate("{time} units of time{cut}{held}", time=played.time, cut=cut, held=held)
    if played.problem:
        says = translate("It stops at {time}: {problem}", time=played.time, problem=played.problem)
    return sketch(translate("What your schedule did"), says, lambda paper: _sheet(played, shown, end, says, paper))


def _sheet(played: PlayedSchedule, spans: Sequence[PlayedSpan], end: int, says: str, paper: Paper) -> Sheet:
    limit = played.machine.limit
    first = played.first_wait
    left = text_width(translate("rank 15")) + 8
    axis = _Axis(left, (paper.width - left) / end, end)
    rects: list[Rect] = []
    words: list[Words] = []
    lines: list[Arrow] = []
    y = 0.0
    for text in wrap_text(says, paper.width):
        words.append(Words(0, y + 13, text))
        y += _LINE
    y += 6
    for rank in range(len(played.machine.start)):
        words.append(Words(0, y + 14, translate("rank {rank}", rank=rank)))
        for stream in STREAMS:
            own = [span for span in spans if span.rank == rank and span.stream == stream]
            if own or stream == "compute":
                rects.append(box(left, y, end * axis.scale, _ROW - 2, "", Tone.IDLE))
                rects += (_bar(span, axis, y, waits=span == first) for span in own)
                y += _ROW
        if played.machine.sizes:
            rects += _memory(played, rank, limit, axis, y)
            lines += _limit(played, limit, axis, y)
            words.append(Words(0, y + _HIGH - 8, translate("max {peaks}", peaks=played.peaks[rank]), quiet=True))
            y += _HIGH + 8
    words += [Words(left, y + 12, "0", quiet=True)]
    words += [Words(paper.width, y + 12, str(end), anchor="end", quiet=True)]
    marks, names, foot = key(list(_names(played, spans, limit)), y + 22, paper)
    return Sheet(height=foot + 4, rects=(*rects, *marks), arrows=tuple(lines), words=(*words, *names))


def _bar(span: PlayedSpan, axis: _Axis, y: float, *, waits: bool) -> Rect:
    step = span.instruction
    tone, _ = _TONES.get(step.op, _SENT)
    wide = (span.end - span.start) * axis.scale
    label = str(step.batch if span.stream == "compute" else step.layer)
    return box(axis.x(span.start), y, wide - min(1.5, wide / 4), _ROW - 2, label, tone, marked=waits)


def _levels(played: PlayedSchedule, rank: int, end: int) -> Iterator[tuple[int, int, int]]:
    """From when to when a *rank* held how much."""
    times = [*(at for at, _ in played.memory), max(end, played.time)]
    for (start, held), stop in zip(played.memory, times[1:], strict=True):
        if start < min(stop, end):
            yield start, min(stop, end), held[rank]


def _memory(played: PlayedSchedule, rank: int, limit: int | None, axis: _Axis, y: float) -> Iterator[Rect]:
    top = max(*played.peaks, limit or 0, 1)
    before: tuple[int, int, int] | None = None
    for level in (*_levels(played, rank, axis.end), (-1, -1, -1)):
        if before and level[0] == before[1] and level[2] == before[2]:
            before = (before[0], level[1], level[2])
            continue
        if before and before[2]:
            start, stop, held = before
            tone = _OVER[0] if limit is not None and held > limit else _HELD[0]
            high = _HIGH * held / top
            wide = (stop - start) * axis.scale
            label = str(held) if high >= _LABELED else ""
            yield box(axis.x(start), y + _HIGH - high, wide, high, label, tone)
        before = level


def _limit(played: PlayedSchedule, limit: int | None, axis: _Axis, y: float) -> Iterator[Arrow]:
    if limit is not None:
        high = y + _HIGH * (1 - limit / max(*played.peaks, limit, 1))
        right = axis.x(axis.end)
        yield Arrow(axis.left, high, right, high, color=Color.GRAY, head=False, dashed=True)


def _names(played: PlayedSchedule, spans: Sequence[PlayedSpan], limit: int | None) -> Iterator[tuple[Tone, str]]:
    used = {span.instruction.op for span in spans}
    found = dict(_TONES.get(op, _SENT) for op in sorted(used))
    if played.machine.sizes:
        found |= dict([_HELD])
        if limit is not None and max(played.peaks) > limit:
            found |= dict([_OVER])
    yield from found.items()


_MEMORY_ROW, _STEP = 24, 50
_LEAST = 4  # pixels of a shard


def _state(
    ranks: Count = 1,
    stage: ZeroStage | None = None,
    weights: Bytes = 2.0,
    gradients: Bytes = 2.0,
    optimizer: Bytes = 12.0,
) -> Sketch:
    parts = (
        (translate("weights"), Tone.WEIGHTS, weights, 3),
        (translate("gradients"), Tone.GRADIENTS, gradients, 2),
        (translate("optimizer"), Tone.OPTIMIZER, optimizer, 1),
    )
    held = [part for part in parts if part[2]]

    def on(paper: Paper) -> Sheet:
        most = max(size for _, _, size, _ in held)
        rects: list[Rect] = []
        words: list[Words] = []
        for at, (name, tone, size, sharded_from) in enumerate(held):
            y, wide = at * _STEP, paper.width * size / most
            whole_one = stage is None or stage < sharded_from
            own = wide if whole_one else max(_LEAST, wide / ranks)
            where = "" if stage is None else translate(", on every GPU") if whole_one else translate(", sharded")
            says = translate("{name}: {size:g} B per parameter{where}", name=name, size=size, where=where)
            words.append(Words(0, y + 13, says))
            rects.append(box(0, y + 19, wide, _MEMORY_ROW, "", Color.GRAY, outlined=True))
            rects.append(box(0, y + 19, own, _MEMORY_ROW, "", tone))
        if stage is not None:
            note = translate("Filled: what one of {ranks:,} holds.", ranks=ranks)
        elif ranks > 1:
            note = translate("It could be shared by {ranks:,}.", ranks=ranks)
        else:
            return Sheet(height=len(held) * _STEP - 4, rects=tuple(rects), words=tuple(words))
        words.append(Words(0, len(held) * _STEP + 13, note, quiet=True))
        return Sheet(height=len(held) * _STEP + 18, rects=tuple(rects), words=tuple(words))

    title = translate("Model state of one parameter") if stage is None else translate("ZeRO stage {stage}", stage=stage)
    return sketch(title, ", ".join(f"{name} {size:g} B" for name, _, size, _ in held), on)


def _memory_memory(memory: Bytes, activations: Bytes | None = None, state: Bytes | None = None) -> Sketch:
    known = [
        (name, tone, size)
        for name, tone, size in (
            (translate("activations"), Tone.ACTIVATIONS, activations or 0.0),
            (translate("model state"), Tone.WEIGHTS, state or 0.0),
        )
        if size
    ]
    left = positive("memory", memory) - sum(size for _, _, size in known)
    if not known or left < 0:
        raise ValueError(say("what is held must be from 0 B to {memory}", memory=show(memory, BYTE)))
    other = translate("model state") if activations else translate("activations")
    pieces = [Piece(size, f"{name} {show(size, BYTE)}", tone) for name, tone, size in known]
    if left:
        pieces.append(Piece(left, translate("room for {other}", other=other), Color.GRAY, outlined=True))

    def on(paper: Paper) -> Sheet:
        rects = row(pieces, 0, paper.width, 20, _MEMORY_ROW + 6)
        words = [Words(0, 13, translate("{memory} of memory", memory=show(memory, BYTE)), quiet=True)]
        for at, (piece, rect) in enumerate(zip(pieces, rects, strict=True)):
            if not rect.label:
                words.append(Words(0, 68 + 17 * at, piece.label, quiet=True))
        return Sheet(height=56 + 18 * (len(words) - 1), rects=tuple(rects), words=tuple(words))

    return sketch(
        translate("The memory of a GPU"), f"{show(memory, BYTE)}: " + ", ".join(piece.label for piece in pieces), on
    )


def _batch(batch: Count, context: Count) -> Sketch:
    shown = first_numbers(batch, 6)

    def on(paper: Paper) -> Sheet:
        across = [Piece(1, GAP if one is None else str(one + 1), Tone.ACTIVATIONS) for one in shown]
        rects = row([Piece(1, translate("weights"), Tone.WEIGHTS)], 0, paper.width, 20, _MEMORY_ROW)
        rects += row(across, 0, paper.width, 76, _MEMORY_ROW)
        words = [
            Words(0, 13, translate("read once for the whole batch"), quiet=True),
            Words(0, 69, translate("read for each sequence: a cache of {tokens:,} tokens", tokens=context), quiet=True),
            *gaps(across, 0, paper.width, 76, _MEMORY_ROW),
        ]
        return Sheet(height=80 + _MEMORY_ROW, rects=tuple(rects), words=tuple(words))

    return sketch(
        translate("What a step reads, not to scale"),
        translate("the weights, and {sequences:,} caches", sequences=batch),
        on,
    )


STATE = Illustration("state", "bytes of model state per parameter, and ZeRO's shards", _state)
MEMORY = Illustration("memory", "the memory of a GPU, and what is already in it", _memory_memory)
BATCH = Illustration("batch", "what a decoding step reads: weights, and caches", _batch)


_COUNTED_PARTS_ROW, _MEMORY_LINE, _LABEL = 26, 24, 17


def counted_sketch(counted: CountedParts, *, finished: bool) -> Drawing:
    """The parts that a wrong answer counts; to scale and with both values once *finished*."""
    left_out = [part.name for part in counted.parts if not part.counted]
    return sketch(
        translate("Your answer beside the right one") if finished else translate("What your answer counts"),
        translate("left out: {left_out}", left_out=", ".join(left_out)),
        lambda paper: _beside(counted, paper) if finished else _checked(counted.parts, paper),
    )


def _checked(parts: Sequence[CountedPart], paper: Paper) -> Sheet:
    """A line for each part, without its size."""
    rects: list[Rect] = []
    words: list[Words] = []
    for at, part in enumerate(parts):
        y = at * _MEMORY_LINE
        color = Tone.COMPUTE if part.counted else Color.GRAY
        rects.append(box(1, y + 1, 40, 16, "", color, outlined=not part.counted))
        says = translate("counted") if part.counted else translate("left out")
        words.append(Words(52, y + 14, f"{part.name}: {says}", strong=not part.counted))
    return Sheet(height=len(parts) * _MEMORY_LINE, rects=tuple(rects), words=tuple(words))


def _beside(counted: CountedParts, paper: Paper) -> Sheet:
    """Both answers to scale, one above the other, and the names of the parts below."""
    whole = sum(abs(part.value) for part in counted.parts)
    own = [part for part in counted.parts if part.counted]
    reach = paper.width * sum(abs(part.value) for part in own) / whole
    below = 2 * (_COUNTED_PARTS_ROW + _LABEL + 8)
    words = [
        Words(0, 13, translate("yours: {given}", given=counted.given)),
        Words(0, _COUNTED_PARTS_ROW + _LABEL + 21, translate("right: {right}", right=counted.right), strong=True),
    ]
    rects = row(_pieces(own), 1, reach, _LABEL, _COUNTED_PARTS_ROW)
    rects += row(_pieces(counted.parts), 1, paper.width - 1, _COUNTED_PARTS_ROW + 2 * _LABEL + 8, _COUNTED_PARTS_ROW)
    left_out = ", ".join(part.name for part in counted.parts if not part.counted)
    words.append(Words(0, below + 13, translate("left out: {left_out}", left_out=left_out), quiet=True))
    return Sheet(height=below + 20, rects=tuple(rects), words=tuple(words))


def _pieces(parts: Sequence[CountedPart]) -> Iterator[Piece]:
    for part in parts:
        color = Tone.COMPUTE if part.counted else Color.GRAY
        yield Piece(abs(part.value), part.name, color, outlined=not part.counted)
