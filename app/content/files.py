"""The files of exercises and of chapters."""

import os
from pathlib import Path

from pydantic import Field, ValidationError

from app.content.images import with_images
from app.errors import ContentError, Problem
from app.kinds import EXERCISE, Exercise
from app.kinds.base import Embedded, Strict
from app.kinds.schema_errors import faults
from app.yaml_file import YamlDocument, read_document

TOPIC_FILE = "topic.yaml"
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-"


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
        for key in ("id", "digest", "language")
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
