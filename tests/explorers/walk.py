"""An explorer in each state that is tried: drawn once, for all that is looked for in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from app.core.charts.axes import NARROW, WIDE, Drawing, Paper
from app.core.charts.bars import Bars
from app.core.charts.plot import Plot
from app.core.charts.svg import Figure, to_svg
from app.course.explorers import EXPLORERS
from tests.charts.belonging import misplaced
from tests.charts.crossings import crossings, drawn
from tests.charts.outside import outside
from tests.charts.tones import Tones, named_tones, neighbors
from tests.explorers.noise import noise, texts_in, texts_of
from tests.explorers.states import States, explored_states


@dataclass
class Walk:
    """The faults that were found on the way through the explorer of that *name*, and its tones."""

    name: str
    states: int = 0
    noise: list[str] = field(default_factory=list)
    crossings: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    drawings: int = 0  # states in which it draws by itself
    touching: set[tuple[str, str]] = field(default_factory=set)  # tones of neighbors
    named: set[tuple[str, Tones]] = field(default_factory=set)  # with the title of the figure

    def look_at(self, figure: Figure, state: str) -> None:
        """Draw a *figure*, and keep what is wrong with it."""
        where = f"{self.name} {state}, {figure.title}"
        self.touching |= {(one, other) for (_, one), (_, other) in neighbors(figure)}
        if isinstance(figure, Bars):
            self.named.add((figure.title, named_tones(figure)))
        for paper in (WIDE, NARROW):
            self._look_at_paper(figure, paper, f"{where}, {paper.name}")

    def _look_at_paper(self, figure: Figure, paper: Paper, where: str) -> None:
        svg = to_svg(figure, alone=False, paper=paper)
        for text in texts_in(figure, svg):
            self.noise += _at(where, noise(self.name, text))
        self.crossings += _at(where, crossings(drawn(svg)))
        if isinstance(figure, Plot):
            self.misplaced += _at(where, misplaced(figure, paper))
        if isinstance(figure, Drawing):
            self.outside += _at(where, outside(figure.on(paper), paper))


@cache
def walked(which: States, name: str) -> Walk:
    """What was found in all states of an explorer; equal figures of several are drawn once."""
    walk, figures = Walk(name), dict[str, Figure]()
    for state, shown in explored_states(EXPLORERS[name], which):
        walk.states += 1
        for text in texts_of(shown):
            walk.noise += _at(f"{name} {state}", noise(name, text))
        walk.drawings += any(isinstance(figure, Drawing) for figure in shown.figures)
        for figure in shown.figures:
            # It is kept: what is written of one that is gone could be that of another.
            if figures.setdefault(repr(figure), figure) is figure:
                walk.look_at(figure, state)
    return walk


def _at(where: str, faults: Iterable[str]) -> list[str]:
    return [f"{where}: {fault}" for fault in faults]
