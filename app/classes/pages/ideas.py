"""Wrong ideas as pages show them: the sentence for the key that an answer stores."""

from dataclasses import dataclass

from markupsafe import Markup

from app.core.errors import AppError
from app.core.translation import language, noted, translate
from app.course.kinds import Exercise
from app.course.kinds.memo import Remembered
from app.site import Site
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import exercise_url

_GONE = noted("A mistake that the exercise no longer lists")


class _Shown(Remembered[tuple[str, str, str, int], Markup]):
    most = 4_096


_shown = _Shown()


@dataclass(frozen=True, slots=True)
class Idea:
    """A wrong idea, and how many persons had it; *share* is of those who began, 0 to 1."""

    says: Markup
    persons: int
    share: float


def idea_html(exercise: Exercise | None, key: str, seed: int = 0) -> Markup:
    """The diagnosis with that *key*, with the values that *seed* draws."""
    if exercise is None:
        return Markup(translate(_GONE))
    return _shown.of((language(), exercise.digest, key, seed), lambda: _html(exercise, key, seed))


def _html(exercise: Exercise, key: str, seed: int) -> Markup:
    try:
        says = exercise.diagnosis(key, seed)
    except (AppError, ValueError):  # it names what this drawing does not have
        return Markup(translate(_GONE))
    return inline_html(says) if says else Markup(translate(_GONE))


def link_to(site: Site, exercise: str, seed: int = 0) -> Hyperlink:
    """The page of an exercise, by its title; by its id if the course no longer has it."""
    known = site.catalog.by_id.get(exercise)
    return Hyperlink(exercise_url(exercise, seed), known.title if known else exercise)
