"""Proofs of translations: they fit their originals, which have not changed since."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ContentError, Problem
from app.core.expressions import ExpressionError
from app.core.yaml_file import YamlDocument
from app.course.content.files import read_exercise, read_topic, topic_of
from app.course.content.parts import PARTS_FILE, parts_texts, read_parts_file
from app.course.content.spoken import topic_texts
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import (
    OF,
    Translation,
    exercise_texts,
    has_translation,
    stray,
    texts_digest,
    translated,
    translations_of,
)
from app.course.kinds import Exercise, Where
from app.site.markdown import MathematicsError, check_mathematics

_SEEDS = range(5)
_LAGS = (
    "the original has changed since this translation, so English is shown: bring it up to date,"
    f" then write {OF}: {{of}}"
)


@dataclass(frozen=True, slots=True)
class LaggingTranslation:
    """A translation that is older than its original, and what to do."""

    path: Path
    says: str


def prove_translations(file: Path) -> Iterator[Problem | LaggingTranslation]:
    """What is wrong with the translations beside the exercise, chapter or parts in *file*."""
    if not has_translation(file):
        return
    try:
        exercise, texts, document = _original(file)
    except ContentError:
        return  # the original is reported as it is
    try:
        for one in translations_of(file, texts):
            if one.is_fresh:
                yield from _problems(one, exercise, document)
            else:  # it is not shown
                yield LaggingTranslation(one.document.path, _LAGS.format(of=texts_digest(texts)))
    except ContentError as error:
        yield from error.problems


def _original(file: Path) -> tuple[Exercise | None, Mapping[Where, str], YamlDocument]:
    """The exercise in *file*, if it is one, the texts in it that a translation says, and the file.

    Raises:
        ContentError: with every problem of the file.
    """
    if file.name == PARTS_FILE:
        parts, document = read_parts_file(file)
        return None, parts_texts(parts), document
    if file.name == TOPIC_FILE:
        topic, document = read_topic(file)
        return None, topic_texts(topic), document
    exercise, document = read_exercise(file, topic_of(file))
    return exercise, exercise_texts(exercise), document


def stray_translations(files: Iterator[Path]) -> Iterator[Problem]:
    """The translations beside *files* that have no original."""
    for folder in sorted({file.parent for file in files}):
        yield from stray(folder)


def _problems(one: Translation, exercise: Exercise | None, original: YamlDocument) -> Iterator[Problem]:
    for where, text in one.texts.items():
        if exercise is None:
            yield from _of_text(one.document, where, text)
    if exercise is not None:
        yield from _of_drawings(one, translated(exercise, original, one))


def _of_text(document: YamlDocument, where: Where, text: str) -> Iterator[Problem]:
    try:
        check_mathematics(text)
    except MathematicsError as error:
        yield document.problem(where, str(error))


def _of_drawings(one: Translation, exercise: Exercise) -> Iterator[Problem]:
    """What cannot be filled or shown in the first drawings."""
    try:
        for seed in _SEEDS:
            drawn = exercise.variant(seed)
            for text in (drawn.prompt, *drawn.hints, drawn.solution):
                check_mathematics(text)
    except (ExpressionError, MathematicsError) as error:
        yield one.document.problem((), str(error))
