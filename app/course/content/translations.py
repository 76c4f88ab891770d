"""The files of exercises and chapters, and the languages that they are translated to."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from app.core.errors import ContentError, Problem, nearest
from app.core.translation import LANGUAGES, SOURCE
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.images import with_images
from app.course.content.topic_file import TOPIC_FILE, TopicFile, find_misplaced
from app.course.kinds import EXERCISE, Exercise, Where
from app.course.kinds.schema_errors import refuse_faults

ReadTopic = Callable[[Path], tuple[TopicFile, YamlDocument]]
Original = tuple[TopicFile | Exercise, YamlDocument]  # a file as it was read
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
    with refuse_faults(document, document.values, TopicFile):
        topic = TopicFile.model_validate(with_images(document.values, topic_of(path), path.parent))
    if problems := [document.problem(("opening",), says, cure) for says, cure in find_misplaced(topic)]:
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
        values["chapter_parameters"] = {}
        with suppress(ContentError, OSError):  # reported where the chapter is read
            values["chapter_parameters"] = read(path.parent / TOPIC_FILE)[0].parameters
    with refuse_faults(document, document.values):
        return EXERCISE.validate_python(with_images(values, topic, path.parent))


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


def find_stray(folder: Path) -> Iterator[Problem]:
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


def translate_exercise(exercise: Exercise, original: YamlDocument, translation: Translation) -> Exercise:
    """*exercise*, read from the file *original*, with the texts of *translation*.

    Raises:
        ContentError: they are not valid.
    """
    values = merge_texts(original.values, translation.texts)
    chapter = exercise.id.partition("/")[0]
    given = {**values, "id": exercise.id, "digest": exercise.digest}
    given["chapter_parameters"] = exercise.chapter_parameters
    with refuse_faults(translation.document, values):
        made = EXERCISE.validate_python(with_images(given, chapter, original.path.parent))
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
    others = [name for name in LANGUAGES if name != SOURCE]
    problems = []
    if code not in others:
        says = f"no language is called {code!r}{nearest(code, others)}"
        problems.append(Problem(path, 1, says, f"the languages are {', '.join(others)}"))
    texts = dict(_leaves(document.values))
    is_fresh = texts.pop((OF,), "") == texts_digest(originals)
    if is_fresh:  # what is not shows English, until someone looks at it again: lint says so
        lacking = (".".join(map(str, where)) for where in originals if where not in texts)
        problems += (document.problem((), f"has no translation of {way}", "add it") for way in lacking)
        for where, text in texts.items():
            problems += _wrong(document, where, text, originals)
    if problems:
        raise ContentError(problems)
    return Translation(code, document, texts, is_fresh)


def _leaves(values: object, where: Where = ()) -> Iterator[tuple[Where, str]]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _leaves(value, (*where, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from _leaves(value, (*where, index))
    else:
        yield where, str(values)


def _wrong(document: YamlDocument, where: Where, text: str, originals: Mapping[Where, str]) -> Iterator[Problem]:
    if where not in originals:
        yield document.problem(where, "the original has no text there", _CURE)
        return
    # The drawn values that are shown, outside of mathematics, whose braces mean more.
    before, after = (Counter(_FILLED.findall(_MATH.sub(" ", one))) for one in (originals[where], text))
    if before != after:
        lost, new = sorted((before - after).elements()), sorted((after - before).elements())
        parts = (("lacks", lost), ("adds", new))
        told = " and ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
        yield document.problem(where, f"the translation {told}", "say each drawn value as often as the original does")


_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class LanguageTexts:
    """What is translated to one language, by ids; beside a chapter is the title of its original."""

    language: str
    exercises: dict[str, Exercise] = field(default_factory=dict)
    topics: dict[str, tuple[str, TopicFile]] = field(default_factory=dict)


def read_spoken(
    folder: Path, originals: Mapping[Path, Original], problems: list[Problem]
) -> Mapping[str, LanguageTexts]:
    """The translations in *folder*, by language, of *originals* that are valid; adds to the *problems*."""
    found: dict[str, LanguageTexts] = {}
    problems += find_stray(folder)
    for path in dict.fromkeys(original_of(path) for path in sorted(folder.glob(f"*{_SUFFIX}")) if is_translation(path)):
        if path in originals:  # the catalog reports what is wrong with another
            _add(path, *originals[path], found, problems)
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


def _add(
    path: Path,
    made: TopicFile | Exercise,
    document: YamlDocument,
    found: dict[str, LanguageTexts],
    problems: list[Problem],
) -> None:
    """Add the translations of the file at *path* to what is *found*."""
    texts = topic_texts(made) if isinstance(made, TopicFile) else exercise_texts(made)
    fresh: list[Translation] = []
    with collect_problems(problems):
        fresh += (one for one in translations_of(path, texts) if one.is_fresh)
    for one in fresh:
        spoken = found.setdefault(one.language, LanguageTexts(one.language))
        with collect_problems(problems):
            if isinstance(made, TopicFile):
                values = merge_texts(document.values, one.texts)
                with refuse_faults(one.document, values, TopicFile):
                    topic = TopicFile.model_validate(with_images(values, path.parent.name, path.parent))
                spoken.topics[path.parent.name] = made.title, topic
            else:
                spoken.exercises[made.id] = translate_exercise(made, document, one)


@contextmanager
def collect_problems(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of an error in the block to *problems*."""
    try:
        yield
    except ContentError as error:
        problems += error.problems
