"""The figure under a prompt: what is given, drawn with the exercise's own numbers."""

from dataclasses import dataclass

from markupsafe import Markup

from app.core.errors import sentence
from app.core.simulators.programs import PlayedSchedule
from app.core.translation import language, localized
from app.course.illustrations import Sketch, illustrated
from app.course.illustrations.blocks import played_sketch
from app.course.illustrations.counted_parts import counted_sketch
from app.course.illustrations.programs import schedule_sketch
from app.course.kinds import Exercise
from app.course.kinds.answers import CountedParts, PlayedAnswer
from app.course.kinds.drawn_values import Draw
from app.course.kinds.figures import Illustrated
from app.course.kinds.memo import Remembered
from app.site.web.explore.figures import BOTH, drawn_on


@dataclass(frozen=True, slots=True)
class IllustrationView:
    """A figure on every paper; or the *problem* of one that cannot be drawn, for its author."""

    title: str
    svg: Markup
    problem: str = ""


_views: Remembered[tuple[str, str, str, int], IllustrationView] = Remembered()


def illustration_view(exercise: Exercise, seed: int) -> IllustrationView | None:
    """The figure of *exercise* as *seed* draws it, if it has one."""
    figure, key = exercise.figure, (language(), exercise.id, exercise.digest, seed)
    if figure:
        return _views.of(key, lambda: _view(figure, exercise.draw(seed)))
    if exercise.is_played and key not in _views and (start := exercise.at_first(seed)):
        return _views.keep(key, played_view(start))
    return _views.get(key)


def _view(figure: Illustrated, drawn: Draw) -> IllustrationView:
    try:
        return _drawn(illustrated(figure, drawn))
    except ValueError as error:
        return IllustrationView("", Markup(""), sentence(localized(str(error))))


def counted_view(counted: CountedParts, *, finished: bool) -> IllustrationView:
    """What a wrong answer counts, where the right one adds up parts; with sizes if *finished*."""
    return _drawn(counted_sketch(counted, finished=finished))


def played_view(played: PlayedAnswer) -> IllustrationView:
    """What an answer did, step by step; or what is there before the first step."""
    if isinstance(played, PlayedSchedule):
        return _drawn(schedule_sketch(played))
    return _drawn(played_sketch(played))


def _drawn(found: Sketch) -> IllustrationView:
    return IllustrationView(found.title, drawn_on(BOTH, found))
