"""The files of exercises and of chapters."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from app.core.errors import ContentError, Problem
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.images import with_images
from app.course.content.opening_places import misplaced
from app.course.content.topic_file import TOPIC_FILE, TopicFile
from app.course.kinds import EXERCISE, Exercise
from app.course.kinds.parameters import ChapterParameter
from app.course.kinds.schema_errors import faults

ReadTopic = Callable[[Path], tuple[TopicFile, YamlDocument]]
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-"


def topic_of(path: Path) -> str:
    """The chapter of the exercise file at *path*: its folder, even if *path* is a symbolic link."""
    return Path(os.path.abspath(path)).parent.name


def read_topic(path: Path) -> tuple[TopicFile, YamlDocument]:
    """The chapter in the file at *path*, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    try:
        values = with_images(document.values, topic_of(path), path.parent)
        topic = TopicFile.model_validate(values)
    except ValidationError as error:
        found = faults(error, document.values, TopicFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error
    if problems := [document.problem(("opening",), says, cure) for says, cure in misplaced(topic)]:
        raise ContentError(problems)
    return topic, document


def read_exercise(path: Path, topic: str, read: ReadTopic = read_topic) -> tuple[Exercise, YamlDocument]:
    """The exercise in the file at *path*, and the file; *read* reads its chapter's, if it must.

    Raises:
        ContentError: with every problem of the file.
    """
    document = read_document(path)
    return parse_exercise(document, topic, read), document


def parse_exercise(document: YamlDocument, topic: str, read: ReadTopic = read_topic) -> Exercise:
    """The exercise in *document*; *read* reads the file of its chapter, if it must.

    Raises:
        ContentError: with every problem of the file.
    """
    path = document.path
    if stray := set(path.stem) - set(_NAME):
        says = f"a file's name must consist of a-z, 0-9 and hyphens, not {sorted(stray)}"
        raise ContentError([Problem(path, 1, says, "rename the file")])
    own = [
        document.problem((key,), "is set from the file itself", "remove it")
        for key in ("id", "digest", "chapter_parameters")
        if key in document.values
    ]
    if own:
        raise ContentError(own)
    values = {**document.values, "id": f"{topic}/{path.stem}", "digest": document.digest}
    if "from_chapter" in values:
        values["chapter_parameters"] = _parameters_beside(path, read)
    try:
        return EXERCISE.validate_python(with_images(values, topic, path.parent))
    except ValidationError as error:
        found = faults(error, document.values)
        raise ContentError([document.problem(*fault) for fault in found]) from error


def _parameters_beside(path: Path, read: ReadTopic) -> Mapping[str, ChapterParameter]:
    """The parameters of the chapter of the exercise at *path*; none, if its file is not valid."""
    try:
        return read(path.parent / TOPIC_FILE)[0].parameters
    except (ContentError, OSError):  # reported where the chapter is read
        return {}
