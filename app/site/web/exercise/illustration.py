"""The figure under a prompt: what is given, drawn with the exercise's own numbers."""

from dataclasses import dataclass, replace

from markupsafe import Markup

from app.core.charts.motion import Motion
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


_NEARLY = 1e-3  # of a step, by which a rounded answer may fall short of it


@dataclass(frozen=True, slots=True)
class IllustrationView:
    """A figure on every paper; or the *problem* of one that cannot be drawn, for its author."""

    title: str
    svg: Markup
    problem: str = ""
    motion: Motion | None = None
    plays: bool = False


_views: Remembered[tuple[str, str, str, int], IllustrationView] = Remembered()


def illustration_view(exercise: Exercise, seed: int, reached: float | None = None) -> IllustrationView | None:
    """The figure of *exercise* as *seed* draws it, if it has one; at the step that an answer *reached*."""
    figure, key = exercise.figure, (language(), exercise.id, exercise.digest, seed)
    if figure and figure.plays:
        return _view(figure, exercise.draw(seed), reached)
    if figure:
        return _views.of(key, lambda: _view(figure, exercise.draw(seed)))
    if exercise.is_played and key not in _views and (start := exercise.at_first(seed)):
        return _views.keep(key, played_view(start))
    return _views.get(key)


def _view(figure: Illustrated, drawn: Draw, reached: float | None = None) -> IllustrationView:
    try:
        found = illustrated(figure, drawn)
    except ValueError as error:
        return IllustrationView("", Markup(""), sentence(localized(str(error))))
    if isinstance(found, Motion) and figure.plays:
        found = replace(found, still=played_frame(found, reached))
    return _drawn(found, moves=bool(figure.plays))


def counted_view(counted: CountedParts, *, finished: bool) -> IllustrationView:
    """What a wrong answer counts, where the right one adds up parts; with sizes if *finished*."""
    return _drawn(counted_sketch(counted, finished=finished))


def played_view(played: PlayedAnswer) -> IllustrationView:
    """What an answer did, step by step; or what is there before the first step."""
    if isinstance(played, PlayedSchedule):
        return _drawn(schedule_sketch(played))
    return _drawn(played_sketch(played))


def played_frame(motion: Motion, reached: float | None) -> int:
    """The frame that an answer *reached*, however large or small it is."""
    return int(min(max(reached or 0.0, 0.0), len(motion.frames) - 1.0) + _NEARLY)


def _drawn(found: Sketch, *, moves: bool = False) -> IllustrationView:
    motion = found if moves and isinstance(found, Motion) else None
    return IllustrationView(found.title, drawn_on(BOTH, found), motion=motion)
