"""A product of two matrices by its shapes."""

from app.core.charts.color import Tone
from app.core.charts.diagram import Rect, Sheet, Words
from app.core.charts.paper import Paper
from app.core.formulas.checks import whole
from app.core.translation import translate
from app.core.units import Count, figures
from app.course.illustrations.base import Illustration, Sketch, box, sketch

_SIGN, _TALLEST = 34.0, 130.0
_COLORS = (Tone.WEIGHTS, Tone.ACTIVATIONS, Tone.GRADIENTS)


def _product(rows: Count, inner: Count, columns: Count) -> Sketch:
    for name, value in (("rows", rows), ("inner", inner), ("columns", columns)):
        whole(name, value)
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
