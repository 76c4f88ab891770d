"""The figure under a prompt: it can be drawn at every seed, and does not show the answer."""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from app.authoring.texts import SEEDS, Script, distinct
from app.authoring.values import WrittenNumber, written_numbers
from app.core.charts.paper import PAPERS
from app.core.charts.svg import to_svg
from app.core.expressions import ExpressionError, Quantity
from app.course.illustrations import ILLUSTRATIONS, Sketch, illustrated, listed_inputs
from app.course.kinds import Exercise, Finding
from app.course.kinds.figures import Illustrated

_TEXT = re.compile(r'>([^<>]+)<|(?:aria-label|data-says|data-names)="([^"]*)"')
_CURE = "leave that input out, or choose another figure"


def prove_illustration(exercise: Exercise) -> Iterator[Finding]:
    """A figure that cannot be drawn with the values of some seed, or that shows the answer."""
    if exercise.figure is None:
        return
    try:
        for seed in distinct(exercise, SEEDS):
            if found := _trouble(exercise, exercise.figure, seed):
                yield found
                return
    except ExpressionError:  # reported where the expression is
        return


def _trouble(exercise: Exercise, figure: Illustrated, seed: int) -> Finding | None:
    """What is wrong with *figure* as *seed* draws it.

    Raises:
        ExpressionError: an expression has no value.
    """
    try:
        told = _told(exercise, figure, seed)
    except ExpressionError:
        raise
    except ValueError as error:
        return Finding(("figure",), f"seed {seed}: {error}", _inputs(figure))
    if told:
        return Finding(("figure",), f"seed {seed}: shows {told}, which is the answer", _CURE)
    return None


def figure_texts(figure: Sketch) -> Sequence[str]:
    """Every text of *figure*, on every paper, for readers and for screen readers."""
    drawn = "".join(to_svg(figure, alone=False, paper=paper) for paper in PAPERS.values())
    found = {unescape(" ".join(match).strip()) for match in _TEXT.findall(drawn)}
    return sorted({figure.title, *found} - {""})


def _told(exercise: Exercise, figure: Illustrated, seed: int) -> str:
    """A number that the figure shows and that is an answer; empty if there is none."""
    keys = Script(exercise).keys(exercise.draw(seed))
    rights = [Quantity(key.right, key.asked.scale.unit.dimension) for key in keys.values()]
    asked = list(written_numbers(exercise.variant(seed).prompt))
    for text in figure_texts(illustrated(figure, exercise.draw(seed))):
        for written in written_numbers(text):
            if any(_tells(written, right, asked) for right in rights):
                return written.text
    return ""


def _tells(written: WrittenNumber, right: Quantity, asked: Sequence[WrittenNumber]) -> bool:
    """Whether *written* is *right*, and not one of the numbers that the prompt gives."""
    counted = written.has_unit or written.is_distinctive
    return counted and written.equals(right) and not any(one.equals(right) for one in asked)


def _inputs(figure: Illustrated) -> str:
    if figure.draws in ILLUSTRATIONS:
        return f"{figure.draws} is drawn from {listed_inputs(ILLUSTRATIONS[figure.draws])}"
    return f"the figures are {', '.join(sorted(ILLUSTRATIONS))}"
