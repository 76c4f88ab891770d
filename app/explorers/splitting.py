"""Two matrices of a layer, split by columns or by rows."""

from app.charts.drawing import Drawing, Rect, Words
from app.explorers.base import Explored, Explorer, Fact, Values, plain, quantity
from app.explorers.controls import Select, Slider
from app.formulas.collectives import ring_all_gather_bytes, ring_all_reduce_bytes
from app.formulas.sharding import column_shard, row_shard, tensor_all_reduce_size
from app.formulas.sharding.shapes import Shard
from app.units import BYTE, show

_WIDTH, _TALL, _TOP = 720, 190, 46
_ELEMENT = 2  # bytes of an activation
_ORDERS = {
    "column-row": "columns, then rows",
    "column-column": "columns, then columns",
    "row-column": "rows, then columns",
    "row-row": "rows, then rows",
}


def _split(values: Values) -> Explored:
    hidden, wide = values.count("hidden"), values.count("wide")
    ranks, tokens = values.count("ranks"), values.count("tokens")
    first, second = values.word("order").split("-")
    shapes = (_shard(first, hidden, wide, ranks), _shard(second, wide, hidden, ranks))
    between = tensor_all_reduce_size(1, tokens, wide, _ELEMENT)
    after = tensor_all_reduce_size(1, tokens, hidden, _ELEMENT)
    steps, moved = _talk(first, second, between, after, ranks)
    up, down = (f"[{shard.rows}, {shard.columns}]" for shard in shapes)
    says = (
        f"Each of {ranks} GPUs holds **{up}** of the first matrix and **{down}** of the second. "
        + (" ".join(steps) if ranks > 1 else "One GPU has everything and sends nothing.")
    )
    facts = (
        Fact("first shard", up),
        Fact("second shard", down),
        plain("weights on a GPU", sum(s.rows * s.columns for s in shapes)),
        quantity("sent, forward", moved, BYTE),
        Fact("collectives, forward", str(len(steps) if ranks > 1 else 0)),
    )
    return Explored(says, facts, (_drawing((first, second), shapes, hidden, wide, ranks),))


def _shard(how: str, rows: int, columns: int, ranks: int) -> Shard:
    split = column_shard if how == "column" else row_shard
    return split(rows, columns, ranks)


def _talk(
    first: str, second: str, between: float, after: float, ranks: int
) -> tuple[list[str], float]:
    """What the GPUs say to one another on the way forward, and the bytes that each sends."""
    steps, moved = [], 0.0
    if first == "row":
        moved += ring_all_reduce_bytes(between, ranks)
        steps.append(
            f"The first products are partial sums: an **all-reduce** of {show(between, BYTE)} must "
            "come before the activation function, which is not linear."
        )
    if (first, second) == ("column", "column"):
        moved += ring_all_gather_bytes(between, ranks)
        steps.append(
            f"The second matrix needs whole rows of the activations: an **all-gather** of "
            f"{show(between, BYTE)} between the two."
        )
    if second == "column":
        moved += ring_all_gather_bytes(after, ranks)
        steps.append(f"The result lies in columns: an **all-gather** of {show(after, BYTE)}.")
    else:
        moved += ring_all_reduce_bytes(after, ranks)
        nothing = "" if first == "row" else " Nothing is sent in between: that is Megatron's trick."
        steps.append(
            f"The results are partial sums: an **all-reduce** of {show(after, BYTE)}.{nothing}"
        )
    return steps, moved


def _drawing(
    how: tuple[str, str], shapes: tuple[Shard, Shard], hidden: int, wide: int, ranks: int
) -> Drawing:
    """Both matrices to one scale, the part of GPU 0 filled."""
    scale = min(_TALL / max(hidden, wide), (_WIDTH - 160) / (hidden + wide))
    rects, words = [], []
    left = 60.0
    table = [("Matrix", "Whole", "Split by", "On each GPU")]
    for name, split, shard, (rows, columns) in zip(
        ("first", "second"), how, shapes, ((hidden, wide), (wide, hidden)), strict=True
    ):
        across, tall = columns * scale, rows * scale
        for rank in range(ranks):
            x, y = left, float(_TOP)
            if split == "column":
                x += rank * across / ranks
            else:
                y += rank * tall / ranks
            box = (shard.columns * scale, shard.rows * scale)
            says = f"{name} matrix, GPU {rank}: [{shard.rows}, {shard.columns}]"
            rects.append(
                Rect(
                    round(x, 2), round(y, 2), round(box[0], 2), round(box[1], 2),
                    "f" if not rank else "e", "", says, marked=not rank,
                )
            )  # fmt: skip
        words.append(Words(left, 18, f"{name}: [{rows}, {columns}]", strong=True))
        words.append(
            Words(left, 36, f"split by {split}s into [{shard.rows}, {shard.columns}]", quiet=True)
        )
        table.append(
            (name, f"[{rows}, {columns}]", f"{split}s", f"[{shard.rows}, {shard.columns}]")
        )
        left = max(left + across + 60, left + 240)
    height = round(_TOP + max(hidden, wide) * scale + 34)
    words.append(
        Words(
            60,
            height - 10,
            "Filled: the part of GPU 0. Rows are inputs, columns outputs.",
            quiet=True,
        )
    )
    title = f"An MLP on {ranks} GPUs"
    return Drawing(
        title, f"{_ORDERS['-'.join(how)]}", _WIDTH, height, tuple(rects), (), tuple(words),
        tuple(table),
    )  # fmt: skip


SPLITTER = Explorer(
    "split",
    "Columns or rows?",
    "The two matrices of an MLP split over GPUs in four ways: shapes, and what must be sent.",
    "8 GPUs split two matrices, by columns and by rows. What does each send for 8,192 tokens?",
    "sent, forward",
    "tensor",
    ("sharding.column_shard", "sharding.row_shard", "sharding.tensor_all_reduce_size"),
    (
        Select("order", "Split", _ORDERS),
        Slider("ranks", "GPUs", 1, 32, 8, doubles=True),
        Slider("hidden", "Width of the model", 64, 16384, 8192, doubles=True),
        Slider("wide", "Width inside", 64, 65536, 8192, doubles=True),
        Slider("tokens", "Tokens", 1, 131072, 8192, doubles=True),
    ),
    _split,
    "How much does each GPU send on the way forward?",
    open=(0,),
)
