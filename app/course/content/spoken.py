"""A course in the languages that its exercises and chapters are translated to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from app.core.errors import ContentError, Problem
from app.core.yaml_file import YamlDocument
from app.course.content.files import ReadTopic, read_exercise
from app.course.content.images import with_images
from app.course.content.topic_file import TOPIC_FILE, TopicFile
from app.course.content.translations import (
    Translation,
    exercise_texts,
    is_translation,
    merge_texts,
    original_of,
    stray,
    translated,
    translations_of,
)
from app.course.kinds import Exercise, Where
from app.course.kinds.schema_errors import faults

_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is translated to one language: exercises and chapters by their ids.

    Beside a chapter is the title of its original, which a course pack may have replaced.
    """

    language: str
    exercises: dict[str, Exercise] = field(default_factory=dict)
    topics: dict[str, tuple[str, TopicFile]] = field(default_factory=dict)


def read_spoken(folders: Iterable[Path], read: ReadTopic, problems: list[Problem]) -> Mapping[str, Spoken]:
    """The translations in *folders*, which are chapters, by language; adds to the *problems*.

    *read* reads the files of chapters.
    """
    found: dict[str, Spoken] = {}
    for folder in folders:
        problems += stray(folder)
        paths = sorted(folder.glob(f"*{_SUFFIX}"))
        with_translation = {original_of(path) for path in paths if is_translation(path)}
        for path in paths:
            if path in with_translation:
                _add(path, found, read, problems)
    return found


def topic_texts(topic: TopicFile) -> dict[Where, str]:
    """The texts of *topic* that a translation says, by their place in its file."""
    texts: dict[Where, str] = {(name,): getattr(topic, name) for name in ("title", "summary", "opening", "closing")}
    for index, fact in enumerate(topic.facts):
        texts |= {("facts", index, "name"): fact.name, ("facts", index, "says"): fact.says}
    for index, question in enumerate(topic.questions):
        where: Where = ("questions", index)
        texts |= {(*where, "prompt"): question.prompt, (*where, "says"): question.says}
        texts |= {(*where, "mistakes", key): one.says for key, one in question.mistakes.items()}
    for name, parameter in topic.parameters.items():
        texts["parameters", name, "says"] = parameter.says
    return {where: text for where, text in texts.items() if text.strip()}


def _add(path: Path, found: dict[str, Spoken], read: ReadTopic, problems: list[Problem]) -> None:
    add = _add_topic if path.name == TOPIC_FILE else _add_exercise
    try:
        add(path, found, read, problems)
    except ContentError:
        return  # the catalog reports what is wrong with the original


def _add_topic(path: Path, found: dict[str, Spoken], read: ReadTopic, problems: list[Problem]) -> None:
    topic, document = read(path)
    for one in _fresh(path, topic_texts(topic), problems):
        with _collected(problems):
            spoken = found.setdefault(one.language, Spoken(one.language))
            spoken.topics[path.parent.name] = (topic.title, _topic(document, one))


def _add_exercise(path: Path, found: dict[str, Spoken], read: ReadTopic, problems: list[Problem]) -> None:
    exercise, document = read_exercise(path, path.parent.name, read)
    for one in _fresh(path, exercise_texts(exercise), problems):
        with _collected(problems):
            made = translated(exercise, document, one)
            found.setdefault(one.language, Spoken(one.language)).exercises[made.id] = made


def _fresh(path: Path, texts: Mapping[Where, str], problems: list[Problem]) -> Sequence[Translation]:
    with _collected(problems):
        return [one for one in translations_of(path, texts) if one.is_fresh]
    return ()


@contextmanager
def _collected(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of an error in the block to *problems*."""
    try:
        yield
    except ContentError as error:
        problems += error.problems


def _topic(document: YamlDocument, translation: Translation) -> TopicFile:
    values = merge_texts(document.values, translation.texts)
    try:
        folder = document.path.parent
        return TopicFile.model_validate(with_images(values, folder.name, folder))
    except ValidationError as error:
        found = faults(error, values, TopicFile)
        raise ContentError([translation.document.problem(*fault) for fault in found]) from error
