"""Translations of exercises and chapters: `NAME.de.yaml` beside `NAME.yaml`, with its texts alone.

A translation has the keys of the original that lead to texts, and nothing else: numbers, options
and answers are those of the original. `of` names the texts that it translates, by their digest: of
an original that has changed since, the English texts are shown until someone looks at it again.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from app.core.errors import ContentError, Problem, nearest
from app.core.translation import LANGUAGES, SOURCE
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.images import with_images
from app.course.kinds import EXERCISE, Exercise, Where
from app.course.kinds.schema_errors import faults

OF = "of"  # the key of the digest of the texts that are translated
_DIGITS = 8
_MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_FILLED = re.compile(r"\{[^{}]*\}")
_CURE = "write the texts of the original, and nothing else"


@dataclass(frozen=True, slots=True)
class Translation:
    """The texts of one language, by their place in the original file; *fresh* if they fit it."""

    language: str
    document: YamlDocument
    texts: Mapping[Where, str]
    is_fresh: bool


def is_translation(path: Path) -> bool:
    """Whether the file at *path* is a translation: its name ends with a language."""
    return "." in path.stem


def original_of(path: Path) -> Path:
    """The file that the one at *path* translates; *path* itself, if it is not a translation."""
    return path.with_name(f"{path.stem.partition('.')[0]}{path.suffix}")


def translations_of(path: Path, originals: Mapping[Where, str]) -> Iterator[Translation]:
    """The translations beside the file at *path*, whose texts are *originals*.

    Raises:
        ContentError: with every problem of one of them.
    """
    for other, code in _translations_beside(path):
        yield _read_translations(other, code, originals)


def has_translation(path: Path) -> bool:
    """Whether a translation stands beside the file at *path*."""
    return any(True for _ in _translations_beside(path))


def _translations_beside(path: Path) -> Iterator[tuple[Path, str]]:
    """The translations of the file at *path*, each with its language."""
    for other in sorted(path.parent.glob(f"{path.stem}.*{path.suffix}")):
        code = other.stem.removeprefix(f"{path.stem}.")
        if "." not in code:
            yield other, code


def stray(folder: Path) -> Iterator[Problem]:
    """A problem for each translation in *folder* whose original is not there."""
    for path in sorted(folder.glob("*.yaml")):
        if is_translation(path):
            original = original_of(path)
            if not original.exists():
                says = f"is the translation of {original.name}, which does not exist"
                yield Problem(path, 1, says, "rename or remove this file")


def exercise_texts(exercise: Exercise) -> dict[Where, str]:
    """The texts of *exercise* that a translation says, by their place in its file."""
    own: dict[Where, str] = {("title",): exercise.title, ("solution",): exercise.solution}
    told = (*exercise.texts(), *exercise.untold())
    return {**own, **{where: text for where, text in told if text.strip()}}


def texts_digest(texts: Mapping[Where, str]) -> str:
    """What `of` says in a translation of *texts*."""
    told = repr(sorted((repr(where), text) for where, text in texts.items()))
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def translated(exercise: Exercise, original: YamlDocument, translation: Translation) -> Exercise:
    """*exercise*, read from the file *original*, with the texts of *translation*.

    Raises:
        ContentError: they are not valid.
    """
    values = merge_texts(original.values, translation.texts)
    chapter = exercise.id.partition("/")[0]
    given = {**values, "id": exercise.id, "digest": exercise.digest}
    given["chapter_parameters"] = exercise.chapter_parameters
    try:
        made = EXERCISE.validate_python(with_images(given, chapter, original.path.parent))
    except ValidationError as error:
        problems = [translation.document.problem(*fault) for fault in faults(error, values)]
        raise ContentError(problems) from error
    before = exercise_texts(exercise)
    wordings = {before[where]: text for where, text in translation.texts.items()}
    made.translates(wordings, translation.language)
    return made


def merge_texts(values: Mapping[str, object], texts: Mapping[Where, str]) -> dict[str, object]:
    """A copy of *values* with *texts* in their places; a mistake keeps its score."""
    copied = deepcopy(dict(values))
    for where, text in texts.items():
        inner: object = copied
        for part in where[:-1]:
            if isinstance(inner, dict):
                inner.setdefault(part, {})  # of texts that are names in the original
            inner = inner[part]  # type: ignore[index]  # the places come from these values
        told = inner.get(where[-1]) if isinstance(inner, dict) else None
        said = {**told, "says": text} if isinstance(told, dict) else text
        inner[where[-1]] = said  # type: ignore[index]
    return copied


def _read_translations(path: Path, code: str, originals: Mapping[Where, str]) -> Translation:
    document = read_document(path)
    problems = list(_of_language(path, code))
    texts = dict(_leaves(document.values))
    is_fresh = texts.pop((OF,), "") == texts_digest(originals)
    if is_fresh:  # what is not shows English, until someone looks at it again: lint says so
        problems += _missing(document, texts, originals)
        for where, text in texts.items():
            problems += _wrong(document, where, text, originals)
    if problems:
        raise ContentError(problems)
    return Translation(code, document, texts, is_fresh)


def _of_language(path: Path, code: str) -> Iterator[Problem]:
    others = [name for name in LANGUAGES if name != SOURCE]
    if code not in others:
        says = f"no language is called {code!r}{nearest(code, others)}"
        yield Problem(path, 1, says, f"the languages are {', '.join(others)}")


def _leaves(values: object, where: Where = ()) -> Iterator[tuple[Where, str]]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _leaves(value, (*where, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from _leaves(value, (*where, index))
    else:
        yield where, str(values)


def _missing(document: YamlDocument, texts: Mapping[Where, str], originals: Mapping[Where, str]) -> Iterator[Problem]:
    for where in originals:
        if where not in texts:
            way = ".".join(map(str, where))
            yield document.problem((), f"has no translation of {way}", "add it")


def _wrong(document: YamlDocument, where: Where, text: str, originals: Mapping[Where, str]) -> Iterator[Problem]:
    if where not in originals:
        yield document.problem(where, "the original has no text there", _CURE)
        return
    before, after = _placeholders(originals[where]), _placeholders(text)
    if before != after:
        lost, new = sorted((before - after).elements()), sorted((after - before).elements())
        parts = (("lacks", lost), ("adds", new))
        told = " and ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
        says = f"the translation {told}"
        yield document.problem(where, says, "say each drawn value as often as the original does")


def _placeholders(text: str) -> Counter[str]:
    """The drawn values that *text* shows, outside of mathematics, whose braces mean more."""
    return Counter(_FILLED.findall(_MATH.sub(" ", text)))
