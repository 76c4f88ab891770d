"""Layers that are split over ranks: gathered and freed, multiplied while they travel, and summed."""

from collections.abc import Iterable, Iterator, Sequence

from app.core.charts.axes import NARROW, Paper, Sheet, Words, text_width
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Paint, Place, Scene
from app.core.translation import translate

_TOP, _ROW = 34.0, 46.0  # pixels, to the first row and from one row to the next
_RANKS = 4
_EVERYONE = (1 << _RANKS) - 1


def frame_table(frames: Sequence[MotionFrame]) -> tuple[tuple[str, ...], ...]:
    """What the frames say, as a table."""
    return ((translate("Frame"), translate("What it shows")), *((str(n), one.says) for n, one in enumerate(frames)))


def grid_scene(rows: Sequence[str], columns: Sequence[str], paper: Paper, high: float = 30.0) -> Scene:
    """A table of cells, with the names of its *rows* and *columns*; pieces can be where cells are."""
    left = max(map(text_width, rows)) + 12
    step = (paper.width - left) / len(columns)
    wide = min(step - 6, 96.0)
    places = tuple(
        Place(left + column * step, _TOP + row * _ROW, wide, high)
        for row in range(len(rows))
        for column in range(len(columns))
    )
    words = [Words(0, _TOP + row * _ROW + high / 2 + 4, name) for row, name in enumerate(rows)]
    words += [
        Words(round(left + column * step + wide / 2, 2), 16, name, anchor="middle", quiet=True)
        for column, name in enumerate(columns)
    ]
    return Scene(Sheet(height=_TOP + len(rows) * _ROW, words=tuple(words)), places, places)


def _ranks() -> list[str]:
    return [translate("rank {rank:,}", rank=rank) for rank in range(_RANKS)]


def sharded_layers(layers: int = 4) -> Motion:
    """Layers that are sharded over ranks: each is gathered before it computes, and freed after."""
    frames = tuple(_gathered_frames(layers))
    names = [translate("layer {number}", number=number) for number in range(layers)]
    return Motion(
        title=translate("Weights on each rank, in one step"),
        summary=translate("a layer is whole only while it computes"),
        frames=frames,
        on=lambda paper: grid_scene(_ranks(), [str(n) for n in range(layers)] if paper is NARROW else names, paper),
        table=frame_table(frames),
        ranks=_RANKS,
        still=1,
    )


def _gathered_frames(layers: int) -> Iterator[MotionFrame]:
    def held(whole: int | None = None) -> tuple[Paint, ...]:
        return tuple(_EVERYONE if layer == whole else 1 << rank for rank in range(_RANKS) for layer in range(layers))

    yield MotionFrame(translate("Each rank keeps a shard of every layer: its own color."), held())
    for layer in range(layers):
        yield MotionFrame(translate("Forward: layer {layer} is all-gathered, and computes.", layer=layer), held(layer))
    for layer in reversed(range(layers)):
        says = translate("Backward: layer {layer} is gathered again; its gradients are reduce-scattered.", layer=layer)
        yield MotionFrame(says, held(layer))
    yield MotionFrame(translate("Freed: each rank updates its own shard of every layer."), held())


def partial_sums() -> Motion:
    """An MLP over ranks: columns give parts of a result, rows give partial sums of all of it."""
    says = (
        translate("Every rank has the whole input."),
        translate("Columns of the first matrix: each rank computes a part of its own, and nothing is sent."),
        translate("Rows of the second: each rank has a partial sum of the whole result, of one color."),
        translate("The all-reduce adds them: every rank has every color."),
    )
    columns = (translate("input"), translate("A: columns"), translate("B: rows"), translate("sum"))
    frames = []
    for step, text in enumerate(says):
        cells: list[Paint] = []
        for rank in range(_RANKS):
            parts: tuple[Paint, ...] = (_EVERYONE, 1 << rank, 1 << rank, _EVERYONE)
            cells += [part if at <= step else 0 for at, part in enumerate(parts)]
        frames.append(MotionFrame(text, tuple(cells)))
    return Motion(
        title=translate("An MLP on {ranks} GPUs", ranks=_RANKS),
        summary=translate("columns, then rows: one all-reduce at the end"),
        frames=tuple(frames),
        on=lambda paper: grid_scene(_ranks(), columns, paper),
        table=frame_table(frames),
        ranks=_RANKS,
        still=len(frames) - 1,
    )


def gather_beside_product() -> Motion:
    """Shards that travel a ring while each rank multiplies the one that it has."""
    frames = []
    for step in range(_RANKS + 1):
        done = [{(rank - back) % _RANKS for back in range(step)} for rank in range(_RANKS)]
        says = (
            translate("Each rank has its own shard of the weights.")
            if not step
            else translate(
                "Products done: {step} of {ranks}. While it multiplies a shard, a rank receives the next one.",
                step=step,
                ranks=_RANKS,
            )
        )
        cells = [cell for rank in range(_RANKS) for cell in (0, _bits(done[rank]))]
        steps = min(step, _RANKS - 1)
        pieces = tuple(MovingPiece(2 * ((shard + steps) % _RANKS), 1 << shard) for shard in range(_RANKS))
        frames.append(MotionFrame(says, tuple(cells), pieces))
    columns = (translate("shard that it has"), translate("products that are done"))
    return Motion(
        title=translate("An all-gather beside its matrix product"),
        summary=translate("only the first shard is not waited for, and only the last product is not hidden"),
        frames=tuple(frames),
        on=lambda paper: grid_scene(_ranks(), columns, paper),
        table=frame_table(frames),
        ranks=_RANKS,
        still=2,
    )


def _bits(ranks: Iterable[int]) -> int:
    return sum(1 << rank for rank in ranks)
