"""What a GPU holds, and a wrong answer beside the right one, as parts."""

from collections.abc import Iterator, Sequence

from app.core.charts.style import Color, Drawing, Paper, Rect, Sheet, Tone, Words
from app.core.formulas.checks import ZeroStage, positive, whole
from app.core.translation import say, translate
from app.core.units import BYTE, Bytes, Count, show
from app.course.illustrations.base import GAP, Illustration, Piece, Sketch, box, few, gaps, row, sketch
from app.course.kinds.answers import CountedPart, CountedParts

_ROW, _STEP = 24, 50
_LEAST = 4  # pixels of a shard


def _state(
    ranks: Count = 1,
    stage: ZeroStage | None = None,
    weights: Bytes = 2.0,
    gradients: Bytes = 2.0,
    optimizer: Bytes = 12.0,
) -> Sketch:
    whole("ranks", ranks)
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
            words.append(
                Words(
                    0, y + 13, translate("{name}: {size:g} B per parameter{where}", name=name, size=size, where=where)
                )
            )
            rects.append(box(0, y + 19, wide, _ROW, "", Color.GRAY, outlined=True))
            rects.append(box(0, y + 19, own, _ROW, "", tone))
        if stage is not None:
            note = translate("Filled: on one of {ranks:,} GPUs.", ranks=ranks)
        elif ranks > 1:
            note = translate("{ranks:,} GPUs could share it.", ranks=ranks)
        else:
            return Sheet(height=len(held) * _STEP - 4, rects=tuple(rects), words=tuple(words))
        words.append(Words(0, len(held) * _STEP + 13, note, quiet=True))
        return Sheet(height=len(held) * _STEP + 18, rects=tuple(rects), words=tuple(words))

    title = translate("Model state of one parameter") if stage is None else translate("ZeRO stage {stage}", stage=stage)
    return sketch(title, ", ".join(f"{name} {size:g} B" for name, _, size, _ in held), on)


def _memory(memory: Bytes, activations: Bytes | None = None, state: Bytes | None = None) -> Sketch:
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
        rects = row(pieces, 0, paper.width, 20, _ROW + 6)
        words = [Words(0, 13, translate("{memory} of memory", memory=show(memory, BYTE)), quiet=True)]
        for at, (piece, rect) in enumerate(zip(pieces, rects, strict=True)):
            if not rect.label:
                words.append(Words(0, 68 + 17 * at, piece.label, quiet=True))
        return Sheet(height=56 + 18 * (len(words) - 1), rects=tuple(rects), words=tuple(words))

    return sketch(
        translate("The memory of a GPU"), f"{show(memory, BYTE)}: " + ", ".join(piece.label for piece in pieces), on
    )


def _batch(batch: Count, context: Count) -> Sketch:
    sequences, tokens = whole("batch", batch), whole("context", context)
    shown = few(sequences, 6)

    def on(paper: Paper) -> Sheet:
        across = [Piece(1, GAP if one is None else str(one + 1), Tone.ACTIVATIONS) for one in shown]
        rects = row([Piece(1, translate("weights"), Tone.WEIGHTS)], 0, paper.width, 20, _ROW)
        rects += row(across, 0, paper.width, 76, _ROW)
        words = [
            Words(0, 13, translate("read once for the whole batch"), quiet=True),
            Words(0, 69, translate("read for each sequence: a cache of {tokens:,} tokens", tokens=tokens), quiet=True),
            *gaps(across, 0, paper.width, 76, _ROW),
        ]
        return Sheet(height=80 + _ROW, rects=tuple(rects), words=tuple(words))

    return sketch(
        translate("What a step reads, not to scale"),
        translate("the weights, and {sequences:,} caches", sequences=sequences),
        on,
    )


STATE = Illustration("state", "bytes of model state per parameter, and ZeRO's shards", _state)
MEMORY = Illustration("memory", "the memory of a GPU, and what is already in it", _memory)
BATCH = Illustration("batch", "what a decoding step reads: weights, and caches", _batch)


_COUNTED_PARTS_ROW, _LINE, _LABEL = 26, 24, 17


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
        y = at * _LINE
        color = Tone.COMPUTE if part.counted else Color.GRAY
        rects.append(box(1, y + 1, 40, 16, "", color, outlined=not part.counted))
        says = translate("counted") if part.counted else translate("left out")
        words.append(Words(52, y + 14, f"{part.name}: {says}", strong=not part.counted))
    return Sheet(height=len(parts) * _LINE, rects=tuple(rects), words=tuple(words))


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
