"""A course in the languages that its exercises and chapters are translated to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from app.content.files import TOPIC_FILE, TopicFile, read_exercise, read_topic
from app.content.images import with_images
from app.content.translations import (
    Translation,
    is_translation,
    merged,
    stray,
    texts_of,
    translated,
    translations_of,
)
from app.errors import ContentError, Problem
from app.kinds import Exercise, Where
from app.kinds.schema_errors import faults
from app.yaml_file import YamlDocument

_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is translated to one language: exercises and chapters by their ids.

    Beside a chapter is the title of its original, which a course pack may have replaced.
    """

    language: str
    exercises: dict[str, Exercise] = field(default_factory=dict)
    topics: dict[str, tuple[str, TopicFile]] = field(default_factory=dict)


def read_spoken(folders: Iterable[Path], problems: list[Problem]) -> Mapping[str, Spoken]:
    """The translations in *folders*, which are chapters, by language; adds to the *problems*."""
    found: dict[str, Spoken] = {}
    for folder in folders:
        problems += stray(folder)
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            if not is_translation(path) and any(folder.glob(f"{path.stem}.*{_SUFFIX}")):
                _add(path, found, problems)
    return found


def topic_texts(topic: TopicFile) -> dict[Where, str]:
    """The texts of *topic* that a translation says, by their place in its file."""
    texts: dict[Where, str] = {
        (name,): getattr(topic, name) for name in ("title", "summary", "opening", "closing")
    }
    for index, fact in enumerate(topic.facts):
        texts |= {("facts", index, "name"): fact.name, ("facts", index, "says"): fact.says}
    return {where: text for where, text in texts.items() if text.strip()}


def _add(path: Path, found: dict[str, Spoken], problems: list[Problem]) -> None:
    """Add the translations beside the file at *path* to what was *found*."""
    try:
        if path.name == TOPIC_FILE:
            topic, document = read_topic(path)
            _add_topics(path, topic, document, found)
        else:
            exercise, document = read_exercise(path, path.parent.name)
            _add_exercises(path, exercise, document, found)
    except ContentError as error:  # the catalog reports what is wrong with the original
        problems += (one for one in error.problems if one.path != path)


def _add_exercises(
    path: Path, exercise: Exercise, document: YamlDocument, found: dict[str, Spoken]
) -> None:
    for one in translations_of(path, texts_of(exercise)):
        if one.is_fresh:
            spoken = found.setdefault(one.language, Spoken(one.language))
            spoken.exercises[exercise.id] = translated(exercise, document, one)


def _add_topics(
    path: Path, topic: TopicFile, document: YamlDocument, found: dict[str, Spoken]
) -> None:
    for one in translations_of(path, topic_texts(topic)):
        if one.is_fresh:
            spoken = found.setdefault(one.language, Spoken(one.language))
            spoken.topics[path.parent.name] = (topic.title, _topic(document, one))


def _topic(document: YamlDocument, translation: Translation) -> TopicFile:
    values = merged(document.values, translation.texts)
    try:
        folder = document.path.parent
        return TopicFile.model_validate(with_images(values, folder.name, folder))
    except ValidationError as error:
        found = faults(error, values, TopicFile)
        raise ContentError([translation.document.problem(*fault) for fault in found]) from error
