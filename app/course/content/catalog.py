"""The catalog: the chapters and exercises in the files under `exercises/`, as the outline arranges them."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

from app.core.errors import ContentError, NotFoundError, Problem, nearest
from app.core.translation import SOURCE, translate
from app.core.yaml_file import YamlDocument
from app.course.content import topic_file
from app.course.content.images import images_in
from app.course.content.outline import COURSE_FILE, CourseOutline, CoursePart, misnamed, read_outline
from app.course.content.translations import (
    LanguageTexts,
    collect_problems,
    is_translation,
    read_exercise,
    read_spoken,
    read_topic,
)
from app.course.kinds import Exercise
from app.course.kinds.base import EmbeddedFigures, ExerciseFigure
from app.course.kinds.drawn_values import ChapterParameter

_SUFFIX = ".yaml"
_WORDS_A_MINUTE = 100  # formulas and tables are read slowly

_NEW_CHAPTER = "write one with title, position, summary and opening, or give the folder the name of an existing chapter"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A chapter, its exercises (those on its path first, in order), and the *files* of its folders, its own first."""

    id: str
    title: str
    position: float
    exercises: tuple[Exercise, ...]
    part: str = ""
    summary: str = ""
    opening: str = ""
    closing: str = ""
    facts: tuple[topic_file.ChapterFact, ...] = ()
    figures: tuple[EmbeddedFigures | ExerciseFigure, ...] = ()
    questions: tuple[topic_file.ReadingQuestion, ...] = ()
    needs: tuple[str, ...] = ()
    routes: tuple[topic_file.Route, ...] = ()
    placement: str = ""  # the id of the exercise that the placement asks; empty: none
    parameters: Mapping[str, ChapterParameter] = field(default_factory=dict)
    language: str = SOURCE
    on_path: frozenset[str] = frozenset()
    files: tuple[tuple[str, topic_file.TopicFile], ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of its exercises and texts, its own first."""
        return tuple(name for name, _ in self.files) or (self.id,)

    @cached_property
    def path(self) -> tuple[Exercise, ...]:
        """The exercises of its path; all of them, in a chapter without one."""
        return tuple(one for one in self.exercises if one.id in self.on_path) or self.exercises

    @cached_property
    def extras(self) -> tuple[Exercise, ...]:
        """The exercises beside its path, to practice with."""
        return self.exercises[len(self.path) :]

    @property
    def minutes(self) -> int:
        """Minutes that its opening and its path take."""
        return self.reading + sum(one.minutes for one in self.path)

    @cached_property
    def reading(self) -> int:
        """Minutes that its opening takes to read."""
        words = [word for part in topic_file.opening_parts(self.opening) for word in part.text.split()]
        return max(1, round(len(words) / _WORDS_A_MINUTE))


@dataclass(frozen=True, slots=True)
class Catalog:
    """All chapters and exercises, in order.

    The *topics* are listed. Those that are *hidden* are not, but their addresses still open, and so does what learners
    did in them. *images* have the address /images/NAME; *front* are the heading and the Markdown of a front page that a
    course pack brings; *translations* has what is translated to each language.
    """

    topics: tuple[Topic, ...]
    by_id: Mapping[str, Exercise]
    hidden: tuple[Topic, ...] = ()
    images: Mapping[str, Path] = field(default_factory=dict)
    front: tuple[str, str] | None = None
    translations: Mapping[str, LanguageTexts] = field(default_factory=dict)
    outline: CourseOutline = field(default_factory=CourseOutline)
    digest: str = field(default="", compare=False)
    _spoken: dict[str, "Catalog"] = field(default_factory=dict, init=False, compare=False)
    _homes: dict[str, Topic] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def read(cls, folders: Iterable[Path], read: "ReadFolder | None" = None) -> "Catalog":
        """The catalog of *folders*, each of which has one folder per chapter, which *read* reads.

        Raises:
            ContentError: with every problem of every file.
        """
        problems: list[Problem] = []
        folders, topics = tuple(folders), dict[str, Topic]()
        images: dict[str, Path] = {}
        translations: dict[str, LanguageTexts] = {}
        outline = read_outline(folders, problems)
        for folder in _topic_folders(folders, problems):
            chapter = (read or read_chapter_folder)(folder)
            problems += chapter.problems
            topic = _topic(folder, topics.get(folder.name), chapter, problems)
            if topic:
                topics[topic.id] = topic
                images |= {f"{topic.id}/{name}": path for name, path in chapter.images}
            for code, ours in chapter.spoken.items():
                spoken = translations.setdefault(code, LanguageTexts(code))
                spoken.exercises.update(ours.exercises)
                spoken.topics.update(ours.topics)
        by_id = _by_id(topics.values())
        if not problems:  # else names may be missing because their files are wrong
            courses = (path for folder in folders if (path := folder / COURSE_FILE).exists())
            problems += (one for path in courses for one in misnamed(path, topics, by_id))
        if problems:
            raise ContentError(problems)
        ordered = tuple(sorted(_arranged(topics, by_id, outline), key=lambda topic: (topic.position, topic.id)))
        return cls(ordered, by_id, images=images, translations=translations, outline=outline)

    def with_exercise(self, exercise: Exercise) -> "Catalog":
        """This catalog with *exercise* replaced, or added to its chapter if its id is new."""
        name = exercise.id.partition("/")[0]
        new = Topic(id=name, title=name.replace("-", " ").capitalize(), position=math.inf, exercises=())
        topic = next((topic for topic in self.topics if name in topic.folders), new)
        others = [other for other in topic.exercises if other.id != exercise.id]
        on_path = topic.on_path | {exercise.id} if exercise.core else topic.on_path - {exercise.id}
        changed = replace(topic, exercises=(*others, exercise), on_path=on_path)
        topics = (*(other for other in self.topics if other.id != topic.id), changed)
        by_id = {**self.by_id, **_by_id(topics)}
        return replace(self, topics=topics, by_id=by_id, translations={}, digest="")

    def spoken(self, code: str) -> "Catalog":
        """This catalog in the language *code*, as far as it is translated."""
        ours = self.translations.get(code)
        if ours is None:
            if code not in self.outline.translated:
                return self
            ours = LanguageTexts(code)
        if code not in self._spoken:
            self._spoken[code] = replace(
                self,
                topics=tuple(_spoken(topic, ours) for topic in self.topics),
                hidden=tuple(_spoken(topic, ours) for topic in self.hidden),
                by_id={name: ours.exercises.get(name, one) for name, one in self.by_id.items()},
                translations={},
                outline=self.outline.spoken(code),
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
        """The chapter with the id *name*, or the one that a folder of that name belongs to.

        Raises:
            NotFoundError: the name does not exist; the message offers the closest one.
        """
        for topic in (*self.topics, *self.hidden):
            if name in topic.folders:
                return topic
        name, near = name[:200], nearest(name[:200], [topic.id for topic in self.topics])
        raise NotFoundError(translate("no chapter is called {name!r}{near}", name=name, near=near))

    def topic_of(self, exercise: Exercise) -> Topic:
        """The chapter of *exercise*, as it is listed; in full if *exercise* is not listed."""
        if not self._homes:
            topics = (*self.hidden[::-1], *self.topics[::-1])  # the first one listed is what stays
            self._homes.update((one.id, topic) for topic in topics for one in topic.exercises)
        return self._homes.get(exercise.id) or self.topic(exercise.id.partition("/")[0])

    def part_title(self, topic: Topic) -> str:
        """The title of the part in which *topic* stands; empty if it stands in none."""
        part = self.outline.parts.get(topic.part)
        return part.title if part else ""


def _spoken(topic: Topic, ours: LanguageTexts) -> Topic:
    """*topic* in a language, as far as it is translated; a title that a pack gave it stays."""
    exercises = tuple(ours.exercises.get(one.id, one) for one in topic.exercises)
    if any(name not in ours.topics for name in topic.folders):
        return replace(topic, exercises=exercises)
    title, file = ours.topics[topic.id]
    files = [ours.topics[name][1] for name in topic.folders]
    return replace(
        _with_texts(topic, files),
        language=ours.language,
        title=file.title if topic.title == title else topic.title,
        summary=file.summary,
        exercises=exercises,
    )


def _with_texts(topic: Topic, files: Sequence[topic_file.TopicFile]) -> Topic:
    """*topic* with the texts of *files*, one after the other; the later ones under their titles."""
    opening, closing = files[0].opening, files[0].closing
    figures, questions = [*files[0].figures], len(files[0].questions)
    for file in files[1:]:
        opening = (
            f"{opening.rstrip()}\n\n## {file.title}\n\n{topic_file.with_places_after(file.opening, figures, questions)}"
        )
        closing = f"{closing.rstrip()}\n\n{file.closing}"
        figures, questions = [*figures, *file.figures], questions + len(file.questions)
    facts = {(fact.formula, fact.says): fact for file in files for fact in file.facts}
    return replace(
        topic,
        opening=opening,
        closing=closing,
        facts=tuple(facts.values()),
        figures=tuple(figures),
        questions=tuple(question for file in files for question in file.questions),
        parameters=next((file.parameters for file in files if file.parameters and topic.parameters), {}),
    )


def _arranged(folders: Mapping[str, Topic], by_id: Mapping[str, Exercise], outline: CourseOutline) -> Iterator[Topic]:
    """The chapters of *outline*, each with its path and all of its folders, and the other *folders* as they are."""
    paths, homes = outline.paths(), outline.homes()
    taken = {name for names in paths.values() for name in names} | outline.retired.keys()
    for place, (chapter, names) in enumerate(paths.items(), start=1):
        ours = [folders[chapter], *(folders[n] for n, home in homes.items() if home == chapter != n and n in folders)]
        rest = sorted(
            (e for topic in ours for e in topic.exercises if e.id not in taken),
            key=lambda one: (one.position, one.level, one.id),
        )
        path = [*(by_id[name] for name in names), *(one for one in rest if one.core)]
        needs = dict.fromkeys(homes.get(need, need) for topic in ours for need in topic.needs)
        joined = replace(
            ours[0],
            position=place,
            part=outline.part_of(chapter),
            exercises=(*path, *(one for one in rest if not one.core)),
            on_path=frozenset(one.id for one in path),
            needs=tuple(need for need in needs if need != chapter),
            files=tuple(pair for topic in ours for pair in topic.files),
        )
        yield _with_texts(joined, [file for _, file in joined.files])
    for name, topic in folders.items():
        if homes.get(name) is None:
            yield replace(topic, exercises=tuple(one for one in topic.exercises if one.id not in taken))


def _by_id(topics: Iterable[Topic]) -> dict[str, Exercise]:
    return {exercise.id: exercise for topic in topics for exercise in topic.exercises}


def _topic_folders(folders: Iterable[Path], problems: list[Problem]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            problems.append(Problem(folder, 1, "is not a folder", "give a folder of chapters"))
            continue
        yield from sorted(inner for inner in folder.iterdir() if inner.is_dir())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterFolder:
    """What is in the folder of a chapter, by itself; *topic* is its topic file, if it is there and valid."""

    topic: topic_file.TopicFile | None
    exercises: tuple[Exercise, ...]
    images: tuple[tuple[str, Path], ...]
    spoken: Mapping[str, LanguageTexts]
    problems: tuple[Problem, ...]


ReadFolder = Callable[[Path], ChapterFolder]


def read_chapter_folder(folder: Path) -> ChapterFolder:
    """What is in *folder*; each of its files is read once. Without YAML files, it is not a chapter."""
    problems: list[Problem] = []
    paths = sorted(folder.glob(f"*{_SUFFIX}"))
    read = cache(read_topic)  # its exercises look into it, too
    exercises, topics = (
        dict[Path, tuple[Exercise, YamlDocument]](),
        dict[Path, tuple[topic_file.TopicFile, YamlDocument]](),
    )
    for path in paths:
        if path.name == topic_file.TOPIC_FILE or is_translation(path):
            continue
        with collect_problems(problems):
            exercises[path] = read_exercise(path, folder.name, read)
    if os.path.lexists(folder / topic_file.TOPIC_FILE):
        with collect_problems(problems):
            topics[folder / topic_file.TOPIC_FILE] = read(folder / topic_file.TOPIC_FILE)
    return ChapterFolder(
        topic=next((topic for topic, _ in topics.values()), None),
        exercises=tuple(exercise for exercise, _ in exercises.values()),
        images=tuple(images_in(folder, problems)) if paths else (),
        spoken=read_spoken(folder, {**exercises, **topics}, problems),
        problems=tuple(problems),
    )


def _topic(folder: Path, earlier: Topic | None, chapter: ChapterFolder, problems: list[Problem]) -> Topic | None:
    """The chapter in *folder*; without a topic file, it extends the *earlier* one of that name."""
    if not any(folder.glob(f"*{_SUFFIX}")):
        return None  # not a chapter
    before = earlier.exercises if earlier else ()
    known = {exercise.id for exercise in before}
    for exercise in chapter.exercises:
        if exercise.id in known:
            says = f"the exercise {exercise.id!r} already exists"
            path = folder / f"{exercise.id.partition('/')[2]}{_SUFFIX}"
            problems.append(Problem(path, 1, says, "give the file another name"))
    exercises = [*before, *chapter.exercises]
    exercises.sort(key=lambda exercise: (not exercise.core, exercise.position, exercise.id))
    path = folder / topic_file.TOPIC_FILE
    if earlier and not path.exists():
        core = frozenset(one.id for one in exercises if one.core)
        return replace(earlier, exercises=tuple(exercises), on_path=core)
    if earlier:
        says = f"the chapter {folder.name!r} already exists"
        cure = "remove this file to add exercises to that chapter, or rename the folder"
        problems.append(Problem(path, 1, says, cure))
        return None
    if not os.path.lexists(path):
        says = f"the chapter {folder.name!r} has no {topic_file.TOPIC_FILE}"
        problems.append(Problem(path, 1, says, _NEW_CHAPTER))
        return None
    file = chapter.topic
    if file is None:
        return None
    topic = Topic(
        id=folder.name,
        title=file.title,
        position=file.position,
        summary=file.summary,
        exercises=tuple(exercises),
        needs=tuple(file.needs),
        routes=tuple(file.routes),
        placement=f"{folder.name}/{file.placement}" if file.placement else "",
        parameters=file.parameters,
        on_path=frozenset(one.id for one in exercises if one.core),
        files=((folder.name, file),),
    )
    return _with_texts(topic, [file])


@dataclass(frozen=True, slots=True)
class CourseSection:
    """A part of a course and its chapters; chapters without a part have none."""

    part: CoursePart | None
    topics: tuple[Topic, ...]


def sections_of(catalog: Catalog, topics: Sequence[Topic] | None = None) -> Iterator[CourseSection]:
    """*topics* of *catalog*, by default all, in their parts: one of a pack without a part belongs to that around it."""
    found: dict[str, list[Topic]] = {}
    names = _parts_by_topic(catalog.topics)
    for topic in catalog.topics if topics is None else topics:
        found.setdefault(names[topic.id], []).append(topic)
    parts = catalog.outline.parts
    yield from (CourseSection(parts.get(name), tuple(those)) for name, those in found.items())


def _parts_by_topic(topics: Sequence[Topic]) -> dict[str, str]:
    """The part in which each of *topics* stands, by the ids; empty: in none."""
    found: dict[str, str] = {}
    for place, topic in enumerate(topics):
        before = found[topics[place - 1].id] if place else ""
        later = next((one.part for one in topics[place:] if one.part), "")
        found[topic.id] = topic.part or (before if before == later else "")
    return found
