"""The loss of models of all sizes that were trained with the same budget."""

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Arrow, Rect, Sheet, Words
from app.core.charts.paper import Paper
from app.core.formulas.checks import positive
from app.core.translation import translate
from app.core.units import Ratio, figures
from app.course.illustrations.base import Illustration, Sketch, box, sketch

_LEFT, _TOP, _FOOT = 24.0, 30.0, 150.0
_PIECES = 24


def _isoflop(times: Ratio | None = None) -> Sketch:
    far = positive("times", times) if times else 0.0

    def on(paper: Paper) -> Sheet:
        right = paper.width - 6.0
        middle, half = (_LEFT + right) / 2, (right - _LEFT) * 0.42

        def place(at: float) -> tuple[float, float]:
            """A point of the curve; *at* is -1 at its left end and 1 at its right."""
            return round(middle + at * half, 2), round(_FOOT - 34 - (_FOOT - 34 - _TOP) * at * at, 2)

        points = [place(2 * k / _PIECES - 1) for k in range(_PIECES + 1)]
        arrows = [
            Arrow(*start, *end, color=Color.BLUE, head=False) for start, end in zip(points, points[1:], strict=False)
        ]
        axes = ((_LEFT, _FOOT, right, _FOOT), (_LEFT, _FOOT, _LEFT, 8.0))
        arrows += [Arrow(*ends, color=Color.GRAY, head=False) for ends in axes]
        marks = [(0.0, translate("optimum"))]
        if far:
            marks.append((0.6 if far > 1 else -0.6, translate("{far} times as large", far=figures(far))))
        rects: list[Rect] = []
        words = [
            Words(_LEFT + 8, 18, translate("loss"), quiet=True),
            Words(right, _FOOT + 18, translate("parameters (fewer tokens to the right)"), anchor="end", quiet=True),
        ]
        for at, says in marks:
            x, y = place(at)
            rects.append(box(x - 4, y - 4, 8, 8, "", Tone.OPTIMIZER))
            if at:  # inside the curve
                side, gap = ("end", -10) if at > 0 else ("start", 10)
                words.append(Words(x + gap, y - 4, says, anchor=side))
            else:
                words.append(Words(x, y + 22, says, anchor="middle", strong=True))
        return Sheet(height=_FOOT + 24, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))

    says = translate("the loss of models of all sizes, with the same training computation")
    return sketch(translate("One budget, not to scale"), says, on)


ISOFLOP = Illustration("isoflop", "the loss of models of all sizes with one budget", _isoflop)
