"""A learner's standing in exercises and chapters, as pages show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.core.translation import foreign, noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.kinds import Exercise
from app.course.learning import Memory
from app.server.db.history import PastAnswer, Standing
from app.site.web.urls import chapter_url, exercise_url

Mark = Literal["new", "tried", "solved", "unaided"]
Standings = Mapping[str, Standing]
SAYS: Mapping[Mark, str] = {
    "new": noted("not tried"),
    "tried": noted("tried"),
    "solved": noted("solved"),
    "unaided": noted("solved without hints"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseRow:
    """An exercise in a list."""

    href: str
    title: str
    label: str
    kind: str
    level: int
    minutes: int
    mark: Mark
    says: str
    language: str


@dataclass(frozen=True, slots=True)
class ExercisePath:
    """Exercises in order, how many are solved, and about how many minutes the others take."""

    rows: tuple[ExerciseRow, ...]
    solved: int
    minutes: int

    @property
    def is_finished(self) -> bool:
        """Whether every exercise is solved."""
        return self.solved == len(self.rows)

    def near(self, href: str, most: int) -> "PathStretch":
        """At most *most* rows around the one with *href*, or around the first that is open."""
        hrefs = [row.href for row in self.rows]
        is_open = (n for n, row in enumerate(self.rows) if row.mark in ("new", "tried"))
        place = hrefs.index(href) if href in hrefs else next(is_open, 0)
        begin = max(0, min(place - most // 2, len(self.rows) - most))
        return PathStretch(self.rows[begin : begin + most], begin + 1)


@dataclass(frozen=True, slots=True)
class PathStretch:
    """A few rows of a path, the first of which has the number *first*."""

    rows: tuple[ExerciseRow, ...]
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterCard:
    """A chapter in a list: its path, and the extras."""

    href: str
    title: str
    summary: str
    lang: str
    path: ExercisePath
    extras: ExercisePath
    is_known: bool


@dataclass(frozen=True, slots=True)
class LearnerHistory:
    """Everything that a learner has answered, oldest first; empty for an unknown learner.

    *chapters*: those that the learner says they know; *route*: the one that was started.
    """

    known: Standings = field(default_factory=dict)
    answers: Sequence[PastAnswer] = ()
    memories: Mapping[str, Memory] = field(default_factory=dict)
    chapters: frozenset[str] = frozenset()
    route: str = ""

    def within(self, chapter: str) -> "LearnerHistory":
        """The same for a page of *chapter*, which goes on in it though it is known."""
        return replace(self, chapters=self.chapters - {chapter}) if self.chapters else self

    def solved(self, catalog: Catalog) -> frozenset[str]:
        """The ids of the solved exercises of *catalog*."""
        return frozenset(one.id for one in catalog.exercises if is_solved(one, self.known))


def mark_of(standing: Standing | None) -> Mark:
    """The mark of an exercise with that standing."""
    if standing is None or not standing.tried:
        return "new"
    if not standing.solved:
        return "tried"
    return "unaided" if standing.unaided else "solved"


def row_of(exercise: Exercise, known: Standings, seed: int = 0) -> ExerciseRow:
    """*exercise* as a row of a list, drawn with the *seed* of its chapter."""
    mark = mark_of(known.get(exercise.id))
    return ExerciseRow(
        href=exercise_url(exercise.id, seed if exercise.from_chapter else 0),
        title=exercise.title,
        label=exercise.label,
        kind=translate(exercise.kind_title),
        level=exercise.level,
        minutes=exercise.minutes,
        mark=mark,
        says=translate(SAYS[mark]),
        language=exercise.language,
    )


def path_of(exercises: Sequence[Exercise], known: Standings, seed: int = 0) -> ExercisePath:
    """*exercises* as a list, and what is left of it."""
    left = [one for one in exercises if not is_solved(one, known)]
    rows = tuple(row_of(one, known, seed) for one in exercises)
    return ExercisePath(rows, len(rows) - len(left), sum(one.minutes for one in left))


def card_of(topic: Topic, past: LearnerHistory) -> ChapterCard:
    """*topic* as a card of a list."""
    return ChapterCard(
        href=chapter_url(topic.id),
        title=topic.title,
        summary=topic.summary,
        lang=foreign(topic.language),
        path=path_of(topic.path, past.known),
        extras=path_of(topic.extras, past.known),
        is_known=topic.id in past.chapters,
    )


def clock(seconds: Iterable[float | None]) -> str:
    """The sum of *seconds* in words; empty if none is known."""
    known = [time for time in seconds if time is not None]
    if not known:
        return ""
    minutes, rest = divmod(round(sum(known)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{rest} s"


def has_finished(topic: Topic, exercise: Exercise, before: Standings, after: Standings) -> bool:
    """Whether *exercise*, not solved *before*, was the last that the path of *topic* needed."""
    is_new = is_solved(exercise, after) and not is_solved(exercise, before)
    return is_new and exercise in topic.path and all(is_solved(one, after) for one in topic.path)


def is_solved(exercise: Exercise, known: Standings) -> bool:
    """Whether the learner solved *exercise*, with or without hints."""
    return mark_of(known.get(exercise.id)) in ("solved", "unaided")
