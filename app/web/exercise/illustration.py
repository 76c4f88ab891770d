"""The figure under a prompt: what is given, drawn with the exercise's own numbers."""

from dataclasses import dataclass

from markupsafe import Markup

from app.errors import sentence
from app.illustrations import illustrated
from app.illustrations.blocks import played_sketch
from app.illustrations.counting import counted_sketch
from app.kinds import Exercise
from app.kinds.answers import Answer
from app.kinds.base import Illustrated, Remembered
from app.kinds.drawing import Draw
from app.simulators.sharding import PlayedPlan
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
    figure, key = exercise.figure, (exercise.id, exercise.digest, seed)
    if figure:
        return _views.of(key, lambda: _view(figure, exercise.draw(seed)))
    return (
        _views.of(key, lambda: played_view(exercise.at_first(seed))) if exercise.is_played else None
    )


def _view(figure: Illustrated, drawn: Draw) -> IllustrationView:
    try:
        found = illustrated(figure, drawn)
        return IllustrationView(found.title, drawn_on(BOTH, found))
    except ValueError as error:
        return IllustrationView("", Markup(""), sentence(str(error)))


def counted_view(
    exercise: Exercise, seed: int, answer: Answer, *, finished: bool
) -> IllustrationView | None:
    """What a wrong *answer* counts, where the right one adds up parts; with sizes if *finished*."""
    counted = exercise.counted(seed, answer)
    if counted is None:
        return None
    found = counted_sketch(counted, finished=finished)
    return IllustrationView(found.title, drawn_on(BOTH, found))


def played_view(played: PlayedPlan) -> IllustrationView:
    """What the ranks hold at first, and after each move of a plan."""
    found = played_sketch(played)
    return IllustrationView(found.title, drawn_on(BOTH, found))
