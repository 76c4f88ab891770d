"""The outline of a course: `course.yaml` beside its chapters, and `course.de.yaml` in German."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from app.core.errors import ContentError, Problem, nearest
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.translations import merge_texts, translations_of
from app.course.kinds import Where
from app.course.kinds.base import Strict
from app.course.kinds.schema_errors import refuse_faults

COURSE_FILE = "course.yaml"


class CoursePart(Strict):
    """A part of a course: several chapters that belong together."""

    title: str = Field(min_length=2, max_length=60, description="2 to 60 characters")
    says: str = Field(min_length=10, max_length=200, description="one sentence, for the list")
    chapters: dict[str, list[str]] = Field(
        description="its chapters, by folder, and the path through each: the exercises in order, by file name, "
        "or as FOLDER/NAME from another folder"
    )


class CourseFile(Strict):
    """The content of `course.yaml`."""

    minutes: tuple[int, int] | None = Field(
        default=None, description="the least and the most minutes that reading and all paths may take together"
    )
    parts: dict[str, CoursePart] = Field(description="the parts, in order")
    retired: dict[str, str] = Field(
        default={}, description="exercises that are on no list, each with the one that its address leads to"
    )


@dataclass(frozen=True, slots=True)
class CourseOutline:
    """The parts of a course by name, in order; the same as translated; and what is *retired*."""

    parts: Mapping[str, CoursePart] = field(default_factory=dict)
    retired: Mapping[str, str] = field(default_factory=dict)
    translated: Mapping[str, Mapping[str, CoursePart]] = field(default_factory=dict)

    def spoken(self, code: str) -> "CourseOutline":
        """This outline in the language *code*, as far as it is translated."""
        return CourseOutline({**self.parts, **self.translated.get(code, {})}, self.retired)

    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the exercises on the path of each chapter."""
        return {
            chapter: tuple(name if "/" in name else f"{chapter}/{name}" for name in names)
            for part in self.parts.values()
            for chapter, names in part.chapters.items()
        }

    def part_of(self, chapter: str) -> str:
        """The name of the part in which *chapter* stands; empty: in none."""
        return next((name for name, part in self.parts.items() if chapter in part.chapters), "")

    def homes(self) -> Mapping[str, str]:
        """The chapter of each folder: itself, or the first that takes an exercise from it."""
        paths = self.paths()
        found = {chapter: chapter for chapter in paths}
        for chapter, names in paths.items():
            for name in names:
                found.setdefault(name.partition("/")[0], chapter)
        return found


def read_outline(folders: Iterable[Path], problems: list[Problem]) -> CourseOutline:
    """The outline in the course files of *folders*, which need not have any; adds to *problems*."""
    parts: dict[str, CoursePart] = {}
    retired: dict[str, str] = {}
    translated: dict[str, dict[str, CoursePart]] = {}
    for path in (folder / COURSE_FILE for folder in folders):
        if not path.exists():
            continue
        try:
            file, document = read_course_file(path)
            for one in translations_of(path, course_texts(file)):
                if one.is_fresh:
                    ours = _course_file(one.document, merge_texts(document.values, one.texts))
                    translated.setdefault(one.language, {}).update(ours.parts)
        except ContentError as error:
            problems += error.problems
            continue
        parts |= file.parts
        retired |= file.retired
    return CourseOutline(parts, retired, translated)


def read_course_file(path: Path) -> tuple[CourseFile, YamlDocument]:
    """The parts in the file at *path*, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    return _course_file(document, document.values), document


def course_texts(file: CourseFile) -> dict[Where, str]:
    """The texts of *file* that a translation says, by their place in it."""
    return {("parts", name, key): getattr(part, key) for name, part in file.parts.items() for key in ("title", "says")}


def misnamed(path: Path, chapters: Collection[str], exercises: Collection[str]) -> Iterator[Problem]:
    """The problems of the names in the course file at *path*: those that do not exist, and those named twice."""
    file, document = read_course_file(path)
    outline = CourseOutline(file.parts, file.retired)
    places = {
        chapter: ("parts", part, "chapters", chapter) for part in file.parts for chapter in file.parts[part].chapters
    }
    for chapter in outline.paths().keys() - chapters:
        yield document.problem(places[chapter], f"no chapter is called {chapter!r}{nearest(chapter, chapters)}")
    named: list[tuple[Where, str]] = [
        ((*places[c], n), name) for c, names in outline.paths().items() for n, name in enumerate(names)
    ]
    named += [(("retired", old), name) for old, new in file.retired.items() for name in (old, new)]
    for where, name in named:
        if name not in exercises:
            yield document.problem(where, f"no exercise is called {name!r}{nearest(name, exercises)}")
    yield from _named_again(file, document, [(where, name) for where, name in named if where[0] == "parts"])


def _named_again(file: CourseFile, document: YamlDocument, named: Sequence[tuple[Where, str]]) -> Iterator[Problem]:
    """A problem for each exercise on a path that is on another, or retired, and for what leads to a retired one."""
    seen: set[str] = set()
    for where, name in named:
        if name in seen or name in file.retired:
            again = "retired" if name in file.retired else "on a path already"
            yield document.problem(where, f"{name!r} is {again}", "name it once")
        seen.add(name)
    for old, new in file.retired.items():
        if new in file.retired:
            yield document.problem(("retired", old), f"leads to {new!r}, which is retired", "name what replaced both")


def _course_file(document: YamlDocument, values: Mapping[str, object]) -> CourseFile:
    with refuse_faults(document, values, CourseFile):
        return CourseFile.model_validate(values)
