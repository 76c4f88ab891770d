"""A text on a line, on the edge of a box or on another text is seen, and beside them is not one."""

from app.core.charts.axes import NARROW, WIDE, Axis, Color
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.charts.svg import Figure, to_svg
from app.core.units import BYTE, SECOND
from tests.charts.crossings import Drawn, crossings, drawn
from tests.each import each

LINE = Series(Color.BLUE, "a name", ((1.0, 1.0), (2.0, 2.0)))
COUNT = Axis("count", BYTE)


@each(
    "figure",
    [
        Bars(title="", summary="", axis=COUNT, limit=50.0, limit_says="50 B", bars=(
            Bar("one", (Part(Color.BLUE, "weights", 60.0), Part(Color.GRAY, "rest", 40.0))),)),
        Plot(title="", summary="", x=COUNT, y=Axis("time", SECOND), series=(LINE,), marks=(
            LabeledPoint(1.5, 1.5, "in the middle of it"), LabeledPoint(1.6, 1.6, "beside"))),
    ],
)  # fmt: skip
def test_a_limit_and_a_curve_go_beside_the_texts(figure: Figure) -> None:
    for paper in (WIDE, NARROW):
        assert list(crossings(drawn(to_svg(figure, alone=False, paper=paper)))) == []


def test_a_crossing_is_seen() -> None:
    box = (10.0, 10.0, 50.0, 20.0)
    for line in (((0.0, 0.0), (60.0, 30.0)), ((30.0, 0.0), (30.0, 90.0)), ((20.0, 12.0), (21.0, 13.0))):
        found = list(crossings(Drawn([("text", box)], [("curve", *line)], [])))
        assert found == ["'text' is on a line (curve)"]
    for line in (((0.0, 0.0), (60.0, 0.0)), ((0.0, 15.0), (9.0, 15.0)), ((0.0, 25.0), (30.0, 22.0))):
        assert list(crossings(Drawn([("text", box)], [("curve", *line)], []))) == []
    edge, around, apart = (30.0, 0.0, 60.0, 30.0), (0.0, 0.0, 60.0, 30.0), (60.0, 0.0, 70.0, 30.0)
    found = list(crossings(Drawn([("text", box), ("other", edge)], [], [edge, around, apart])))
    assert found == ["'text' is on the edge of a box", "'text' is on 'other'"]
