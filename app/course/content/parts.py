"""The parts of a course: `parts.yaml` beside its chapters, and `parts.de.yaml` in German."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from app.core.errors import ContentError, Problem, nearest
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.translations import merge_texts, translations_of
from app.course.kinds import Where
from app.course.kinds.schema_errors import faults
from app.course.kinds.strict import Strict

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
                    ours = _parts(one.document, merge_texts(document.values, one.texts))
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
    return _parts(document, document.values), document


def parts_texts(file: PartsFile) -> dict[Where, str]:
    """The texts of *file* that a translation says, by their place in it."""
    return {("parts", name, key): getattr(part, key) for name, part in file.parts.items() for key in ("title", "says")}


def _parts(document: YamlDocument, values: Mapping[str, object]) -> PartsFile:
    try:
        return PartsFile.model_validate(values)
    except ValidationError as error:
        found = faults(error, values, PartsFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error
