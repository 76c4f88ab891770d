"""Lint exercise files, chapters and their translations; every finding has a file, a line and a cure."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from app.authoring import add_cure, longest_is_right, prove_characters, prove_words, too_long
from app.authoring.chapter_proofs import prove_chapter, prove_claims, prove_text, unproven
from app.authoring.proofs import (
    Places,
    prove,
    prove_figures,
    prove_illustration,
    prove_lab,
    prove_links,
    prove_sources,
    prove_use,
    trouble_of_figure,
)
from app.core.errors import ContentError, InputError, Problem
from app.core.expressions import ExpressionError
from app.core.folders import ROOT
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.catalog import PARTS_FILE, Catalog, parts_texts, read_parts_file
from app.course.content.course import PACK_FILE, chapters_in, read_pack
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import (
    OF,
    Translation,
    exercise_texts,
    find_stray,
    has_translation,
    is_translation,
    original_of,
    parse_exercise,
    read_exercise,
    read_topic,
    texts_digest,
    topic_of,
    topic_texts,
    translate_exercise,
    translations_of,
)
from app.course.kinds import Exercise, Finding, Where
from app.course.sandbox.runner import Runner
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
        yield from find_stray(folder)


def _problems(one: Translation, exercise: Exercise | None, original: YamlDocument) -> Iterator[Problem]:
    for where, text in one.texts.items():
        if exercise is None:
            yield from _of_text(one.document, where, text)
    if exercise is not None:
        yield from _of_drawings(one, translate_exercise(exercise, original, one))


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


_AT_ONCE = 4  # files
_NO_EXERCISES = (TOPIC_FILE, PACK_FILE, PARTS_FILE)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a valid file; a warning suggests a change."""

    path: Path
    says: str
    level: Literal["note", "warning"] = "note"
    line: int = 0  # 0: of the whole file


@dataclass(frozen=True, slots=True)
class LintReport:
    """The result of linting: the number of files, the problems, and the notes."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]


async def lint(
    paths: Sequence[Path], runner: Runner, beside: Sequence[Path] = (), *, links: bool = False
) -> LintReport:
    """Lint every exercise file in *paths*, which are files, chapters or folders of chapters.

    With *links*, check online that the sources still exist. Folders of chapters must be compatible
    with those in *beside*, which are installed already.

    Raises:
        InputError: a path does not exist, or has no exercise file.
        UnavailableError: the sandbox cannot run the code of an exercise.
    """
    packs = [problem for path in paths for problem in problems_of_pack(path)]
    paths = [chapters_in(path) if os.path.lexists(path / PACK_FILE) else path for path in paths]
    files = sorted(set(chain.from_iterable(_files(path) for path in paths)))
    topics = [file for path in paths for file in _topic_files(path)]
    places = _places(beside, (*files, *topics))
    slots = asyncio.Semaphore(_AT_ONCE)
    linted = [
        *await asyncio.gather(*(_in_slot(file, runner, slots, places, links) for file in files)),
        *(lint_topic(file, places) for file in topics),
        *_lint_chapters(paths, beside),
    ]
    problems = packs + [problem for one in linted for problem in one.problems]
    texts = (*files, *topics, *_parts_files(paths))
    spoken = [one for file in texts for one in prove_translations(file)]
    problems += [one for one in spoken if isinstance(one, Problem)]
    problems += stray_translations(iter(texts))
    problems.sort(key=lambda problem: (problem.path, problem.line))
    notes = [note for one in linted for note in one.notes]
    lagging = (one for one in spoken if isinstance(one, LaggingTranslation))
    notes += [Note(one.path, one.says, "warning") for one in lagging]
    return LintReport(len(files), tuple(dict.fromkeys(problems)), tuple(notes))


async def lint_file(file: Path, runner: Runner, places: Places | None = None, *, links: bool = False) -> LintReport:
    """Lint one exercise file; its links may lead to *places*.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    try:
        document = read_document(file)
    except ContentError as error:
        return LintReport(1, error.problems, ())
    return await lint_document(document, runner, places, links=links)


async def lint_document(
    document: YamlDocument, runner: Runner, places: Places | None = None, *, links: bool = False
) -> LintReport:
    """Lint one exercise, which may not be stored yet; its links may lead to *places*.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    file = document.path
    try:
        exercise = parse_exercise(document, topic_of(file))
    except ContentError as error:
        return LintReport(1, error.problems, ())
    findings = [
        *prove_characters(document.values),
        *prove_use(exercise, document.values),
        *prove_links(exercise, places or _places((), (file,))),
        *prove_figures(exercise),
        *prove_illustration(exercise),
        *prove_lab(exercise),
        *_words(exercise),
    ]
    findings += await prove(exercise, runner)
    if links:
        findings += await asyncio.to_thread(lambda: list(prove_sources(exercise)))
    complete = (add_cure(finding, exercise) for finding in findings)
    problems = [document.problem(one.where, one.says, one.cure) for one in complete]
    return LintReport(1, tuple(problems), () if problems else tuple(_notes(document, exercise)))


def lint_topic(file: Path, places: Places | None = None) -> LintReport:
    """Lint the texts and figures of a chapter's own file; its links may lead to *places*."""
    try:
        topic, document = read_topic(file)
    except ContentError as error:
        return LintReport(0, error.problems, ())
    findings = [
        *prove_characters(document.values),
        *prove_chapter(topic, topic_of(file), places or _places((), (file,))),
    ]
    for index, figure in enumerate(topic.figures):
        state = {name: str(text) for name, text in figure.state.items()}
        if says := trouble_of_figure(figure, state):
            findings.append(Finding(("figures", index), says))
    complete = (add_cure(finding) for finding in findings)
    problems = tuple(document.problem(one.where, one.says, one.cure) for one in complete)
    return LintReport(0, problems, ())


def _words(exercise: Exercise) -> list[Finding]:
    """Everything wrong with the texts of *exercise*, as far as it can be drawn."""
    found = []
    try:
        for finding in chain(prove_words(exercise), prove_claims(exercise)):
            found.append(finding)
    except ExpressionError:  # reported by the proofs of the drawings
        return found
    return found


def _notes(document: YamlDocument, exercise: Exercise) -> Iterator[Note]:
    file = document.path
    yield from (Note(file, says) for says in exercise.notes())
    yield from (Note(file, says, "warning") for says in too_long(exercise))
    for where, says in unproven(exercise):
        yield Note(file, says, line=document.line(where))


def _places(beside: Sequence[Path], files: Iterable[Path]) -> Places:
    """The targets of links in *files*: the built-in chapters, and those in the same folders."""
    around = {Path(os.path.abspath(file)).parent.parent for file in files}
    return Places((ROOT / "exercises", *beside, *sorted(around)))


async def _in_slot(file: Path, runner: Runner, slots: asyncio.Semaphore, places: Places, links: bool) -> LintReport:
    async with slots:
        return await lint_file(file, runner, places, links=links)


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist")
        path = original_of(path)
        return [path] if path.name not in _NO_EXERCISES else []
    yamls = path.rglob("*.yaml")
    found = [one for one in yamls if one.name not in _NO_EXERCISES and not is_translation(one)]
    if not found:
        raise InputError(f"{path} has no exercise file (*.yaml)")
    return found


def _topic_files(path: Path) -> Iterable[Path]:
    if path.is_file():
        path = original_of(path)
        return [path] if path.name == TOPIC_FILE else []
    return sorted(path.rglob(TOPIC_FILE))


def _parts_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        file = path / PARTS_FILE if path.is_dir() else original_of(path)
        if file.name == PARTS_FILE and file.exists():
            yield file


def problems_of_pack(path: Path) -> Iterator[Problem]:
    """The problems of the `pack.yaml` at or in *path*, if there is one."""
    folder = path.parent if path.name == PACK_FILE else path
    try:
        pack = read_pack(folder)
    except ContentError as error:
        yield from error.problems
        return
    if pack.file and pack.file.home:
        places = _places((), (pack.chapters / "a" / "b",))
        where: Where = ("home", "opening")
        for finding in prove_text(where, pack.file.home.opening, places):
            yield pack.problem(finding.where, finding.says, add_cure(finding).cure)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _lint_chapters(paths: Sequence[Path], beside: Sequence[Path]) -> Iterator[LintReport]:
    """The result of linting the chapters in each folder of *paths* as a whole."""
    for folder in paths:
        if not folder.is_dir() or (folder / TOPIC_FILE).exists():
            continue
        try:
            catalog = Catalog.read([*(one for one in beside if not _same(one, folder)), folder])
        except ContentError as error:
            yield LintReport(0, error.problems, ())
            continue
        notes = (
            Note(folder / topic.id, says, "warning")
            for topic in catalog.topics
            if (folder / topic.id).is_dir()
            for says in longest_is_right(topic.id, topic.exercises)
        )
        yield LintReport(0, (), tuple(notes))
