"""What an explorer draws by itself stays on the paper, wide or narrow, at the ends of its controls."""

from collections.abc import Iterator

from app.charts.diagram import Drawing, Sheet
from app.charts.paper import NARROW, WIDE, Paper, text_width
from app.charts.plot import Plot
from app.explorers import EXPLORERS, Explorer, Slider, Values, read_controls
from tests.each import each
from tests.explorers.test_noise import WHICH, States

DRAWN = ("fit", "formats", "ring", "routing", "run", "split", "tolls")


def sheets(which: States, name: str, paper: Paper) -> Iterator[tuple[dict[str, str], Sheet]]:
    for state in which(EXPLORERS[name]):
        values, _ = read_controls(EXPLORERS[name].controls, state)
        try:
            figures = EXPLORERS[name].explore(Values(values)).figures
        except ValueError:
            continue  # they do not go together
        yield from ((state, one.on(paper)) for one in figures if isinstance(one, Drawing))


@WHICH
@each("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
@each("name", DRAWN)
def test_everything_drawn_is_on_the_paper(which: States, name: str, paper: Paper) -> None:
    drew = 0
    for state, sheet in sheets(which, name, paper):
        drew += 1
        for rect in sheet.rects:
            assert 0 <= rect.x <= rect.x + rect.width <= paper.width, (state, rect)
            assert 0 <= rect.y <= rect.y + rect.height <= sheet.height, (state, rect)
            assert text_width(rect.label) <= rect.width + 1, (state, rect)
        for text in sheet.words:
            reach = text_width(text.text)
            left = {"start": text.x, "middle": text.x - reach / 2, "end": text.x - reach}
            assert left[text.anchor] >= -1, (state, text)
            assert left[text.anchor] + reach <= paper.width + 1, (state, text)
            assert 8 < text.y < sheet.height, (state, text)
        for arrow in sheet.arrows:
            assert 0 <= min(arrow.x1, arrow.x2) <= max(arrow.x1, arrow.x2) <= paper.width, state
    assert drew > 2


def test_every_explorer_that_draws_by_itself_is_looked_at() -> None:
    found = set()
    for name, explorer in EXPLORERS.items():
        values, _ = read_controls(explorer.controls, {})
        if any(isinstance(one, Drawing) for one in explorer.explore(Values(values)).figures):
            found.add(name)
    assert found == set(DRAWN)


def dragged(explorer: Explorer) -> Iterator[tuple[Slider, Plot]]:
    """The figure at both ends of each control that a point of it stands for."""
    for control in explorer.controls:
        for end in control.ends if isinstance(control, Slider) else ():
            state = {control.name: f"{end:.9f}"}
            values, _ = read_controls(explorer.controls, state)
            for one in explorer.explore(Values(values)).figures:
                if isinstance(one, Plot) and isinstance(control, Slider):
                    yield control, one


@each(
    "name",
    ["all-reduce", "bandwidth", "checkpoints", "formats", "learning-rate", "run", "roofline"],
)
def test_a_point_that_is_dragged_to_the_end_is_still_on_its_curve(name: str) -> None:
    looked = 0
    for control, plot in dragged(EXPLORERS[name]):
        reach = [x for series in plot.series for x, _ in series.points]
        for point in plot.marks:
            if point.grip and point.grip.control == control.name:
                assert min(reach) * 0.999 <= point.x <= max(reach) * 1.001, (control.name, point)
                looked += 1
    assert looked >= 2
