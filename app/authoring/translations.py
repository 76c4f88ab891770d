"""Proofs of translations: they fit their originals, which have not changed since."""

from collections.abc import Iterator
from pathlib import Path

from app.content.files import read_exercise, read_topic, topic_of
from app.content.spoken import topic_texts
from app.content.topic_file import TOPIC_FILE
from app.content.translations import (
    OF,
    Translation,
    exercise_texts,
    stray,
    texts_digest,
    translated,
    translations_of,
)
from app.errors import ContentError, Problem
from app.expressions import ExpressionError
from app.kinds import Exercise, Where
from app.markdown import MathematicsError, check_mathematics
from app.yaml_file import YamlDocument

_SEEDS = range(5)


def problems_of_translations(file: Path) -> Iterator[Problem]:
    """Everything wrong with the translations beside the exercise or chapter in *file*."""
    try:
        if file.name == TOPIC_FILE:
            exercise, (topic, document) = None, read_topic(file)
            texts = topic_texts(topic)
        else:
            exercise, document = read_exercise(file, topic_of(file))
            texts = exercise_texts(exercise)
    except ContentError:
        return  # the original is reported as it is
    try:
        for one in translations_of(file, texts):
            yield from _problems(one, exercise, document)
    except ContentError as error:
        yield from error.problems


def lags_of_translations(file: Path) -> Iterator[tuple[Path, str]]:
    """Each translation beside *file* that is older than its original, and what to do."""
    try:
        texts = (
            topic_texts(read_topic(file)[0])
            if file.name == TOPIC_FILE
            else exercise_texts(read_exercise(file, topic_of(file))[0])
        )
        found = [one for one in translations_of(file, texts) if not one.is_fresh]
    except ContentError:
        return  # reported as problems
    for one in found:
        says = (
            "the original has changed since this translation, so English is shown: bring it up to"
            f" date, then write {OF}: {texts_digest(texts)}"
        )
        yield one.document.path, says


def stray_translations(files: Iterator[Path]) -> Iterator[Problem]:
    """The translations beside *files* that have no original."""
    for folder in sorted({file.parent for file in files}):
        yield from stray(folder)


def _problems(
    one: Translation, exercise: Exercise | None, original: YamlDocument
) -> Iterator[Problem]:
    if not one.is_fresh:  # it is not shown
        return
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
