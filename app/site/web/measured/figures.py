"""The figures of a test: its bus bandwidth beside others, its times beside the fitted lines."""

import math
from collections.abc import Iterator, Sequence

from app.core.charts.axes import Axis, Color
from app.core.charts.plot import Plot, Series
from app.core.measurements.pieces import Comparison
from app.core.measurements.published import PublishedMeasurement, published_tests
from app.core.measurements.reports import CollectiveTest, SizeRow
from app.core.translation import translate
from app.core.units import BYTE, BYTE_PER_SECOND, SECOND

_POINTS = 40  # of a curve whose points are drawn
_BESIDE = 3  # published runs in a figure
SIZE = Axis("size", BYTE, log=True, base=2)
_COLORS = (Color.GREEN, Color.PURPLE, Color.GRAY)
Points = tuple[tuple[float, float], ...]
FAMILIES = ("GB300", "GB200", "B200", "GH200", "H200", "H100", "A100", "MI300X", "T4")


def figures_of_test(
    test: CollectiveTest, comparison: Comparison | None, beside: Sequence[PublishedMeasurement]
) -> Iterator[Plot]:
    """The figures of *test*; none without a size."""
    if points := bandwidth_points(test):
        yield _bandwidths(points, test, comparison, beside)
    if test.pieces:
        yield _times(test)


def _bandwidths(
    points: Points, test: CollectiveTest, comparison: Comparison | None, beside: Sequence[PublishedMeasurement]
) -> Plot:
    series = [Series(Color.BLUE, translate("this run"), points)]
    for color, one in zip(_COLORS, beside, strict=False):
        if isinstance(one.report, CollectiveTest):
            series.append(Series(color, one.name, bandwidth_points(one.report)))
    if comparison:
        first, last = points[0][0], points[-1][0]
        ends = (first, last) if first < last else (first, 2 * first)
        line = tuple((size, comparison.wire) for size in ends)
        series.append(Series(Color.ORANGE, "wire", line))
    return Plot(
        title=translate("Bus bandwidth by size"),
        summary=translate("Bus bandwidth of {collective} over the size of the array", collective=test.collective),
        x=SIZE,
        y=Axis(translate("bus bandwidth"), BYTE_PER_SECOND, log=True),
        series=tuple(series),
    )


def _times(test: CollectiveTest) -> Plot:
    rows = thin_rows(test.rows)
    series = [Series(Color.BLUE, translate("measured"), tuple((row.size, row.time) for row in rows))]
    for color, piece in zip((Color.ORANGE, Color.GREEN, Color.PURPLE), test.pieces, strict=False):
        # A power of two apart: a line is bent on log axes.
        count = max(1, min(_POINTS - 1, round(math.log2(piece.last / piece.first))))
        sizes = [*(piece.first * (piece.last / piece.first) ** (n / count) for n in range(count)), piece.last]
        name = translate("line {series}", series=len(series)) if len(test.pieces) > 1 else translate("line")
        series.append(Series(color, name, tuple((size, piece.time(size)) for size in sizes)))
    return Plot(
        title=translate("Time by size, and the lines that fit"),
        summary=translate("Measured times and the fitted lines over the size of the array"),
        x=SIZE,
        y=Axis(translate("time"), SECOND, log=True),
        series=tuple(series),
    )


def thin_rows(rows: Sequence[SizeRow]) -> list[SizeRow]:
    """At most as many of *rows* as are drawn with their points, the largest size among them."""
    ordered = sorted(rows, key=lambda row: row.size)
    stride = -(-len(ordered) // _POINTS)
    return ordered[::-1][::stride][::-1] if stride else []


def bandwidth_points(test: CollectiveTest) -> tuple[tuple[float, float], ...]:
    """Size and bus bandwidth; where that is printed as 0, there is nothing to draw."""
    rows = thin_rows([row for row in test.rows if row.busbw > 0])
    return tuple((row.size, row.busbw) for row in rows)


def neighbors(test: CollectiveTest, name: str = "") -> list[PublishedMeasurement]:
    """Published runs of the same collective but *name*: on the same GPU first, then as large."""
    others = [
        one
        for one in published_tests().values()
        if isinstance(one.report, CollectiveTest)
        and one.report.collective == test.collective
        and one.name != name
        and len(one.report.rows) >= _BESIDE
    ]
    own, ranks = family(test.hardware), math.log(max(test.ranks or 1, 1))

    def distance(one: PublishedMeasurement) -> tuple[bool, float, int]:
        report = one.report
        count = report.ranks if isinstance(report, CollectiveTest) else None
        rows = len(report.rows) if isinstance(report, CollectiveTest) else 0
        return (family(one.hardware) != own, abs(math.log(max(count or 1, 1)) - ranks), -rows)

    return sorted(others, key=distance)[:_BESIDE]


def family(hardware: str) -> str:
    """The name of the GPU in *hardware*; empty if it names none that is known."""
    return next((family for family in FAMILIES if family in hardware), "")
