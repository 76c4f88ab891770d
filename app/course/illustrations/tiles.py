"""The output of a product of matrices, in tiles."""

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Rect, Sheet, Words
from app.core.charts.paper import Paper
from app.core.formulas.checks import whole
from app.core.translation import translate
from app.core.units import Count, figures
from app.course.illustrations.base import GAP, Illustration, Sketch, box, sketch

_LABEL = 70.0  # pixels to the left of the matrix


def _tiles(rows: Count, columns: Count, tile_rows: Count, tile_columns: Count) -> Sketch:
    for name, value in (("rows", rows), ("columns", columns)):
        whole(name, value)
    for name, value in (("tile_rows", tile_rows), ("tile_columns", tile_columns)):
        whole(name, value)
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
    high, wide = 30.0, min(30.0 * tile[1] / tile[0], (paper.width - _LABEL) / 5)
    rects: list[Rect] = []
    words = [
        Words(_LABEL, 14, translate("{columns:,} columns", columns=columns)),
        Words(_LABEL - 8, 40, f"{figures(rows)}", anchor="end"),
        Words(_LABEL - 8, 56, translate("rows"), anchor="end"),
    ]
    for down in range(3):
        for right in range(4):
            x, y = _LABEL + right * wide, 22 + down * high
            is_first = not down and not right
            color = Tone.COMPUTE if is_first else Color.GRAY
            rects.append(box(x, y, wide - 2, high - 2, "", color, outlined=not is_first))
        words.append(Words(_LABEL + 4 * wide + 6, 22 + down * high + 18, GAP))
    foot = 22 + 3 * high
    words.append(Words(_LABEL + 2 * wide, foot + 10, GAP, anchor="middle"))
    says = translate("filled: a tile of {tile:,} by {tile_2:,}", tile=tile[0], tile_2=tile[1])
    words.append(Words(_LABEL, foot + 32, says, quiet=True))
    return Sheet(height=foot + 38, rects=tuple(rects), words=tuple(words))


TILES = Illustration("tiles", "the output of a product of matrices, cut into tiles", _tiles)
