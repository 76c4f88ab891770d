"""The exercises to choose from for an assignment: by chapter, each with its points."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.classes.people.assignments import AssignmentEntry
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.site.web.urls import exercise_url

# Names of fields; an exercise's id follows POINTS and PLACE. A browser with scripts sends ORDER.
CHOSEN, POINTS, PLACE, ORDER = "exercise", "points:", "place:", "order"

_ABOUT = noted("{kind}, level {level}, {minutes:g} min")
_CORE = noted("{kind}, level {level}, {minutes:g} min, core")


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerExercise:
    """An exercise in the list, and whether it is chosen."""

    id: str
    href: str
    title: str
    about: str
    chosen: bool
    points: str


@dataclass(frozen=True, slots=True)
class PlacedExercise:
    """An exercise in the order of an assignment, and its place as it is typed."""

    id: str
    title: str
    place: str


@dataclass(frozen=True, slots=True)
class PickerChapter:
    """The exercises of a chapter; *chosen* of them are."""

    id: str
    title: str
    choices: tuple[PickerExercise, ...]

    @property
    def chosen(self) -> int:
        """How many are chosen."""
        return sum(choice.chosen for choice in self.choices)


def chapters_of(catalog: Catalog, points: Mapping[str, str]) -> tuple[PickerChapter, ...]:
    """Every chapter; the exercises in *points* are chosen, with those points.

    Chosen exercises that the site does not have anymore are in a chapter of their own.
    """
    found = [
        PickerChapter(
            topic.id,
            topic.title,
            tuple(_choice(one, points.get(one.id), is_core=one.id in topic.on_path) for one in topic.exercises),
        )
        for topic in catalog.topics
    ]
    listed = {one.id for one in catalog.exercises}
    gone = tuple(_gone(catalog, name, worth) for name, worth in points.items() if name not in listed)
    return (*found, PickerChapter("", translate("No longer listed"), gone)) if gone else tuple(found)


def _gone(catalog: Catalog, name: str, points: str) -> PickerExercise:
    """A chosen exercise that no chapter lists anymore."""
    if name in catalog.by_id:
        return _choice(catalog.by_id[name], points, is_core=False)
    about = translate("not on this server")
    return PickerExercise(id=name, href="", title=name, about=about, chosen=True, points=points)


def picked_in_order(
    catalog: Catalog, points: Mapping[str, str], unread: Mapping[str, str]
) -> tuple[PlacedExercise, ...]:
    """The exercises in *points* in their order; *unread*: places that were typed and are none."""
    return tuple(
        PlacedExercise(name, exercise_title(catalog, name), unread.get(name, str(number)))
        for number, name in enumerate(points, 1)
    )


def exercise_title(catalog: Catalog, exercise: str) -> str:
    """The title of an exercise; its id, if the site does not have it anymore."""
    return catalog.by_id[exercise].title if exercise in catalog.by_id else exercise


def typed_points(entries: tuple[AssignmentEntry, ...]) -> Mapping[str, str]:
    """The points of *entries* by exercise, as they are typed."""
    return {entry.exercise: f"{entry.points:g}" for entry in entries}


def path_points(topic: Topic) -> Mapping[str, str]:
    """One point for each exercise of the path of a chapter."""
    return {exercise.id: "1" for exercise in topic.path}


def _choice(exercise: Exercise, points: str | None, *, is_core: bool) -> PickerExercise:
    form = _CORE if is_core else _ABOUT
    return PickerExercise(
        id=exercise.id,
        href=exercise_url(exercise.id),
        title=exercise.title,
        about=translate(form, kind=translate(exercise.kind_title), level=exercise.level, minutes=exercise.minutes),
        chosen=points is not None,
        points=points or "1",
    )
