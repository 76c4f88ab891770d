"""GPUs in a mesh and in nodes, matrices in shards and tiles, and blocks that ranks hold."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal

from app.core.charts.axes import NARROW, Arrow, Color, Drawing, Paper, Rect, Sheet, Tone, Words, wrap_text
from app.core.simulators.sharding import Block, Blocks, PlayedPlan
from app.core.translation import noted, translate
from app.core.units import BYTE_PER_SECOND, BytesPerSecond, Count, figures, show
from app.course.illustrations.base import GAP, Illustration, Sketch, box, first_numbers, key, note_lines, sketch

_CELL = 20  # pixels
_SQUARE = 120
_COPIES = 4  # that are drawn
_ONE = {"nodes": noted("a node"), "groups": noted("a group"), "pods": noted("a pod")}
GROUPS = (noted("nodes"), noted("groups"), noted("pods"), noted("node"), noted("group"), noted("pod"))


def _mesh(tensor: Count, pipeline: Count = 1, data: Count | None = None, context: Count = 1) -> Sketch:
    degrees = [(translate("tensor"), tensor), (translate("context"), context), (translate("pipeline"), pipeline)]
    says = note_lines(f"{name} {figures(degree)}" for name, degree in degrees if degree > 1)
    count = translate("{data:,} times", data=data) if data else translate("as many as the GPUs allow")
    return sketch(
        translate("A copy of the model, and its replicas"),
        note_lines([says, translate("data-parallel replicas: {count}", count=count)]),
        lambda paper: _copies(tensor * context, pipeline, data, says, paper),
    )


def _copies(wide: int, high: int, data: int | None, says: str, paper: Paper) -> Sheet:
    columns, rows = first_numbers(wide, 10), first_numbers(high, 6)
    across = len(columns) * _CELL
    copies = min(_COPIES, int((paper.width + 24) // (across + 24)), data or _COPIES)
    rects: list[Rect] = []
    words = [Words(0, 13, translate("one copy: {says}", says=says))]
    for copy in range(copies):
        left = copy * (across + 24)
        for y, row in enumerate(rows):
            for x, column in enumerate(columns):
                at = (left + x * _CELL, 22 + y * _CELL)
                if row is None or column is None:
                    words.append(Words(at[0] + _CELL / 2, at[1] + 13, GAP, anchor="middle"))
                    continue
                tone = Tone.WEIGHTS if not copy else Tone.IDLE
                rects.append(box(*at, _CELL - 3, _CELL - 3, "", tone))
    foot = 22 + len(rows) * _CELL + 16
    note = (
        translate("{data:,} data-parallel replicas", data=data)
        if data
        else translate("and further data-parallel replicas")
    )
    words.append(Words(0, foot, note, quiet=True))
    return Sheet(height=foot + 6, rects=tuple(rects), words=tuple(words))


def _nodes(
    nodes: Count,
    gpus: Count = 8,
    inside: BytesPerSecond | None = None,
    across: BytesPerSecond | None = None,
    group: Literal["nodes", "groups", "pods"] = "nodes",
    ranks: Count = 0,
) -> Sketch:
    one = translate(group.removesuffix("s"))
    links = [
        translate("{bandwidth} inside {group}", bandwidth=show(inside, BYTE_PER_SECOND), group=translate(_ONE[group]))
        if inside
        else "",
        translate("{bandwidth} between {groups}", bandwidth=show(across, BYTE_PER_SECOND), groups=translate(group))
        if across
        else "",
    ]
    many = f"{nodes:,} {translate(group)}" if nodes > 1 else translate(_ONE[group])
    return sketch(
        translate("{many} of {ranks:,} ranks", many=many, ranks=ranks)
        if ranks
        else translate("{many} of {gpus:,} GPUs", many=many, gpus=gpus),
        note_lines(links) or translate("GPUs that are connected inside, and with those outside"),
        lambda paper: _racks(nodes, ranks or gpus, one, [link for link in links if link], paper),
    )


def _racks(nodes: int, gpus: int, one: str, links: list[str], paper: Paper) -> Sheet:
    shown = first_numbers(nodes, 3 if paper is NARROW else 5)
    wide = min(150.0, paper.width / len(shown) - 14)
    step = wide + 14
    columns = min(4, gpus)
    cell = (wide - 12) / 4
    cells = first_numbers(gpus, 8)
    deep = -(-len(cells) // columns) * cell + 12
    rects: list[Rect] = []
    words: list[Words] = []
    arrows: list[Arrow] = []
    for at, node in enumerate(shown):
        x = at * step
        middle = x + wide / 2
        if node is None:
            words.append(Words(middle, 24 + deep / 2, GAP, anchor="middle", strong=True))
            continue
        words.append(Words(middle, 13, f"{one} {figures(node)}", anchor="middle", quiet=True))
        rects.append(box(x, 20, wide, deep, "", Color.GRAY, outlined=True))
        for place, gpu in enumerate(cells):
            left, top = x + 6 + place % columns * cell, 26 + place // columns * cell
            if gpu is None:
                words.append(Words(left + cell / 2 - 1, top + cell / 2 + 3, GAP, anchor="middle"))
                continue
            rects.append(box(left, top, cell - 3, cell - 3, "", Tone.COMPUTE))
        if nodes > 1:
            arrows.append(_grids_line(middle, 20 + deep, middle, 34 + deep))
    foot = 34 + deep
    if nodes > 1:
        arrows.append(_grids_line(wide / 2, foot, (len(shown) - 1) * step + wide / 2, foot))
    words += [Words(0, foot + 18 * (at + 1), link, quiet=True) for at, link in enumerate(links)]
    height = foot + 18 * len(links) + 6
    return Sheet(height=height, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


def _grids_line(x1: float, y1: float, x2: float, y2: float) -> Arrow:
    return Arrow(round(x1, 2), round(y1, 2), round(x2, 2), round(y2, 2), color=Color.GREEN, head=False)


def _matrix(rows: Count, columns: Count, ranks: Count, split: Literal["columns", "rows"] = "columns") -> Sketch:
    return sketch(
        translate("A matrix, split by columns") if split == "columns" else translate("A matrix, split by rows"),
        translate(
            "{rows:,} by {columns:,}, in {ranks:,} parts; the part of GPU 0 is filled",
            rows=rows,
            columns=columns,
            ranks=ranks,
        ),
        lambda paper: _grid_sheet(rows, columns, ranks, split, paper),
    )


def _grid_sheet(rows: int, columns: int, ranks: int, split: str, paper: Paper) -> Sheet:
    left, top = 60.0, 22.0
    scale = min((paper.width - left - 4) / columns, 170 / rows)
    wide, high = max(columns * scale, 24.0), max(rows * scale, 24.0)
    rects = [box(left, top, wide, high, "", Color.GRAY, outlined=True)]
    for rank in range(min(ranks, 64)):
        if split == "columns":
            place = (left + rank * wide / ranks, top, wide / ranks, high)
        else:
            place = (left, top + rank * high / ranks, wide, high / ranks)
        rects.append(box(*place, "", Color.GRAY if rank else Tone.WEIGHTS, outlined=rank > 0))
    words = (
        Words(left, 14, translate("{columns:,} columns", columns=columns)),
        Words(left - 8, top + high / 2 - 4, f"{figures(rows)}", anchor="end"),
        Words(left - 8, top + high / 2 + 12, translate("rows"), anchor="end"),
    )
    return Sheet(height=round(top + high + 4, 2), rects=tuple(rects), words=words)


def _scores(heads: Count, sequence: Count, batch: Count = 1) -> Sketch:
    says = note_lines(
        [
            translate("{heads:,} heads", heads=heads) if heads > 1 else translate("one head"),
            translate("{batch:,} sequences", batch=batch) if batch > 1 else "",
        ]
    )
    return sketch(
        translate("Attention scores"),
        translate("a square of {sequence:,} by {sequence:,} tokens; {says}", sequence=sequence, says=says),
        lambda paper: _squares(heads * batch, sequence, says),
    )


def _squares(count: int, sequence: int, says: str) -> Sheet:
    deep = min(count, 5)
    tones = [Tone.IDLE] * (deep - 1) + [Tone.ACTIVATIONS]
    places = [(60 + 9 * (deep - 1 - at), 20 + 9 * at, tone) for at, tone in enumerate(tones)]
    rects = [box(x, y, _SQUARE, _SQUARE, "", tone, marked=True) for x, y, tone in places]
    low = 20 + 9 * (deep - 1)
    words = (
        Words(60 + 9 * (deep - 1), 13, translate("{sequence:,} tokens", sequence=sequence)),
        Words(52, low + _SQUARE / 2, f"{figures(sequence)}", anchor="end"),
        Words(60, low + _SQUARE + 20, says, quiet=True),
    )
    return Sheet(height=low + _SQUARE + 26, rects=tuple(rects), words=words)


def _dispatch(nodes: Count, experts: Count) -> Sketch:
    def on(paper: Paper) -> Sheet:
        shown = first_numbers(nodes, 5)
        step = paper.width / len(shown)
        rects = [box(paper.width / 2 - 34, 2, 68, 26, translate("token"), Color.GRAY, outlined=True)]
        arrows: list[Arrow] = []
        words: list[Words] = []
        for at, node in enumerate(shown):
            middle = (at + 0.5) * step
            if node is None:
                words.append(Words(middle, 100, GAP, anchor="middle"))
                continue
            rects.append(box(middle - step / 2 + 4, 88, step - 8, 40, "", Color.GRAY, outlined=True))
            words.append(Words(middle, 112, translate("node {node}", node=node + 1), anchor="middle"))
            arrows.append(Arrow(paper.width / 2, 30, round(middle, 2), 84, color=Color.GREEN, head=True))
        note = translate("{experts:,} experts on {nodes:,} nodes", experts=experts, nodes=nodes)
        words.append(Words(0, 148, note, quiet=True))
        return Sheet(height=154, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))

    return sketch(
        translate("One token on its way to its experts"),
        translate("{experts:,} experts on {nodes:,} nodes", experts=experts, nodes=nodes),
        on,
    )


MESH = Illustration("mesh", "one copy of a model as a grid of GPUs, and its replicas", _mesh)
NODES = Illustration("nodes", "GPUs in nodes, and the links inside and between them", _nodes)
MATRIX = Illustration("matrix", "a matrix in shards, by columns or by rows", _matrix)
SCORES = Illustration("scores", "the square of attention scores of every head", _scores)
DISPATCH = Illustration("dispatch", "a token that is sent to experts on other nodes", _dispatch)


_TILES_LABEL = 70.0  # pixels to the left of the matrix


def _tiles(rows: Count, columns: Count, tile_rows: Count, tile_columns: Count) -> Sketch:
    return sketch(
        translate("The output of a product, in tiles"),
        translate(
            "{rows:,} by {columns:,}, in tiles of {tile_rows:,} by {tile_columns:,}",
            rows=rows,
            columns=columns,
            tile_rows=tile_rows,
            tile_columns=tile_columns,
        ),
        lambda paper: _corner(rows, columns, (tile_rows, tile_columns), paper),
    )


def _corner(rows: int, columns: int, tile: tuple[int, int], paper: Paper) -> Sheet:
    """The upper left corner of the matrix, tile by tile; the rest is left out."""
    high, wide = 30.0, min(30.0 * tile[1] / tile[0], (paper.width - _TILES_LABEL) / 5)
    rects: list[Rect] = []
    words = [
        Words(_TILES_LABEL, 14, translate("{columns:,} columns", columns=columns)),
        Words(_TILES_LABEL - 8, 40, f"{figures(rows)}", anchor="end"),
        Words(_TILES_LABEL - 8, 56, translate("rows"), anchor="end"),
    ]
    for down in range(3):
        for right in range(4):
            x, y = _TILES_LABEL + right * wide, 22 + down * high
            is_first = not down and not right
            color = Tone.COMPUTE if is_first else Color.GRAY
            rects.append(box(x, y, wide - 2, high - 2, "", color, outlined=not is_first))
        words.append(Words(_TILES_LABEL + 4 * wide + 6, 22 + down * high + 18, GAP))
    foot = 22 + 3 * high
    words.append(Words(_TILES_LABEL + 2 * wide, foot + 10, GAP, anchor="middle"))
    says = translate("filled: a tile of {tile:,} by {tile_2:,}", tile=tile[0], tile_2=tile[1])
    words.append(Words(_TILES_LABEL, foot + 32, says, quiet=True))
    return Sheet(height=foot + 38, rects=tuple(rects), words=tuple(words))


TILES = Illustration("tiles", "the output of a product of matrices, cut into tiles", _tiles)


_SIGN, _TALLEST = 34.0, 130.0
_COLORS = (Tone.WEIGHTS, Tone.ACTIVATIONS, Tone.GRADIENTS)


def _product(rows: Count, inner: Count, columns: Count) -> Sketch:
    shapes = [(rows, inner), (inner, columns), (rows, columns)]

    def on(paper: Paper) -> Sheet:
        tall = max(high for high, _ in shapes)
        scale = min((paper.width - 2 * _SIGN - 4) / sum(wide for _, wide in shapes), _TALLEST / tall)
        middle = 2 + tall * scale / 2
        rects: list[Rect] = []
        words: list[Words] = []
        left = 2.0
        for (high, wide), color, sign in zip(shapes, _COLORS, "×= ", strict=True):
            top = middle - high * scale / 2
            says = f"{figures(high)} × {figures(wide)}"
            rects.append(box(left, top, wide * scale, high * scale, says, color))
            left += wide * scale + _SIGN
            words.append(Words(round(left - _SIGN / 2, 2), middle + 4, sign, anchor="middle"))
        return Sheet(height=round(tall * scale + 4, 2), rects=tuple(rects), words=tuple(words[:2]))

    (a, b), (_, c), _ = shapes
    says = translate("{a:,} by {b:,} times {b:,} by {c:,} is {a:,} by {c:,}", a=a, b=b, c=c)
    return sketch(translate("The shapes of a product, to scale"), says, on)


PRODUCT = Illustration("product", "the shapes of a matrix product, to scale", _product)


_LARGEST, _GAP = 52, 8  # pixels of a block, and between two
_LABEL = 26  # to the left: the name of an array
_LINE = 17
_COMPLETE, _PARTIAL = Tone.WEIGHTS, Tone.RECOMPUTE
_KEY = [(_COMPLETE, noted("complete")), (_PARTIAL, noted("partial sums"))]


def played_sketch(played: PlayedPlan) -> Drawing:
    """What each rank holds at first and after each move; a line for each array that changes."""
    lines = list(_lines(played))
    said = "; ".join(title for title, _, _ in lines)
    return sketch(translate("What each rank holds"), said, lambda paper: _sheet(played, lines, paper))


def _lines(played: PlayedPlan) -> Iterator[tuple[str, str, Blocks]]:
    """The title, the array and its blocks, for each line."""
    for name, held in played.task.start.items():
        yield translate("At first: {name}", name=name), name, held
    for number, step in enumerate(played.steps, 1):
        name = step.move.array or played.task.want[0]
        whole, rest = divmod(Fraction(step.sent).limit_denominator(1000), 1)
        fraction = " ".join(str(one) for one in (whole, rest) if one)
        part = translate(": each rank sends {fraction} of {name}", fraction=fraction, name=name) if step.sent else ""
        yield f"{number}. {step.move}{part}", name, step.arrays[name]
    if not played.is_right:
        yield (translate("Target: {want}", want=played.task.want[0]), played.task.want[0], played.task.goal)


def _sheet(played: PlayedPlan, lines: Sequence[tuple[str, str, Blocks]], paper: Paper) -> Sheet:
    mesh = played.task.mesh
    side = min(_LARGEST, (paper.width - _LABEL) / len(mesh.ranks) - _GAP)
    rects: list[Rect] = []
    words = [Words(0, 13, ",".join(mesh.axes), quiet=True)]
    for number, rank in enumerate(mesh.ranks):
        middle = _LABEL + number * (side + _GAP) + side / 2
        words.append(Words(middle, 13, ",".join(map(str, rank)), anchor="middle", quiet=True))
    y = 1.0 * _LINE
    for title, name, held in lines:
        for text in wrap_text(title, paper.width):
            words.append(Words(0, y + 13, text))
            y += _LINE
        words.append(Words(0, y + side / 2 + 5, name, strong=True))
        for at, block in enumerate(held):
            x = _LABEL + at * (side + _GAP)
            small = played.task.mesh.small
            rects += _block(block, played.task.numbers[name], small, (x, y + 2), side)
        y += side + 12
    marks, names, foot = key(_KEY, y, paper)
    return Sheet(height=foot + 4, rects=(*rects, *marks), words=(*words, *names))


def _block(
    block: Block, numbers: Sequence[int], small: int, corner: tuple[float, float], side: float
) -> Iterator[Rect]:
    """The outline of the whole array, and what a rank holds of it; rows are the first dimension."""
    x, y = corner
    yield box(x, y, side, side, "", Color.GRAY, outlined=True)
    columns = len(numbers) // small
    wide, high = side / columns, side / small
    starts = range(0, len(numbers), columns)
    rows = [_runs(block[at : at + columns], numbers[at : at + columns]) for at in starts]
    top = 0
    for runs, same in groupby(rows):
        count = len(list(same))
        for start, length, tone in runs:
            yield box(x + start * wide, y + top * high, length * wide, count * high, "", tone)
        top += count


def _runs(row: Block, numbers: Sequence[int]) -> tuple[tuple[int, int, Tone], ...]:
    """The cells of a row that are held, as runs: where they start, how many, and their color."""
    tones = [
        None if cell is None else _COMPLETE if cell == number else _PARTIAL
        for cell, number in zip(row, numbers, strict=True)
    ]
    found, at = [], 0
    for tone, cells in groupby(tones):
        length = len(list(cells))
        if tone is not None:
            found.append((at, length, tone))
        at += length
    return tuple(found)
