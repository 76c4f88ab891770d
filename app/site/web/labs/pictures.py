"""A small picture for each lab in the list: what it does, in a few shapes."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 120, 60
_MIDDLE = HEIGHT / 2


@dataclass(frozen=True, slots=True)
class PicturePath:
    """A path, and its class: the letter of a color that fills it, or "l" for a line."""

    color: str
    path: str


def picture_of(lab: str) -> tuple[PicturePath, ...]:
    """The picture of *lab*; a lab without one of its own has a prediction beside a measurement."""
    return tuple(_PICTURES.get(lab, _two_bars)())


def _box(color: str, x: float, y: float, width: float, height: float) -> PicturePath:
    return PicturePath(color, f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")


def _pictures_line(*points: tuple[float, float]) -> PicturePath:
    return PicturePath("l", "M" + "L".join(f"{x:g} {y:g}" for x, y in points))


def _dot(color: str, x: float, y: float, radius: float = 5) -> PicturePath:
    around = f"a{radius:g} {radius:g} 0 1 1"
    return PicturePath(color, f"M{x - radius:g} {y:g}{around} {2 * radius:g} 0{around} {-2 * radius:g} 0z")


def _two_bars() -> Iterator[PicturePath]:
    yield _box("b", 20, 14, 60, 12)
    yield _box("f", 20, 34, 74, 12)


def _around(ranks: int, x: float = 60, radius: float = 21) -> list[tuple[float, float]]:
    turns = (2 * math.pi * rank / ranks - math.pi / 2 for rank in range(ranks))
    return [(x + radius * math.cos(turn), _MIDDLE + radius * math.sin(turn)) for turn in turns]


def _ring(ranks: int, x: float = 60, color: str = "f") -> Iterator[PicturePath]:
    places = _around(ranks, x)
    yield _pictures_line(*places, places[0])
    yield from (_dot(color, *place) for place in places)


def _ring_of_blocks() -> Iterator[PicturePath]:
    places = _around(4)
    yield _pictures_line(*places, places[0])
    for rank, (x, y) in enumerate(places):
        yield _box("fbwc"[rank], x - 8, y - 5, 16, 10)


def _ring_and_tree() -> Iterator[PicturePath]:
    yield from _ring(5, 30)
    yield _pictures_line((74, 48), (83, 30), (92, 12), (101, 30), (110, 48))
    yield _pictures_line((83, 30), (92, 48))
    places = ((92, 12), (83, 30), (101, 30), (74, 48), (92, 48), (110, 48))
    yield from (_dot("b", x, y, 4) for x, y in places)


def _nodes() -> Iterator[PicturePath]:
    yield _pictures_line((40, _MIDDLE), (80, _MIDDLE))
    for left in (10, 76):
        yield _pictures_line((left, 8), (left + 34, 8), (left + 34, 52), (left, 52), (left, 8))
        yield from (_dot("f", left + 17, y) for y in (19, 41))


def _stages() -> Iterator[PicturePath]:
    """Pieces of two nodes, first together by place, then by node."""
    yield from _grid(10, 14, "fb", "fb", "wc", "wc")
    yield _pictures_line((32, _MIDDLE), (46, _MIDDLE))
    yield from _grid(52, 14, "ff", "bb", "ww", "cc")
    yield _pictures_line((74, _MIDDLE), (88, _MIDDLE))
    yield from _grid(94, 14, "fw", "fw", "bc", "bc")


def _pair() -> Iterator[PicturePath]:
    yield _pictures_line((24, _MIDDLE), (96, _MIDDLE))
    yield _pictures_line((64, 22), (74, _MIDDLE), (64, 38))
    yield _dot("f", 22, _MIDDLE, 9)
    yield _dot("b", 98, _MIDDLE, 9)


def _rows(*rows: Sequence[tuple[str, float, float]]) -> Iterator[PicturePath]:
    """Rows of a timeline, of boxes from one time to another."""
    height = 40 / len(rows)
    for number, row in enumerate(rows):
        for color, begin, end in row:
            yield _box(color, 8 + begin, 10 + number * height, end - begin - 1.5, height - 4)


def _stairs() -> Iterator[PicturePath]:
    """Four micro-batches on three devices."""
    rows = []
    for device in range(3):
        forward = [("f", 8 * (device + n), 8 * (device + n + 1)) for n in range(4)]
        first = 48 + 14 * (2 - device)
        rows.append([*forward, *(("b", first + 14 * n, first + 14 * (n + 1)) for n in range(2))])
    return _rows(*rows)


def _overlap() -> Iterator[PicturePath]:
    computed = [("f", 0, 24), *(("b", 24 + 20 * n, 44 + 20 * n) for n in range(3))]
    return _rows(computed, [("c", 44 + 20 * n, 62 + 20 * n) for n in range(3)])


def _accumulated() -> Iterator[PicturePath]:
    return _rows([*(("f", 19 * n, 19 * (n + 1)) for n in range(4)), ("c", 78, 104)])


def _streams() -> Iterator[PicturePath]:
    return _rows([("f", 0, 70)], [("c", 0, 92)])


def _late() -> Iterator[PicturePath]:
    in_time: list[tuple[str, float, float]] = [("f", 0, 60), ("e", 60, 90)]
    return _rows(in_time, in_time, [("f", 0, 90)], in_time)


def _hung() -> Iterator[PicturePath]:
    """Three rows that wait in the same collective, and one that does not join."""
    waiting: list[tuple[str, float, float]] = [("f", 0, 26), ("f", 26, 52), ("c", 52, 104)]
    return _rows(waiting, waiting, waiting[:2], waiting)


def _saves() -> Iterator[PicturePath]:
    return _rows([part for n in range(4) for part in (("f", 26 * n, 26 * n + 20), ("w", 26 * n + 20, 26 * n + 26))])


def _shares() -> Iterator[PicturePath]:
    for number, heights in enumerate(((8, 8, 24), (8, 8, 6), (2, 2, 6))):
        bottom = 52.0
        for color, height in zip("fbw", heights, strict=True):
            bottom -= height
            yield _box(color, 22 + 28 * number, bottom, 20, height - 1)


def _curve(points: Iterable[tuple[float, float]]) -> Iterator[PicturePath]:
    yield _pictures_line((14, 6), (14, 52), (112, 52))
    yield PicturePath("k", _pictures_line(*points).path)


def _bend() -> Iterator[PicturePath]:
    return _curve(((14, 44), (50, 43), (66, 38), (108, 10)))


def _turn() -> Iterator[PicturePath]:
    """Time that is flat up to the turn of a roofline."""
    return _curve(((14, 44), (56, 44), (104, 10)))


def _cliff() -> Iterator[PicturePath]:
    return _curve(((14, 14), (52, 13), (64, 34), (108, 36)))


def _doubled() -> Iterator[PicturePath]:
    levels = (44, 44, 32, 32, 20, 20, 32, 32, 20, 20, 32)
    steps = [(14 + 9 * n + side, levels[n]) for n in range(len(levels)) for side in (0, 9)]
    return _curve(steps)


def _stopped() -> Iterator[PicturePath]:
    """A sum that ends at a level, below the line of the one that goes on."""
    yield from _curve(((14, 48), (56, 30), (108, 30)))
    yield _pictures_line((14, 48), (108, 9))


def _lost() -> Iterator[PicturePath]:
    yield from _curve(((14, 46), (108, 12)))
    yield _pictures_line((14, 46), (108, 46))


def _grid(x: float, y: float, *rows: str) -> Iterator[PicturePath]:
    """Cells, whose colors are the letters of *rows*."""
    for row, colors in enumerate(rows):
        for column, color in enumerate(colors):
            yield _box(color, x + 8 * column, y + 8 * row, 7, 7)


def _product() -> Iterator[PicturePath]:
    yield from _grid(6, 14, "eeee", "ffff", "eeee", "eeee")
    yield from _grid(44, 14, "eebe", "eebe", "eebe", "eebe")
    yield from _grid(82, 14, "eeee", "eewe", "eeee", "eeee")


def _causal() -> Iterator[PicturePath]:
    return _grid(36, 6, *("f" * row + "e" * (6 - row) for row in range(1, 7)))


def _halves() -> Iterator[PicturePath]:
    yield from _grid(14, 14, *["ffbb"] * 4)
    yield from _grid(74, 14, "ffff", "ffff", "bbbb", "bbbb")
    yield _pictures_line((50, _MIDDLE), (70, _MIDDLE))


def _kept() -> Iterator[PicturePath]:
    return _rows([("f" if n % 3 == 0 else "e", 11.5 * n, 11.5 * (n + 1)) for n in range(9)])


_PICTURES: Mapping[str, Callable[[], Iterable[PicturePath]]] = {
    "accumulation": _accumulated,
    "algorithms": _ring_and_tree,
    "all-reduce": _bend,
    "attention": _causal,
    "bf16-sum": _stopped,
    "checkpoint": _saves,
    "ddp-overlap": _overlap,
    "free-batch": _turn,
    "hang-on-purpose": _hung,
    "loss-scale": _doubled,
    "lost-updates": _lost,
    "matrix-product": _product,
    "memory-copy": _cliff,
    "pipeline": _stairs,
    "point-to-point": _pair,
    "recomputation": _kept,
    "ring-attention": _ring_of_blocks,
    "ring-bytes": lambda: _ring(6),
    "staged-all-to-all": _stages,
    "straggler": _late,
    "tensor-parallel": _halves,
    "two-nodes": _nodes,
    "two-streams": _streams,
    "zero": _shares,
}
