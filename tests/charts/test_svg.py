"""Every figure is well-formed SVG, whatever names it was given."""

import xml.etree.ElementTree as ET

from app.core.charts.axes import Arrow, Axis, Color, Drawing, Rect, Sheet, Words
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.charts.scatter import Dot, DotGroup, Scatter
from app.core.charts.svg import Figure, to_svg
from app.core.charts.timeline import Lane, TimeBar, Timeline
from app.core.units import BYTE
from tests.each import each

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'too' ]]>"
AXIS = Axis(label=HOSTILE, unit=BYTE)
FIGURES: dict[str, Figure] = {
    "bars": Bars(
        title=HOSTILE,
        summary=HOSTILE,
        axis=AXIS,
        bars=(Bar(name=HOSTILE, parts=(Part(color=Color.PURPLE, name=HOSTILE, value=3e9),), note=HOSTILE),),
        limit=1e9,
        limit_says=HOSTILE,
    ),
    "plot": Plot(
        title=HOSTILE,
        summary=HOSTILE,
        x=AXIS,
        y=AXIS,
        series=(Series(color=Color.BLUE, name=HOSTILE, points=((1.0, 1.0), (2.0, 3.0))),),
        marks=(LabeledPoint(x=1.0, y=2.0, says=HOSTILE),),
    ),
    "scatter": Scatter(
        title=HOSTILE,
        summary=HOSTILE,
        x=Axis(label=HOSTILE, unit=BYTE, log=True),
        y=Axis(label=HOSTILE, unit=BYTE, log=True),
        groups=(DotGroup(Color.BLUE, "square", HOSTILE, (Dot(1.0, 2.0, 1.0, 3.0, HOSTILE, HOSTILE),)),),
        band=0.1,
    ),
    "timeline": Timeline(
        title=HOSTILE,
        summary=HOSTILE,
        rows=(
            Lane(
                name=HOSTILE, note=HOSTILE, bars=(TimeBar(start=0.0, end=1.0, kind="F", label=HOSTILE, says=HOSTILE),)
            ),
        ),
        end=1.0,
        kinds=(("F", HOSTILE),),
        note=HOSTILE,
    ),
    "drawing": Drawing(
        title=HOSTILE,
        summary=HOSTILE,
        on=lambda _: Sheet(
            height=100,
            rects=(Rect(x=0, y=0, width=9, height=9, color=Color.PURPLE, label=HOSTILE, says=HOSTILE),),
            arrows=(Arrow(x1=0, y1=0, x2=9, y2=9, color=Color.PURPLE, label=HOSTILE, says=HOSTILE),),
            words=(Words(x=0, y=0, text=HOSTILE),),
        ),
        table=((HOSTILE,),),
    ),
}


@each("alone", [True, False], ids=["file", "piece"])
@each("name", FIGURES)
def test_a_hostile_name_is_text_and_nothing_else(name: str, alone: bool) -> None:
    root = ET.fromstring(to_svg(FIGURES[name], alone=alone))
    assert root.tag.endswith("svg")
    assert not [one for one in root.iter() if one.tag.endswith("script")]
    heard = [text for one in root.iter() for text in (one.text or "", *one.attrib.values())]
    assert any(HOSTILE in text for text in heard)


@each("name", FIGURES)
def test_a_file_names_what_it_shows(name: str) -> None:
    root = ET.fromstring(to_svg(FIGURES[name], alone=True))
    assert root.attrib["viewBox"].split()[2:] == [root.attrib["width"], root.attrib["height"]]
    assert all(one.attrib.get("href", "#").startswith("#") for one in root.iter())


@each("name", FIGURES)
def test_the_table_of_a_figure_is_a_rectangle(name: str) -> None:
    table = FIGURES[name].table
    assert len({len(row) for row in table}) == 1
