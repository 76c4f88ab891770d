"""Lint exercise files, chapters and their translations; every finding has a file, a line and a cure."""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from app.authoring import chapter_proofs
from app.authoring.giveaways import add_cure, prove_giveaways, prove_tolerances, too_long
from app.authoring.proofs import Places, prove, prove_parts, trouble_of_chapter_figure
from app.authoring.texts import Script, prove_displays, prove_numbers, prove_quantities, prove_shown, prove_wholes
from app.core.errors import ContentError, InputError, Problem
from app.core.expressions import ExpressionError
from app.core.folders import ROOT
from app.core.yaml_file import YamlDocument, read_bytes, read_document
from app.course.content import translations
from app.course.content.catalog import Catalog
from app.course.content.course import PACK_FILE, chapters_in, read_pack
from app.course.content.outline import COURSE_FILE, course_texts, read_course_file
from app.course.content.topic_file import TOPIC_FILE
from app.course.kinds import Exercise, Finding, Where
from app.course.sandbox.runner import Runner
from app.server.cache import CacheFile, joint_digest, version_digest
from app.site.markdown import MathematicsError, check_mathematics

_SEEDS = range(5)
_LAGS = (
    "the original has changed since this translation, so English is shown: bring it up to date,"
    f" then write {translations.OF}: {{of}}"
)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a valid file; a warning suggests a change."""

    path: Path
    says: str
    level: Literal["note", "warning"] = "note"
    line: int = 0  # 0: of the whole file


def prove_translations(file: Path) -> Iterator[Problem | Note]:
    """What is wrong with the translations beside the exercise, chapter or parts in *file*, and which lag behind."""
    if not translations.has_translation(file):
        return
    try:
        exercise, texts, document = _original(file)
    except ContentError:
        return  # the original is reported as it is
    try:
        for one in translations.translations_of(file, texts):
            if one.is_fresh:
                yield from _problems(one, exercise, document)
            else:  # it is not shown
                yield Note(one.document.path, _LAGS.format(of=translations.texts_digest(texts)), "warning")
    except ContentError as error:
        yield from error.problems


def _original(file: Path) -> tuple[Exercise | None, Mapping[Where, str], YamlDocument]:
    """The exercise in *file*, if it is one, the texts in it that a translation says, and the file."""
    if file.name == COURSE_FILE:
        course, document = read_course_file(file)
        return None, course_texts(course), document
    if file.name == TOPIC_FILE:
        topic, document = translations.read_topic(file)
        return None, translations.topic_texts(topic), document
    exercise, document = translations.read_exercise(file, translations.topic_of(file))
    return exercise, translations.exercise_texts(exercise), document


def _problems(one: translations.Translation, exercise: Exercise | None, original: YamlDocument) -> Iterator[Problem]:
    if exercise is not None:
        yield from _of_drawings(one, translations.translate_exercise(exercise, original, one))
        return
    for where, text in one.texts.items():
        try:
            check_mathematics(text)
        except MathematicsError as error:
            yield one.document.problem(where, str(error))


def _of_drawings(one: translations.Translation, exercise: Exercise) -> Iterator[Problem]:
    """What cannot be filled or shown in the first drawings."""
    try:
        for seed in _SEEDS:
            drawn = exercise.variant(seed)
            for text in (drawn.prompt, *drawn.hints, drawn.solution):
                check_mathematics(text)
    except (ExpressionError, MathematicsError) as error:
        yield one.document.problem((), str(error))


_AT_ONCE = 4  # files
_MOST_PROOFS = 50_000  # that are stored
_NO_EXERCISES = (TOPIC_FILE, PACK_FILE, COURSE_FILE)


@dataclass(frozen=True, slots=True)
class LintReport:
    """The result of linting: the number of files, the problems, and the notes."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]


async def lint(
    paths: Sequence[Path],
    runner: Runner,
    beside: Sequence[Path] = (),
    *,
    proofs: "ProofCache | None" = None,
    start: Callable[[], Awaitable[None]] | None = None,
) -> LintReport:
    """Lint every exercise file in *paths*, which are files, chapters or folders of chapters.

    Folders of chapters must be compatible with those in *beside*, which are installed already. What is in *proofs*
    is not proven again; *start* is awaited before anything else is.

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
    proofs = proofs or ProofCache(None)
    proofs.open(places)
    unproven_files = [file for file in files if proofs.proven(file) is None]
    if start and unproven_files:
        await start()
    fresh = await asyncio.gather(*(_in_slot(file, runner, slots, places) for file in unproven_files))
    by_file = dict(zip(unproven_files, fresh, strict=True))
    by_file |= {file: lint_topic(file, places) for file in topics if proofs.proven(file) is None}
    proofs.fresh = sorted(by_file)
    linted = [by_file.get(file) or LintReport(0, (), proofs.proven(file) or ()) for file in (*files, *topics)]
    linted += _lint_chapters(paths, beside)
    problems = packs + [problem for one in linted for problem in one.problems]
    texts = (*files, *topics, *_course_files(paths))
    spoken = []
    for file in texts:
        said = list(prove_translations(file)) if proofs.proven(file) is None else []
        spoken += said
        if file in by_file and not said and not by_file[file].problems:
            proofs.add(file, by_file[file].notes)
    proofs.store()
    problems += [one for one in spoken if isinstance(one, Problem)]
    problems += [
        stray for folder in sorted({file.parent for file in texts}) for stray in translations.find_stray(folder)
    ]
    problems.sort(key=lambda problem: (problem.path, problem.line))
    notes = [note for one in linted for note in one.notes]
    notes += [one for one in spoken if isinstance(one, Note)]
    return LintReport(len(files), tuple(dict.fromkeys(problems)), tuple(notes))


class ProofCache:
    """The notes on files without a problem, by digests of what their proofs depend on; without *folder*, of none."""

    def __init__(self, folder: Path | None, context: str = "") -> None:
        self._file = CacheFile(folder, "proofs-1") if folder else None
        self._context = context
        self._key = ""
        self._known: dict[str, tuple[Note, ...]] = {}
        self._found: dict[str, tuple[Note, ...]] = {}
        self._digests: dict[Path, str] = {}
        self._contents: dict[Path, str] = {}
        self.fresh: list[Path] = []  # files that were proven now

    def open(self, places: Places) -> None:
        """Read the proofs of files whose links may lead to *places*."""
        if self._file:
            static = sorted(str(path) for path in (ROOT / "static").rglob("*"))
            self._key = joint_digest(version_digest(), self._context, *static)
            images = sorted(str(path) for one in places.folders for path in one.glob("*/*") if path.suffix != ".yaml")
            self._context = joint_digest(*sorted(places.exercises), *images)
            self._known = self._file.load(self._key) or {}

    def proven(self, file: Path) -> "tuple[Note, ...] | None":
        """The notes on *file*, if it and what is beside it have been proven as they are."""
        return self._known.get(self._digest(file)) if self._file else None

    def add(self, file: Path, notes: "tuple[Note, ...]") -> None:
        """Note that *file* has no problem."""
        self._found[self._digest(file)] = notes

    def store(self) -> None:
        """Keep what was proven: all that is known of this version, up to a number."""
        if self._file and self._found:
            kept = {**self._known, **self._found}
            self._file.store(self._key, dict([*kept.items()][-_MOST_PROOFS:]))

    def _digest(self, file: Path) -> str:
        """A digest of *file*, its translations, its chapter's file and images, and of where links may lead."""
        if file not in self._digests:
            whole = Path(os.path.abspath(file))
            beside = sorted(
                path
                for path in whole.parent.iterdir()
                if path.suffix != whole.suffix or path.name == TOPIC_FILE or path.name.partition(".")[0] == whole.stem
            )
            digests = (f"{path.name} {self._content_digest(path)}" for path in beside)
            self._digests[file] = joint_digest(self._context, str(file), *digests)
        return self._digests[file]

    def _content_digest(self, path: Path) -> str:
        if path not in self._contents:
            try:
                self._contents[path] = hashlib.sha256(read_bytes(path)).hexdigest()
            except ContentError:  # a folder, or what cannot be read
                self._contents[path] = ""
        return self._contents[path]


async def lint_file(file: Path, runner: Runner, places: Places | None = None) -> LintReport:
    """Lint one exercise file; its links may lead to *places*.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    try:
        document = read_document(file)
    except ContentError as error:
        return LintReport(1, error.problems, ())
    return await lint_document(document, runner, places)


async def lint_document(document: YamlDocument, runner: Runner, places: Places | None = None) -> LintReport:
    """Lint one exercise, which may not be stored yet; its links may lead to *places*.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    file = document.path
    try:
        exercise = translations.parse_exercise(document, translations.topic_of(file))
    except ContentError as error:
        return LintReport(1, error.problems, ())
    findings = [
        *chapter_proofs.prove_characters(document.values),
        *prove_parts(exercise, document.values, places or _places((), (file,))),
        *_words(exercise),
    ]
    findings += await prove(exercise, runner)
    complete = (add_cure(finding, exercise) for finding in findings)
    problems = [document.problem(one.where, one.says, one.cure) for one in complete]
    return LintReport(1, tuple(problems), () if problems else tuple(_notes(document, exercise)))


def lint_topic(file: Path, places: Places | None = None) -> LintReport:
    """Lint the texts and figures of a chapter's own file; its links may lead to *places*."""
    try:
        topic, document = translations.read_topic(file)
    except ContentError as error:
        return LintReport(0, error.problems, ())
    findings = [
        *chapter_proofs.prove_characters(document.values),
        *chapter_proofs.prove_chapter(topic, translations.topic_of(file), places or _places((), (file,))),
    ]
    for index, figure in enumerate(topic.figures):
        if says := trouble_of_chapter_figure(figure):
            findings.append(Finding(("figures", index), says))
    complete = (add_cure(finding) for finding in findings)
    problems = tuple(document.problem(one.where, one.says, one.cure) for one in complete)
    return LintReport(0, problems, ())


def prove_words(exercise: Exercise) -> Iterator[Finding]:
    """Everything wrong with the texts of *exercise*, which can be drawn with every seed."""
    script = Script(exercise)
    for where, text in script.texts:
        yield from chapter_proofs.prove_shape(where, text)
    yield from chapter_proofs.prove_phrases(script)
    yield from prove_shown(script)
    yield from prove_numbers(script)
    yield from prove_displays(script)
    yield from prove_giveaways(script)
    every = script if exercise.from_chapter else chapter_proofs.ClaimScript(exercise)
    yield from prove_tolerances(every)
    yield from prove_wholes(every)
    yield from prove_quantities(every)


def _words(exercise: Exercise) -> list[Finding]:
    """Everything wrong with the texts of *exercise*, as far as it can be drawn."""
    found = []
    with suppress(ExpressionError):  # reported by the proofs of the drawings
        for finding in chain(prove_words(exercise), chapter_proofs.prove_claims(exercise)):
            found.append(finding)
    return found


def _notes(document: YamlDocument, exercise: Exercise) -> Iterator[Note]:
    file = document.path
    yield from (Note(file, says) for says in exercise.notes())
    yield from (Note(file, says, "warning") for says in too_long(exercise))
    for where, says in chapter_proofs.unproven(exercise):
        yield Note(file, says, line=document.line(where))


def _places(beside: Sequence[Path], files: Iterable[Path]) -> Places:
    """The targets of links in *files*: the built-in chapters, and those in the same folders."""
    around = {Path(os.path.abspath(file)).parent.parent for file in files}
    return Places((ROOT / "exercises", *beside, *sorted(around)))


async def _in_slot(file: Path, runner: Runner, slots: asyncio.Semaphore, places: Places) -> LintReport:
    async with slots:
        return await lint_file(file, runner, places)


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist")
        path = translations.original_of(path)
        return [path] if path.name not in _NO_EXERCISES else []
    yamls = path.rglob("*.yaml")
    found = [one for one in yamls if one.name not in _NO_EXERCISES and not translations.is_translation(one)]
    if not found:
        raise InputError(f"{path} has no exercise file (*.yaml)")
    return found


def _topic_files(path: Path) -> Iterable[Path]:
    if path.is_file():
        path = translations.original_of(path)
        return [path] if path.name == TOPIC_FILE else []
    return sorted(path.rglob(TOPIC_FILE))


def _course_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        file = path / COURSE_FILE if path.is_dir() else translations.original_of(path)
        if file.name == COURSE_FILE and file.exists():
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
        for finding in chapter_proofs.prove_text(where, pack.file.home.opening, places):
            yield pack.problem(finding.where, finding.says, add_cure(finding).cure)


def _same(one: Path, other: Path) -> bool:
    """Whether both are the chapters of one pack, such as its source and what was installed from it."""
    name = _pack_name(one)
    return one.resolve() == other.resolve() or (name != "" and name == _pack_name(other))


def _pack_name(chapters: Path) -> str:
    """The name of the pack whose *chapters* are in a folder; empty if none can be read."""
    folder = next((one for one in (chapters, chapters.absolute().parent) if (one / PACK_FILE).is_file()), chapters)
    try:
        pack = read_pack(folder)
    except ContentError:  # told where the file itself is judged
        return ""
    return pack.name


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
        yield LintReport(0, tuple(_problems_of_course(folder / COURSE_FILE, catalog)), ())


def _problems_of_course(path: Path, catalog: Catalog) -> Iterator[Problem]:
    """What is wrong with the outline at *path*, by which *catalog* was read, if there is one."""
    if not path.exists():
        return
    file, document = read_course_file(path)
    for one in chapter_proofs.prove_course(file, catalog):
        yield document.problem(one.where, one.says, one.cure)
