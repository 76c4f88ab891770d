"""What an explorer draws by itself stays on the paper, wide or narrow, at the ends of its controls."""

from collections.abc import Iterator

import pytest

from app.charts.drawing import Drawing, Sheet
from app.charts.paper import NARROW, WIDE, Paper, text_width
from app.explorers import EXPLORERS, Values, read_controls
from tests.explorers.test_noise import states

DRAWN = ("formats", "ring", "routing", "run", "split", "tolls")


def sheets(name: str, paper: Paper) -> Iterator[tuple[dict[str, str], Sheet]]:
    for state in states(EXPLORERS[name]):
        values, _ = read_controls(EXPLORERS[name].controls, state)
        try:
            figures = EXPLORERS[name].explore(Values(values)).figures
        except ValueError:
            continue  # they do not go together
        yield from ((state, one.on(paper)) for one in figures if isinstance(one, Drawing))


@pytest.mark.parametrize("paper", [WIDE, NARROW], ids=lambda paper: paper.name)
@pytest.mark.parametrize("name", DRAWN)
def test_everything_drawn_is_on_the_paper(name: str, paper: Paper) -> None:
    drew = 0
    for state, sheet in sheets(name, paper):
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
