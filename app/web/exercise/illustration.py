"""The figure under a prompt: what is given, drawn with the exercise's own numbers."""

from dataclasses import dataclass

from markupsafe import Markup

from app.errors import sentence
from app.illustrations import illustrated
from app.kinds import Exercise
from app.kinds.base import Illustrated, Remembered
from app.kinds.drawing import Draw
from app.web.explore.figures import BOTH, drawn_on


@dataclass(frozen=True, slots=True)
class IllustrationView:
    """A figure on every paper; or the *problem* of one that cannot be drawn, for its author."""

    title: str
    svg: Markup
    problem: str = ""


_views: Remembered[tuple[str, str, int], IllustrationView] = Remembered()


def illustration_view(exercise: Exercise, seed: int) -> IllustrationView | None:
    """The figure of *exercise* as *seed* draws it, if it has one."""
    figure = exercise.figure
    if figure is None:
        return None
    key = (exercise.id, exercise.digest, seed)
    return _views.of(key, lambda: _view(figure, exercise.draw(seed)))


def _view(figure: Illustrated, drawn: Draw) -> IllustrationView:
    try:
        found = illustrated(figure, drawn)
        return IllustrationView(found.title, drawn_on(BOTH, found))
    except ValueError as error:
        return IllustrationView("", Markup(""), sentence(str(error)))
