"""The catalog: the chapters and exercises in the files under `exercises/`."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import Field, ValidationError

from app.content.images import images_in, with_images
from app.errors import ContentError, NotFoundError, Problem, nearest
from app.kinds import EXERCISE, Exercise
from app.kinds.base import Embedded, Strict
from app.kinds.schema_errors import faults
from app.translation import translate
from app.yaml_file import YamlDocument, read_document

TOPIC_FILE = "topic.yaml"
_SUFFIX = ".yaml"
_WORDS_A_MINUTE = 100  # formulas and tables are read slowly
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-"

_NEW_CHAPTER = (
    "write one with title, position, summary and opening, or give the folder the name of an "
    "existing chapter"
)


class ChapterFact(Strict):
    """A formula or a constant that a chapter uses, with the page that explains it."""

    name: str = Field(min_length=2, max_length=40, description="what it is: 2 to 40 characters")
    says: str = Field(min_length=1, max_length=60, description="its value: 1 to 60 characters")
    formula: str = Field(default="", description="the formula that it is, by name")
    see: str = Field(default="", description="the page of this site that explains it")


class TopicFile(Strict):
    """The content of `topic.yaml`."""

    title: str = Field(min_length=2, max_length=60, description="2 to 60 characters")
    position: float = Field(description="place among the chapters; the built-in ones are 1, 2, ...")
    summary: str = Field(min_length=10, max_length=200, description="one sentence, for the list")
    opening: str = Field(min_length=1, description="Markdown, above the exercises")
    closing: str = Field(
        default="",
        description="Markdown: what one can now compute, shown when the path is finished",
    )
    facts: list[ChapterFact] = Field(
        default=[], description="formulas and constants, shown beside the exercises"
    )
    figures: list[Embedded] = Field(default=[], description="explorers, below the opening")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A chapter, and its exercises in order: the core ones first."""

    id: str
    title: str
    position: float
    exercises: tuple[Exercise, ...]
    summary: str = ""
    opening: str = ""
    closing: str = ""
    facts: tuple[ChapterFact, ...] = ()
    figures: tuple[Embedded, ...] = ()

    @property
    def path(self) -> tuple[Exercise, ...]:
        """The exercises of its path: the core ones; all of them, in a chapter without any."""
        return tuple(one for one in self.exercises if one.core) or self.exercises

    @property
    def extras(self) -> tuple[Exercise, ...]:
        """The exercises beside its path."""
        return self.exercises[len(self.path) :]

    @property
    def reading(self) -> int:
        """Minutes that its opening takes to read."""
        return max(1, round(len(self.opening.split()) / _WORDS_A_MINUTE))


@dataclass(frozen=True, slots=True)
class Catalog:
    """All chapters and exercises, in order.

    The *topics* are listed. Those that are *hidden* are not, but their addresses still open, and
    so does what learners did in them. *images* have the address /images/NAME; *front* are the
    heading and the Markdown of a front page that a course pack brings.
    """

    topics: tuple[Topic, ...]
    by_id: Mapping[str, Exercise]
    hidden: tuple[Topic, ...] = ()
    images: Mapping[str, Path] = field(default_factory=dict)
    front: tuple[str, str] | None = None

    @classmethod
    def read(cls, folders: Iterable[Path]) -> "Catalog":
        """The catalog of *folders*, each of which has one folder per chapter.

        Raises:
            ContentError: with every problem of every file.
        """
        problems: list[Problem] = []
        topics: dict[str, Topic] = {}
        images: dict[str, Path] = {}
        for folder in _topic_folders(folders, problems):
            topic = _topic(folder, topics.get(folder.name), problems)
            if topic:
                topics[topic.id] = topic
                found = images_in(folder, problems)
                images |= {f"{topic.id}/{name}": path for name, path in found}
        if problems:
            raise ContentError(problems)
        ordered = tuple(sorted(topics.values(), key=lambda topic: (topic.position, topic.id)))
        return cls(ordered, _by_id(ordered), images=images)

    def with_exercise(self, exercise: Exercise) -> "Catalog":
        """This catalog with *exercise* replaced, or added to its chapter if its id is new."""
        name = exercise.id.partition("/")[0]
        new = Topic(
            id=name,
            title=name.replace("-", " ").capitalize(),
            position=math.inf,
            exercises=(),
        )
        topic = next((topic for topic in self.topics if topic.id == name), new)
        others = [other for other in topic.exercises if other.id != exercise.id]
        changed = replace(topic, exercises=(*others, exercise))
        topics = (*(other for other in self.topics if other.id != name), changed)
        return replace(self, topics=topics, by_id={**self.by_id, **_by_id(topics)})

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Every exercise that is listed, chapter after chapter."""
        return tuple(exercise for topic in self.topics for exercise in topic.exercises)

    def exercise(self, name: str) -> Exercise:
        """The exercise with the id *name*.

        Raises:
            NotFoundError: there is no such name; the message offers the closest one.
        """
        if name in self.by_id:
            return self.by_id[name]
        name, near = name[:200], nearest(name[:200], self.by_id)
        raise NotFoundError(translate("no exercise is called {name!r}{near}", name=name, near=near))

    def topic(self, name: str) -> Topic:
        """The chapter with the id *name*.

        Raises:
            NotFoundError: there is no such name; the message offers the closest one.
        """
        for topic in (*self.topics, *self.hidden):
            if topic.id == name:
                return topic
        name, near = name[:200], nearest(name[:200], [topic.id for topic in self.topics])
        raise NotFoundError(translate("no chapter is called {name!r}{near}", name=name, near=near))

    def topic_of(self, exercise: Exercise) -> Topic:
        """The chapter of *exercise*, as it is listed; in full if *exercise* is not listed."""
        name = exercise.id.partition("/")[0]
        whole = (one for one in self.hidden if one.id == name)
        listed = self.topic(name)
        if self.hidden and all(one.id != exercise.id for one in listed.exercises):
            return next(whole, listed)
        return listed

    def after(self, exercise: Exercise) -> Exercise | None:
        """The next exercise of the same chapter."""
        return self._beside(exercise, 1)

    def before(self, exercise: Exercise) -> Exercise | None:
        """The exercise before it in the same chapter."""
        return self._beside(exercise, -1)

    def _beside(self, exercise: Exercise, step: int) -> Exercise | None:
        siblings = self.topic_of(exercise).exercises
        place = siblings.index(exercise) + step
        return siblings[place] if 0 <= place < len(siblings) else None


def _by_id(topics: Iterable[Topic]) -> dict[str, Exercise]:
    return {exercise.id: exercise for topic in topics for exercise in topic.exercises}


def topic_of(path: Path) -> str:
    """The chapter of the exercise file at *path*: its folder, even if *path* is a symbolic link."""
    return Path(os.path.abspath(path)).parent.name


def read_exercise(path: Path, topic: str) -> tuple[Exercise, YamlDocument]:
    """The exercise in the file at *path*, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    if stray := set(path.stem) - set(_NAME):
        says = f"a file's name must consist of a-z, 0-9 and hyphens, not {sorted(stray)}"
        raise ContentError([Problem(path, 1, says, "rename the file")])
    own = [
        document.problem((key,), "is set from the file itself", "remove it")
        for key in ("id", "digest")
        if key in document.values
    ]
    if own:
        raise ContentError(own)
    values = {**document.values, "id": f"{topic}/{path.stem}", "digest": document.digest}
    try:
        return EXERCISE.validate_python(with_images(values, topic, path.parent)), document
    except ValidationError as error:
        found = faults(error, document.values)
        raise ContentError([document.problem(*fault) for fault in found]) from error


def _topic_folders(folders: Iterable[Path], problems: list[Problem]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            problems.append(Problem(folder, 1, "is not a folder", "give a folder of chapters"))
            continue
        yield from sorted(inner for inner in folder.iterdir() if inner.is_dir())


def _topic(folder: Path, earlier: Topic | None, problems: list[Problem]) -> Topic | None:
    """The chapter in *folder*; without a topic file, it extends the *earlier* one of that name."""
    if not any(folder.glob(f"*{_SUFFIX}")):
        return None  # not a chapter
    before = earlier.exercises if earlier else ()
    exercises = [*before, *_exercises(folder, {exercise.id for exercise in before}, problems)]
    exercises.sort(key=lambda exercise: (not exercise.core, exercise.position, exercise.id))
    path = folder / TOPIC_FILE
    if earlier and not path.exists():
        return replace(earlier, exercises=tuple(exercises))
    if earlier:
        says = f"the chapter {folder.name!r} already exists"
        cure = "remove this file to add exercises to that chapter, or rename the folder"
        problems.append(Problem(path, 1, says, cure))
        return None
    if not os.path.lexists(path):
        says = f"the chapter {folder.name!r} has no {TOPIC_FILE}"
        problems.append(Problem(path, 1, says, _NEW_CHAPTER))
        return None
    try:
        file = read_topic(path)[0]
    except ContentError as error:
        problems += error.problems
        return None
    return Topic(
        id=folder.name,
        title=file.title,
        position=file.position,
        summary=file.summary,
        opening=file.opening,
        closing=file.closing,
        exercises=tuple(exercises),
        facts=tuple(file.facts),
        figures=tuple(file.figures),
    )


def _exercises(folder: Path, known: set[str], problems: list[Problem]) -> Iterator[Exercise]:
    """The exercises of *folder*; an id that is already *known* is a problem."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if path.name == TOPIC_FILE:
            continue
        try:
            exercise = read_exercise(path, folder.name)[0]
        except ContentError as error:
            problems += error.problems
            continue
        if exercise.id in known:
            says = f"the exercise {exercise.id!r} already exists"
            problems.append(Problem(path, 1, says, "give the file another name"))
        yield exercise


def read_topic(path: Path) -> tuple[TopicFile, YamlDocument]:
    """The chapter in the file at *path*, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    try:
        values = with_images(document.values, topic_of(path), path.parent)
        return TopicFile.model_validate(values), document
    except ValidationError as error:
        found = faults(error, document.values, TopicFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error
