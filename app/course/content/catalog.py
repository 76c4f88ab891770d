"""The catalog: the parts, chapters and exercises in the files under `exercises/`."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from app.core.errors import ContentError, NotFoundError, Problem, nearest
from app.core.translation import SOURCE, translate
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.images import images_in
from app.course.content.topic_file import TOPIC_FILE, ChapterFact, ReadingQuestion, Route
from app.course.content.translations import (
    LanguageTexts,
    ReadTopic,
    is_translation,
    merge_texts,
    read_exercise,
    read_spoken,
    read_topic,
    translations_of,
)
from app.course.kinds import Exercise, Where
from app.course.kinds.base import EmbeddedFigures, Strict
from app.course.kinds.drawn_values import ChapterParameter
from app.course.kinds.schema_errors import faults

PARTS_FILE = "parts.yaml"


class CoursePart(Strict):
    """A part of a course: several chapters that belong together."""

    title: str = Field(min_length=2, max_length=60, description="2 to 60 characters")
    says: str = Field(min_length=10, max_length=200, description="one sentence, for the list")


class PartsFile(Strict):
    """The content of `parts.yaml`."""

    parts: dict[str, CoursePart] = Field(
        description="the parts, in order, by the names that chapters give as their `part`"
    )


@dataclass(frozen=True, slots=True)
class CourseParts:
    """The parts of a course by name, in order, and the same in the languages that have them."""

    english: Mapping[str, CoursePart] = field(default_factory=dict)
    translated: Mapping[str, Mapping[str, CoursePart]] = field(default_factory=dict)

    def spoken(self, code: str) -> "CourseParts":
        """These parts in the language *code*, as far as they are translated."""
        return CourseParts({**self.english, **self.translated.get(code, {})})


def read_course_parts(folders: Iterable[Path], problems: list[Problem]) -> CourseParts:
    """The parts in the parts files of *folders*, which need not have any; adds to *problems*."""
    english: dict[str, CoursePart] = {}
    translated: dict[str, dict[str, CoursePart]] = {}
    for path in (folder / PARTS_FILE for folder in folders):
        if not path.exists():
            continue
        try:
            file, document = read_parts_file(path)
            for one in translations_of(path, parts_texts(file)):
                if one.is_fresh:
                    ours = _parts_file(one.document, merge_texts(document.values, one.texts))
                    translated.setdefault(one.language, {}).update(ours.parts)
        except ContentError as error:
            problems += error.problems
            continue
        english |= file.parts
    return CourseParts(english, translated)


def stray_part(name: str, parts: CourseParts, path: Path) -> Iterator[Problem]:
    """A problem, if the chapter in the file at *path* names a part that there is not."""
    if name and name not in parts.english:
        says = f"no part is called {name!r}{nearest(name, parts.english)}"
        cure = f"name one of {PARTS_FILE}, or add it there"
        yield read_document(path).problem(("part",), says, cure)


def read_parts_file(path: Path) -> tuple[PartsFile, YamlDocument]:
    """The parts in the file at *path*, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    return _parts_file(document, document.values), document


def parts_texts(file: PartsFile) -> dict[Where, str]:
    """The texts of *file* that a translation says, by their place in it."""
    return {("parts", name, key): getattr(part, key) for name, part in file.parts.items() for key in ("title", "says")}


def _parts_file(document: YamlDocument, values: Mapping[str, object]) -> PartsFile:
    try:
        return PartsFile.model_validate(values)
    except ValidationError as error:
        found = faults(error, values, PartsFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error


_SUFFIX = ".yaml"
_WORDS_A_MINUTE = 100  # formulas and tables are read slowly

_NEW_CHAPTER = "write one with title, position, summary and opening, or give the folder the name of an existing chapter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A chapter, and its exercises in order: the core ones first."""

    id: str
    title: str
    position: float
    exercises: tuple[Exercise, ...]
    part: str = ""
    summary: str = ""
    opening: str = ""
    closing: str = ""
    facts: tuple[ChapterFact, ...] = ()
    figures: tuple[EmbeddedFigures, ...] = ()
    questions: tuple[ReadingQuestion, ...] = ()
    needs: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    placement: str = ""  # the id of the exercise that the placement asks; empty: none
    parameters: Mapping[str, ChapterParameter] = field(default_factory=dict)
    language: str = SOURCE

    @property
    def path(self) -> tuple[Exercise, ...]:
        """The exercises of its path: the core ones; all of them, in a chapter without any."""
        return tuple(one for one in self.exercises if one.core) or self.exercises

    @property
    def extras(self) -> tuple[Exercise, ...]:
        """The exercises beside its path."""
        return self.exercises[len(self.path) :]

    @property
    def minutes(self) -> int:
        """Minutes that its opening and its path take."""
        return self.reading + sum(one.minutes for one in self.path)

    @property
    def reading(self) -> int:
        """Minutes that its opening takes to read."""
        return max(1, round(len(self.opening.split()) / _WORDS_A_MINUTE))


@dataclass(frozen=True, slots=True)
class Catalog:
    """All chapters and exercises, in order.

    The *topics* are listed. Those that are *hidden* are not, but their addresses still open, and
    so does what learners did in them. *images* have the address /images/NAME; *front* are the
    heading and the Markdown of a front page that a course pack brings; *translations* has what is
    translated to each language.
    """

    topics: tuple[Topic, ...]
    by_id: Mapping[str, Exercise]
    hidden: tuple[Topic, ...] = ()
    images: Mapping[str, Path] = field(default_factory=dict)
    front: tuple[str, str] | None = None
    translations: Mapping[str, LanguageTexts] = field(default_factory=dict)
    parts: CourseParts = field(default_factory=CourseParts)
    _spoken: dict[str, "Catalog"] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def read(cls, folders: Iterable[Path]) -> "Catalog":
        """The catalog of *folders*, each of which has one folder per chapter.

        Raises:
            ContentError: with every problem of every file.
        """
        problems: list[Problem] = []
        folders, topics = tuple(folders), dict[str, Topic]()
        images: dict[str, Path] = {}
        chapters = list(_topic_folders(folders, problems))
        parts = read_course_parts(folders, problems)
        read = cache(read_topic)  # its exercises and its translations look into it, too
        for folder in chapters:
            topic = _topic(folder, topics.get(folder.name), read, problems)
            if topic:
                problems += stray_part(topic.part, parts, folder / TOPIC_FILE)
                topics[topic.id] = topic
                found = images_in(folder, problems)
                images |= {f"{topic.id}/{name}": path for name, path in found}
        translations = read_spoken(chapters, read, problems)
        if problems:
            raise ContentError(problems)
        ordered = tuple(sorted(topics.values(), key=lambda topic: (topic.position, topic.id)))
        by_id = _by_id(ordered)
        return cls(ordered, by_id, images=images, translations=translations, parts=parts)

    def with_exercise(self, exercise: Exercise) -> "Catalog":
        """This catalog with *exercise* replaced, or added to its chapter if its id is new."""
        name = exercise.id.partition("/")[0]
        new = Topic(id=name, title=name.replace("-", " ").capitalize(), position=math.inf, exercises=())
        topic = next((topic for topic in self.topics if topic.id == name), new)
        others = [other for other in topic.exercises if other.id != exercise.id]
        changed = replace(topic, exercises=(*others, exercise))
        topics = (*(other for other in self.topics if other.id != name), changed)
        by_id = {**self.by_id, **_by_id(topics)}
        return replace(self, topics=topics, by_id=by_id, translations={})

    def spoken(self, code: str) -> "Catalog":
        """This catalog in the language *code*, as far as it is translated."""
        ours = self.translations.get(code)
        if ours is None:
            return self
        if code not in self._spoken:
            self._spoken[code] = replace(
                self,
                topics=tuple(_spoken(topic, ours) for topic in self.topics),
                hidden=tuple(_spoken(topic, ours) for topic in self.hidden),
                by_id={name: ours.exercises.get(name, one) for name, one in self.by_id.items()},
                translations={},
                parts=self.parts.spoken(code),
            )
        return self._spoken[code]

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Every exercise that is listed, chapter after chapter."""
        return tuple(exercise for topic in self.topics for exercise in topic.exercises)

    def exercise(self, name: str) -> Exercise:
        """The exercise with the id *name*.

        Raises:
            NotFoundError: the name does not exist; the message offers the closest one.
        """
        if name in self.by_id:
            return self.by_id[name]
        name, near = name[:200], nearest(name[:200], self.by_id)
        raise NotFoundError(translate("no exercise is called {name!r}{near}", name=name, near=near))

    def topic(self, name: str) -> Topic:
        """The chapter with the id *name*.

        Raises:
            NotFoundError: the name does not exist; the message offers the closest one.
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

    def part_title(self, topic: Topic) -> str:
        """The title of the part in which *topic* stands; empty if it stands in none."""
        part = self.parts.english.get(topic.part)
        return part.title if part else ""


def _spoken(topic: Topic, ours: LanguageTexts) -> Topic:
    """*topic* in a language, as far as it is translated; a title that a pack gave it stays."""
    exercises = tuple(ours.exercises.get(one.id, one) for one in topic.exercises)
    if topic.id not in ours.topics:
        return replace(topic, exercises=exercises)
    title, file = ours.topics[topic.id]
    return replace(
        topic,
        language=ours.language,
        title=file.title if topic.title == title else topic.title,
        summary=file.summary,
        opening=file.opening,
        closing=file.closing,
        facts=tuple(file.facts),
        questions=tuple(file.questions),
        parameters=file.parameters if topic.parameters else {},
        exercises=exercises,
    )


def _by_id(topics: Iterable[Topic]) -> dict[str, Exercise]:
    return {exercise.id: exercise for topic in topics for exercise in topic.exercises}


def _topic_folders(folders: Iterable[Path], problems: list[Problem]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            problems.append(Problem(folder, 1, "is not a folder", "give a folder of chapters"))
            continue
        yield from sorted(inner for inner in folder.iterdir() if inner.is_dir())


def _topic(folder: Path, earlier: Topic | None, read: ReadTopic, problems: list[Problem]) -> Topic | None:
    """The chapter in *folder*; without a topic file, it extends the *earlier* one of that name."""
    if not any(folder.glob(f"*{_SUFFIX}")):
        return None  # not a chapter
    before = earlier.exercises if earlier else ()
    exercises = [*before, *_exercises(folder, {exercise.id for exercise in before}, read, problems)]
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
        file = read(path)[0]
    except ContentError as error:
        problems += error.problems
        return None
    return Topic(
        id=folder.name,
        title=file.title,
        position=file.position,
        part=file.part,
        summary=file.summary,
        opening=file.opening,
        closing=file.closing,
        exercises=tuple(exercises),
        facts=tuple(file.facts),
        figures=tuple(file.figures),
        questions=tuple(file.questions),
        needs=tuple(file.needs),
        routes=tuple(file.routes),
        placement=f"{folder.name}/{file.placement}" if file.placement else "",
        parameters=file.parameters,
    )


def _exercises(folder: Path, known: set[str], read: ReadTopic, problems: list[Problem]) -> Iterator[Exercise]:
    """The exercises of *folder*; an id that is already *known* is a problem."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if path.name == TOPIC_FILE or is_translation(path):
            continue
        try:
            exercise = read_exercise(path, folder.name, read)[0]
        except ContentError as error:
            problems += error.problems
            continue
        if exercise.id in known:
            says = f"the exercise {exercise.id!r} already exists"
            problems.append(Problem(path, 1, says, "give the file another name"))
        yield exercise


@dataclass(frozen=True, slots=True)
class CourseSection:
    """A part of a course and its chapters; chapters without a part have none."""

    part: CoursePart | None
    topics: tuple[Topic, ...]


def sections_of(catalog: Catalog, topics: Sequence[Topic] | None = None) -> Iterator[CourseSection]:
    """*topics* of *catalog*, by default all, in their parts: those first whose chapters come first.

    A chapter of a course pack without a part that stands inside of one belongs to it.
    """
    found: dict[str, list[Topic]] = {}
    names = _parts_by_topic(catalog.topics)
    for topic in catalog.topics if topics is None else topics:
        found.setdefault(names[topic.id], []).append(topic)
    parts = catalog.parts.english
    yield from (CourseSection(parts.get(name), tuple(those)) for name, those in found.items())


def _parts_by_topic(topics: Sequence[Topic]) -> dict[str, str]:
    """The part in which each of *topics* stands, by the ids; empty: in none."""
    found: dict[str, str] = {}
    for place, topic in enumerate(topics):
        before = found[topics[place - 1].id] if place else ""
        later = next((one.part for one in topics[place:] if one.part), "")
        found[topic.id] = topic.part or (before if before == later else "")
    return found
