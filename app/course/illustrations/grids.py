"""GPUs in a mesh and in nodes, matrices in shards, and the scores of attention."""

from typing import Literal

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Arrow, Rect, Sheet, Words
from app.core.charts.paper import NARROW, Paper
from app.core.formulas.checks import whole
from app.core.translation import noted, translate
from app.core.units import BYTE_PER_SECOND, BytesPerSecond, Count, figures, show
from app.course.illustrations.base import GAP, Illustration, Sketch, box, few, note_lines, sketch

_CELL = 20  # pixels
_SQUARE = 120
_COPIES = 4  # that are drawn
_ONE = {"nodes": noted("a node"), "groups": noted("a group"), "pods": noted("a pod")}
GROUPS = (noted("nodes"), noted("groups"), noted("pods"), noted("node"), noted("group"), noted("pod"))


def _mesh(tensor: Count, pipeline: Count = 1, data: Count | None = None, context: Count = 1) -> Sketch:
    degrees = [(translate("tensor"), tensor), (translate("context"), context), (translate("pipeline"), pipeline)]
    for name, degree in degrees:
        whole(name, degree)
    if data is not None:
        whole("data", data)
    says = note_lines(f"{name} {figures(degree)}" for name, degree in degrees if degree > 1)
    count = translate("{data:,} times", data=data) if data else translate("as many as the GPUs allow")
    return sketch(
        translate("A copy of the model, and its replicas"),
        note_lines([says, translate("data-parallel replicas: {count}", count=count)]),
        lambda paper: _copies(tensor * context, pipeline, data, says, paper),
    )


def _copies(wide: int, high: int, data: int | None, says: str, paper: Paper) -> Sheet:
    columns, rows = few(wide, 10), few(high, 6)
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
) -> Sketch:
    whole("nodes", nodes, 1)
    whole("gpus", gpus)
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
        translate("{many} of {gpus:,} GPUs", many=many, gpus=gpus),
        note_lines(links) or translate("GPUs that are connected inside, and with those outside"),
        lambda paper: _racks(nodes, gpus, one, [link for link in links if link], paper),
    )


def _racks(nodes: int, gpus: int, one: str, links: list[str], paper: Paper) -> Sheet:
    shown = few(nodes, 3 if paper is NARROW else 5)
    wide = min(150.0, paper.width / len(shown) - 14)
    step = wide + 14
    columns = min(4, gpus)
    cell = (wide - 12) / 4
    cells = few(gpus, 8)
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
    whole("rows", rows)
    whole("columns", columns)
    whole("ranks", ranks)
    return sketch(
        translate("A matrix, split by columns") if split == "columns" else translate("A matrix, split by rows"),
        translate(
            "{rows:,} by {columns:,}, in {ranks:,} parts; the part of GPU 0 is filled",
            rows=rows,
            columns=columns,
            ranks=ranks,
        ),
        lambda paper: _parts(rows, columns, ranks, split, paper),
    )


def _parts(rows: int, columns: int, ranks: int, split: str, paper: Paper) -> Sheet:
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
    for name, value in (("heads", heads), ("sequence", sequence), ("batch", batch)):
        whole(name, value)
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
    rects = [
        box(
            60 + 9 * (deep - 1 - at),
            20 + 9 * at,
            _SQUARE,
            _SQUARE,
            "",
            Tone.IDLE if at < deep - 1 else Tone.ACTIVATIONS,
            marked=True,
        )
        for at in range(deep)
    ]
    low = 20 + 9 * (deep - 1)
    words = (
        Words(60 + 9 * (deep - 1), 13, translate("{sequence:,} tokens", sequence=sequence)),
        Words(52, low + _SQUARE / 2, f"{figures(sequence)}", anchor="end"),
        Words(60, low + _SQUARE + 20, says, quiet=True),
    )
    return Sheet(height=low + _SQUARE + 26, rects=tuple(rects), words=words)


def _dispatch(nodes: Count, experts: Count) -> Sketch:
    whole("nodes", nodes)
    whole("experts", experts)

    def on(paper: Paper) -> Sheet:
        shown = few(nodes, 5)
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
