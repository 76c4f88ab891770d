"""The two ways on that pages offer: an exercise to continue with, and the reviews that are due."""

from dataclasses import dataclass

from app.learning import Suggestion, due, onward
from app.site import Site
from app.web.standing.view import Past, today
from app.web.urls import exercise_url


@dataclass(frozen=True, slots=True)
class Suggested:
    """A suggested exercise, with the reason."""

    href: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Onward:
    """What to continue with, the first review that is due, and how many there are."""

    begun: bool
    following: Suggested | None
    review: Suggested | None
    due: int


def onward_for(site: Site, past: Past, chapter: str, current: str = "", seed: int = 0) -> Onward:
    """The ways on from *chapter* for a learner with that *past*, after the exercise *current*.

    The exercises of a chapter with parameters are drawn with its *seed*.
    """
    following = onward(site.catalog, past.solved(site.catalog), chapter, current, past.chapters)
    waiting = due(site.catalog, past.memories, today())
    return Onward(
        begun=bool(past.answers),
        following=_suggested(following, seed) if following else None,
        review=_renewed(waiting[0]) if waiting else None,
        due=len(waiting),
    )


def _suggested(found: Suggestion, seed: int) -> Suggested:
    exercise = found.exercise
    href = exercise_url(exercise.id, seed if exercise.from_chapter else 0)
    return Suggested(href, exercise.title, found.reason)


def _renewed(found: Suggestion) -> Suggested:
    """A review has new numbers, if the exercise draws any."""
    again = "/another" if found.exercise.variation else ""
    address = f"{exercise_url(found.exercise.id)}{again}"
    return Suggested(address, found.exercise.title, found.reason)
