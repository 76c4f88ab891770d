"""The two matrices of an MLP, split over GPUs by columns or by rows."""

import math
from collections.abc import Iterator

from app.core.charts.axes import Axis, Drawing, Paper, Rect, Sheet, Tone, Words
from app.core.charts.bars import Bar, Bars, Part
from app.core.formulas.collectives import ring_all_gather_bytes, ring_all_reduce_bytes
from app.core.formulas.sharding import column_shard, row_shard, tensor_all_reduce_size
from app.core.formulas.sharding.tensor import Shard
from app.core.translation import noted, translate
from app.core.units import BYTE, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider
from app.course.explorers.words import counted_noun, divisor

_HEIGHT, _TOP, _BETWEEN = 190, 42, 20
_ELEMENT = 2  # bytes of an activation
_ORDERS = {
    "column-row": noted("columns, then rows"),
    "column-column": noted("columns, then columns"),
    "row-column": noted("rows, then columns"),
    "row-row": noted("rows, then rows"),
}
SPLITS = (noted("rows"), noted("columns"))


def _split(values: Values) -> ExplorerOutput:
    hidden, wide = values.count("hidden"), values.count("wide")
    tokens = values.count("tokens")
    ranks = _ranks(values)
    first, second = values.word("order").split("-")
    split = {"column": column_shard, "row": row_shard}
    shards = (split[first](hidden, wide, ranks), split[second](wide, hidden, ranks))
    between = tensor_all_reduce_size(1, tokens, wide, _ELEMENT)
    after = tensor_all_reduce_size(1, tokens, hidden, _ELEMENT)
    steps, sent = _collectives(first, second, between, after, ranks)
    up, down = (_shape(shard) for shard in shards)
    says = translate(
        "Each of {gpu} holds **{up}** of the first matrix and **{down}** of the second. ",
        gpu=counted_noun(ranks, "GPU"),
        up=up,
        down=down,
    ) + (" ".join(steps) if ranks > 1 else translate("A single GPU holds everything and sends nothing."))
    facts = (
        KeyFigure(noted("first shard"), up),
        KeyFigure(noted("second shard"), down),
        KeyFigure.plain(noted("weights per GPU"), sum(shard.rows * shard.columns for shard in shards)),
        KeyFigure.quantity(noted("sent, forward"), sent, BYTE),
        KeyFigure(noted("collectives, forward"), str(len(steps) if ranks > 1 else 0)),
    )
    notice = (
        translate(
            "{ranks} GPUs do not divide both sizes; shown on {ranks_2}.", ranks=values.count("ranks"), ranks_2=ranks
        )
        if ranks != values.count("ranks")
        else ""
    )
    figures = (
        _drawing((first, second), shards, hidden, wide, ranks),
        _costs(values.word("order"), between, after, ranks),
    )
    return ExplorerOutput(says, facts, figures, notice=notice)


def _ranks(values: Values) -> int:
    """The GPUs that both sizes divide over, as many as asked for or the next fewer."""
    return divisor(math.gcd(values.count("hidden"), values.count("wide")), values.count("ranks"))


def _shape(shard: Shard) -> str:
    return f"[{shard.rows}, {shard.columns}]"


def _collectives(first: str, second: str, between: float, after: float, ranks: int) -> tuple[list[str], float]:
    """The collectives of a forward pass, in words, and the bytes that each GPU sends in them."""
    steps, sent = [], 0.0
    if first == "row":
        sent += ring_all_reduce_bytes(between, ranks)
        steps.append(
            translate(
                "The first products are partial sums: an **all-reduce** of {between} must come "
                "before the activation function, which is not linear.",
                between=show(between, BYTE),
            )
        )
    if (first, second) == ("column", "column"):
        sent += ring_all_gather_bytes(between, ranks)
        steps.append(
            translate(
                "The second matrix needs whole rows of the activations: an **all-gather** of "
                "{between} between the two.",
                between=show(between, BYTE),
            )
        )
    if second == "column":
        sent += ring_all_gather_bytes(after, ranks)
        steps.append(
            translate("The result is split by columns: an **all-gather** of {after}.", after=show(after, BYTE))
        )
    else:
        sent += ring_all_reduce_bytes(after, ranks)
        nothing = "" if first == "row" else translate(" Nothing is sent between the two: this is Megatron's split.")
        steps.append(
            translate(
                "The results are partial sums: an **all-reduce** of {after}.{nothing}",
                after=show(after, BYTE),
                nothing=nothing,
            )
        )
    return steps, sent


def _costs(chosen: str, between: float, after: float, ranks: int) -> Bars:
    """What each way to split sends."""
    sent = {
        name: _collectives(first, second, between, after, ranks)[1]
        for name in _ORDERS
        for first, second in [name.split("-")]
    }
    least = min(sent.values())
    return Bars(
        title=translate("Sent by each GPU, by the way to split"),
        summary="; ".join(f"{translate(_ORDERS[name])}: {show(size, BYTE)}" for name, size in sent.items()),
        axis=Axis(translate("bytes"), BYTE),
        bars=tuple(
            Bar(
                translate(_ORDERS[name]) + (" ◀" if name == chosen else ""),
                (Part(Tone.NVLINK, "NVLink", size),),
                show(size, BYTE) + (translate(", {size} times", size=figures(size / least, 3)) if size > least else ""),
            )
            for name, size in sent.items()
        ),
    )


def _drawing(how: tuple[str, str], shards: tuple[Shard, Shard], hidden: int, wide: int, ranks: int) -> Drawing:
    """Both matrices at the same scale, the shard of GPU 0 filled."""
    wholes = ((noted("first"), hidden, wide), (noted("second"), wide, hidden))
    rows = [
        (name, f"[{rows}, {columns}]", f"{split}s", _shape(shard))
        for (name, rows, columns), split, shard in zip(wholes, how, shards, strict=True)
    ]

    def on(paper: Paper) -> Sheet:
        half = (paper.width - _BETWEEN) / 2
        scale = min(_HEIGHT / max(hidden, wide), half / max(hidden, wide))
        rects, words, left = [], [], 0.0
        for (name, shape, split, part), shard in zip(rows, shards, strict=True):
            rects += [_part(name, split[:-1], shard, rank, left, scale) for rank in range(ranks)]
            words.append(Words(left, 14, f"{translate(name)}: {shape}", strong=True))
            words.append(Words(left, 32, f"{translate(split)}: {part}", quiet=True))
            left += half + _BETWEEN
        height = round(_TOP + max(hidden, wide) * scale + 28)
        words.append(Words(0, height - 6, translate("Filled: the shard of GPU 0."), quiet=True))
        return Sheet(height=height, rects=tuple(rects), words=tuple(words))

    return Drawing(
        title=translate("An MLP on {ranks} GPUs", ranks=ranks) if ranks > 1 else translate("An MLP on one GPU"),
        summary=_ORDERS["-".join(how)],
        on=on,
        table=((translate("Matrix"), translate("Shape"), translate("Split by"), translate("Per GPU")), *rows),
    )


def _part(name: str, split: str, shard: Shard, rank: int, left: float, scale: float) -> Rect:
    """The shard of *rank*, in a matrix whose left edge is at *left*."""
    width, height = shard.columns * scale, shard.rows * scale
    x, y = (left + rank * width, _TOP) if split == "column" else (left, _TOP + rank * height)
    return Rect(
        round(x, 2),
        round(y, 2),
        round(width, 2),
        round(height, 2),
        color=Tone.IDLE if rank else Tone.WEIGHTS,
        label="",
        says=translate("{name} matrix, GPU {rank}: {shape}", name=translate(name), rank=rank, shape=_shape(shard)),
        marked=not rank,
    )


def _not_sent(values: Values) -> Iterator[tuple[float, str]]:
    """Bytes that are taken for those that a GPU sends."""
    after = tensor_all_reduce_size(1, values.count("tokens"), values.count("hidden"), _ELEMENT)
    yield (after, translate("That is the size of the result. A ring sends each part of it twice, but its own."))
    yield (0.0, translate("Columns, then rows, saves the exchange between the two, but not the one at the end."))


SPLITTER = Explorer(
    name="split",
    title=noted("Columns or rows?"),
    summary=noted("Four ways to split the two matrices of an MLP over GPUs: shapes and traffic."),
    question=noted("8 GPUs split two matrices, columns, then rows. What does each send for 8,192 tokens?"),
    predicts=noted("sent, forward"),
    chapter="tensor",
    formulas=("sharding.column_shard", "sharding.row_shard", "sharding.tensor_all_reduce_size"),
    controls=(
        Select("order", noted("Split"), _ORDERS),
        Slider("ranks", noted("GPUs"), (1, 32), default=8, doubles=True),
        Slider("hidden", noted("Hidden size"), (64, 16384), default=8192, doubles=True),
        Slider("wide", noted("Size inside the MLP"), (64, 65536), default=32768, doubles=True),
        Slider("tokens", noted("Tokens"), (1, 131072), default=8192, doubles=True),
    ),
    explore=_split,
    asks=noted("How much does each GPU send in the forward pass?"),
    foreseen=ExplainedMistakes(
        exercise="tensor/all-reduce-of-a-layer",
        answer="sent",
        given=lambda values: {
            "ranks": _ranks(values),
            "hidden": values.count("hidden"),
            "sequence": values.count("tokens"),
            "batch": 1,
        },
        others=_not_sent,
    ),
)
