"""The course: the packs that bring chapters, their formulas, and what was read of them before."""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from importlib.metadata import version as installed
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import Annotated, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field

from app.core.errors import ContentError, InputError, Problem, nearest
from app.core.folders import ROOT
from app.core.formulas import FORMULAS, MODULES, formula_of
from app.core.yaml_file import LARGEST, YamlDocument, read_document
from app.course.content.catalog import Catalog, ChapterFolder, Topic, read_chapter_folder
from app.course.content.translations import collect_problems
from app.course.kinds import Exercise
from app.course.kinds.base import Strict
from app.course.kinds.schema_errors import refuse_faults
from app.server.cache import CacheFile, joint_digest, version_digest
from app.server.config import Settings

_NAMED = 16  # digits of the name of a file


class ChapterCache:
    """The chapters in *folders*, kept in a file of *cache*; *context* is what else they depend on."""

    def __init__(self, cache: Path, folders: Sequence[Path], context: str) -> None:
        courses = joint_digest(*(os.path.abspath(folder) for folder in folders))
        self._file = CacheFile(cache, f"chapters-{courses[:_NAMED]}")
        self._key = joint_digest(version_digest(), context, courses)
        self._known: dict[str, tuple[str, ChapterFolder]] = self._file.load(self._key) or {}
        self._found: dict[str, tuple[str, ChapterFolder]] = {}

    def read(self, folder: Path) -> ChapterFolder:
        """What is in *folder*, as it was read before if no file in it has changed since."""
        digest, name = _folder_digest(folder), str(folder)
        known, chapter = self._known.get(name, ("", None))
        if chapter is None or known != digest or not digest:
            chapter = read_chapter_folder(folder)
        self._found[name] = (digest, chapter)
        return chapter

    def store(self) -> None:
        """Keep what was read, unless all of it was there before."""
        if {name: one[0] for name, one in self._found.items()} != {name: one[0] for name, one in self._known.items()}:
            self._file.store(self._key, self._found)

    def digest(self, folders: Sequence[Path]) -> str:
        """A digest of all files of the course: the chapters, and what is beside them in *folders*."""
        beside = (_folder_digest(folder) for folder in folders)
        return joint_digest(self._key, *beside, *(name + digest for name, (digest, _) in self._found.items()))


def _folder_digest(folder: Path) -> str:
    """A digest of the names in *folder*, and of the content of files; empty, if one cannot be read."""
    digest = hashlib.sha256()
    try:
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                digest.update(f"{entry.name}\n{_file_digest(entry)}\n".encode())
    except OSError:
        return ""
    return digest.hexdigest()


def _file_digest(entry: os.DirEntry[str]) -> str:
    """A digest of a file, by its time if it is larger than what is read; of another thing, its mode."""
    status = entry.stat()
    if not stat.S_ISREG(status.st_mode):
        return str(status.st_mode)
    if status.st_size > LARGEST:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(Path(entry.path).read_bytes()).hexdigest()


PACK_FILE = "pack.yaml"


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError(f'{text!r} is not a version; write it as "1.0" or "2026.1"') from None
    return text


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f'{text!r} names no versions; write it as ">=0.1,<1"') from None
    return text


class HomeText(Strict):
    """What the front page says in place of Wallclock's own words."""

    title: str = Field(min_length=2, max_length=80, description="the heading: 2 to 80 characters")
    opening: str = Field(min_length=1, description="Markdown, below the heading")


class PackFile(Strict):
    """The content of `pack.yaml`."""

    name: str = Field(
        pattern="^[a-z][a-z0-9-]*$",
        max_length=40,
        description="lowercase letters, digits and hyphens; also of its formulas",
    )
    title: str = Field(min_length=2, max_length=80, description="2 to 80 characters")
    version: Annotated[str, AfterValidator(_version)] = Field(
        description='of the pack, such as "1.0"; raise it when exercises change'
    )
    needs: Annotated[str, AfterValidator(_specifier)] = Field(
        default="", description='versions of Wallclock that it works with, such as ">=0.1,<1"'
    )
    home: HomeText | None = Field(default=None, description="the front page of the site")
    order: list[str] = Field(default=[], description="chapters that come first, in this order; the others follow")
    names: dict[str, Annotated[str, Field(min_length=2, max_length=60)]] = Field(
        default={}, description="chapters of others by name, and their titles in this course"
    )
    hide: Literal["all"] | list[str] = Field(
        default=[], description="chapters of others that are not listed, or all of them"
    )
    pick: dict[str, list[str]] = Field(
        default={}, description="chapters of others, and the exercises of them that are listed"
    )


@dataclass(frozen=True, slots=True)
class CoursePack:
    """A folder of chapters, the folder around it, and its `pack.yaml` if it has one."""

    folder: Path
    chapters: Path
    file: PackFile | None = None
    document: YamlDocument | None = None

    @property
    def name(self) -> str:
        """Its name; empty without a `pack.yaml`."""
        return self.file.name if self.file else ""

    @property
    def formulas(self) -> Path:
        """The folder of its formulas, which need not exist."""
        return self.folder / "formulas"

    def problem(self, where: tuple[str | int, ...], says: str, cure: str) -> Problem:
        """A problem at *where* in its `pack.yaml`."""
        if self.document is None:
            return Problem(self.folder / PACK_FILE, 1, says, cure)
        return self.document.problem(where, says, cure)


def chapters_in(folder: Path) -> Path:
    """The folder of the chapters of the pack in *folder*: `exercises` in it, or *folder* itself."""
    inner = folder / "exercises"
    is_chapter = inner.is_dir() and any(inner.glob("*.yaml"))
    return inner if inner.is_dir() and not is_chapter else folder


def read_pack(folder: Path) -> CoursePack:
    """The pack in *folder*.

    Raises:
        ContentError: with every problem of its `pack.yaml`.
    """
    chapters = chapters_in(folder)
    path = folder / PACK_FILE
    if not os.path.lexists(path):
        return CoursePack(folder, chapters)
    document = read_document(path)
    with refuse_faults(document, document.values, PackFile):
        file = PackFile.model_validate(document.values)
    pack = CoursePack(folder, chapters, file, document)
    if not SpecifierSet(file.needs).contains(installed("wallclock"), prereleases=True):
        says = f"needs: this is Wallclock {installed('wallclock')}, and it needs {file.needs}"
        cure = "install such a version of Wallclock, or a version of the pack for this one"
        raise ContentError([Problem(path, document.line(("needs",)), says, cure)])
    return pack


GROUP = "wallclock.exercises"
BUILT_IN = ROOT / "exercises"


def exercise_folders(settings: Settings) -> list[Path]:
    """Every folder that has one folder per chapter.

    A course pack is a package with an entry point in the group `wallclock.exercises`; its chapters
    are in its folder `exercises`, or next to its `__init__.py`.

    Raises:
        InputError: an entry point names a pack that cannot be found.
    """
    return [BUILT_IN, *(chapters_in(folder) for folder in pack_folders(settings))]


def pack_folders(settings: Settings) -> list[Path]:
    """The folders of the installed course packs, and those of the settings.

    Raises:
        InputError: an entry point names a pack that cannot be found.
    """
    return [*_installed(), *settings.exercises]


def read_packs(folders: list[Path]) -> list[CoursePack]:
    """The packs in *folders*.

    Raises:
        ContentError: with every problem of every `pack.yaml`, and of several with one name.
    """
    problems: list[Problem] = []
    found: dict[str, CoursePack] = {}
    for folder in folders:
        try:
            pack = read_pack(folder)
        except ContentError as error:
            problems += error.problems
            continue
        name = pack.name or str(folder)
        if name in found:
            says = f"name: a pack called {name!r} is in {found[name].folder} as well"
            problems.append(pack.problem(("name",), says, "use one of them, or rename one"))
        found[name] = pack
    if problems:
        raise ContentError(problems)
    return list(found.values())


def _installed() -> list[Path]:
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            spec = find_spec(entry.module)
        except ImportError as error:
            raise InputError(f"the course pack {entry.name!r} cannot be found: {error}") from error
        if spec is None or not spec.submodule_search_locations:
            raise InputError(
                f"the course pack {entry.name!r} names {entry.module!r}, which is not a package; "
                "reinstall it, or uninstall it"
            )
        found.append(Path(spec.submodule_search_locations[0]))
    return found


_EXACT = 1e-9  # relative


class FormulaProof(Strict):
    """A value of a formula that is known from elsewhere."""

    given: dict[str, str | float] = Field(description="arguments, such as size: 2 GB")
    equals: str | float = Field(description="the value, such as 70 ms")
    because: str = Field(min_length=10, description="where it is from: a table, a simulation, a limit, a symmetry")
    within: float = Field(default=_EXACT, gt=0, le=0.1, description="relative, as 0.005")


class ProofFile(Strict):
    """The content of `formulas/proofs.yaml`."""

    proofs: dict[str, list[FormulaProof]]


PACKAGE = "wallclock_packs"  # whose modules have the formulas
_LARGEST = 200_000  # bytes of a file
_MOST = 50  # files
_DIGITS = 32  # of the digest that operators copy
_OURS = {module.__name__.rpartition(".")[2] for module in MODULES} | {"presets", "step"}
_FORMER = re.compile(rb"^([ \t]*(?:from|import)[ \t]+app)\.(formulas|units)\b", re.MULTILINE)
_CALM = "its formulas are Python, and Python may do anything"
# What the top level of a module may raise.
_TROUBLE = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError,
    RuntimeError, SyntaxError, TypeError, ValueError,
)  # fmt: skip


def sources_of(pack: CoursePack) -> Mapping[Path, bytes]:
    """The files of the formulas of *pack*; none if it brings no formula.

    Raises:
        ContentError: a file cannot be read, there are too many, or the pack has no name.
    """
    paths = sorted(pack.formulas.glob("*.py"))
    if not paths:
        return {}
    if pack.chapters == pack.folder:
        says = "a pack with formulas has its chapters in a folder `exercises`"
        raise ContentError([pack.problem((), says, "move the chapters there")])
    if pack.file is None:
        cure = "write one with `name`, which is also the name of its formulas"
        raise ContentError([pack.problem((), "a pack with formulas needs a pack.yaml", cure)])
    if namespace(pack) in _OURS:
        says = f"name: Wallclock's own formulas are called {namespace(pack)!r}"
        raise ContentError([pack.problem(("name",), says, "give the pack another name")])
    if len(paths) > _MOST:
        says = f"has {len(paths)} files, and at most {_MOST} are read"
        raise ContentError([Problem(pack.formulas, 1, says, "put several formulas into one file")])
    return {path: _source(path) for path in paths}


def _source(path: Path) -> bytes:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            says = f"is not a regular file of at most {_LARGEST:,} bytes"
            raise ContentError([Problem(path, 1, says, "split it, or remove it")])
        return path.read_bytes()
    except OSError as error:
        says = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise ContentError([Problem(path, 1, says, "check its permissions")]) from error


def namespace(pack: CoursePack) -> str:
    """What its formulas are called before the dot: the name of the pack, with underscores."""
    return pack.name.replace("-", "_")


def files_digest(files: Mapping[Path, bytes]) -> str:
    """The digest of *files* that an operator agrees to."""
    digest = hashlib.sha256()
    for path, source in files.items():
        digest.update(f"{path.name} {len(source)}\n".encode() + source)
    return digest.hexdigest()[:_DIGITS]


def is_agreed(settings: Settings, pack: CoursePack, files: Mapping[Path, bytes]) -> bool:
    """Whether the operator has agreed to run *files*: by their digest, or to the whole folder."""
    folders = {Path(one).resolve() for one in settings.pack_code if "@" not in one}
    return f"{pack.name}@{files_digest(files)}" in settings.pack_code or pack.folder.resolve() in folders


def load_pack_formulas(pack: CoursePack, files: Mapping[Path, bytes]) -> Mapping[str, FunctionType]:
    """The formulas in *files*, by name; this runs them.

    Raises:
        ContentError: with every problem, each with its line.
    """
    problems: list[Problem] = []
    found: dict[str, FunctionType] = {}
    for file, source in files.items():
        for name, function in _run(pack, file, source, problems).items():
            whole = f"{namespace(pack)}.{name}"
            if whole in found:
                says = f"{name} is in another file as well"
                problems.append(_problem(file, function, says, "rename one of them"))
            found[whole] = function
            try:
                formula_of(whole, function)
            except (*_TROUBLE, KeyError) as error:
                cure = "annotate arguments and result with units: Bytes, Seconds, Count, Ratio, ..."
                problems.append(_problem(file, function, f"{name}: {error}", cure))
    if problems:
        raise ContentError(problems)
    return found


def in_this_version(source: bytes) -> bytes:
    """The *source* of a pack, whose imports are named as they are now: `app.units` was where `app.core.units` is."""
    return _FORMER.sub(rb"\1.core.\2", source)


def _run(pack: CoursePack, file: Path, source: bytes, problems: list[Problem]) -> Mapping[str, FunctionType]:
    """The public functions that *file* defines and that return something."""
    module = ModuleType(f"{PACKAGE}.{namespace(pack)}.{file.stem}")
    module.__file__ = str(file)
    try:
        code = compile(in_this_version(source), str(file), "exec", dont_inherit=True)
        exec(code, vars(module))
    except _TROUBLE as error:
        passed = [one.lineno for one in extract_tb(error.__traceback__) if one.filename == str(file)]
        line = getattr(error, "lineno", None) or (passed or [1])[-1] or 1
        says = f"cannot be loaded: {type(error).__name__}: {error}"
        problems.append(Problem(file, line, says, "run it with Python to see more"))
        return {}
    sys.modules[module.__name__] = module
    return {
        name: function
        for name, function in vars(module).items()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and function.__annotations__.get("return") is not None
        and not name.startswith("_")
    }


def _problem(file: Path, function: FunctionType, says: str, cure: str) -> Problem:
    return Problem(file, function.__code__.co_firstlineno, says, cure)


def read_course(settings: Settings, *, keep: bool = True) -> Catalog:
    """The catalog of this server; adds the formulas of packs that the operator agreed to.

    What was read is kept for the next start unless *keep* is false.

    Raises:
        ContentError: with every problem of the files.
        InputError: an installed pack cannot be found.
    """
    packs = read_packs(pack_folders(settings))
    load_formulas(settings, packs)
    folders = [BUILT_IN, *(pack.chapters for pack in packs)]
    cache = ChapterCache(settings.cache / "course", folders, packs_digest(packs))
    catalog = arrange_catalog(Catalog.read(folders, cache.read), packs)
    if keep:
        cache.store()
    return replace(catalog, digest=cache.digest(folders))


def packs_digest(packs: Sequence[CoursePack]) -> str:
    """A digest of what *packs* say of the course, and of their formulas."""
    files = (pack.document.digest if pack.document else "" for pack in packs)
    return joint_digest(*files, *(files_digest(sources_of(pack)) for pack in packs))


def load_formulas(settings: Settings, packs: Sequence[CoursePack]) -> None:
    """Add the formulas of *packs*.

    Raises:
        ContentError: nobody agreed to them, or they cannot be loaded; none is added then.
    """
    problems: list[Problem] = []
    found: dict[str, FunctionType] = {}
    for pack in packs:
        with collect_problems(problems):
            found |= _agreed(settings, pack)
    if problems:
        raise ContentError(problems)
    FORMULAS.add(found)


def _agreed(settings: Settings, pack: CoursePack) -> Mapping[str, FunctionType]:
    """The formulas of *pack*, to which the operator must have agreed."""
    files = sources_of(pack)
    if files and not is_agreed(settings, pack, files):
        says = f"{_CALM}: they are loaded only if you agree"
        cure = f"read them, then set WALLCLOCK_PACK_CODE={pack.name}@{files_digest(files)}"
        raise ContentError([Problem(pack.formulas, 1, says, cure)])
    return load_pack_formulas(pack, files)


def arrange_catalog(catalog: Catalog, packs: Sequence[CoursePack]) -> Catalog:
    """*catalog* in the order, with the names and without the chapters that *packs* say.

    Raises:
        ContentError: a pack names a chapter or an exercise that there is not, two packs bring a
            front page, or nothing is left.
    """
    problems = [problem for pack in packs for problem in _unknown(catalog, pack)]
    fronts = [pack for pack in packs if pack.file and pack.file.home]
    for other in fronts[1:]:
        says = f"home: the pack in {fronts[0].folder} brings a front page as well"
        problems.append(other.problem(("home",), says, "remove `home` from one of them"))
    if problems:
        raise ContentError(problems)
    for pack in packs:
        catalog = _arranged_by(catalog, pack)
    if packs and not catalog.topics:
        cure = "hide fewer chapters, or add one"
        raise ContentError([packs[-1].problem(("hide",), "hide: no chapter is left", cure)])
    home = fronts[0].file.home if fronts and fronts[0].file else None
    return replace(catalog, front=(home.title, home.opening) if home else None)


def _unknown(catalog: Catalog, pack: CoursePack) -> Iterator[Problem]:
    """A problem for each chapter and exercise in the pack.yaml of *pack* that there is not."""
    if pack.file is None:
        return
    known: dict[str, set[str]] = {name: set() for topic in catalog.topics for name in topic.folders}
    for chapter, _, exercise in (name.partition("/") for name in catalog.by_id):
        known.setdefault(chapter, set()).add(exercise)
    hidden = [] if pack.file.hide == "all" else pack.file.hide
    named = {"order": pack.file.order, "hide": hidden}
    places = [((key, n), name) for key, names in named.items() for n, name in enumerate(names)]
    places += [((key, name), name) for key in ("names", "pick") for name in getattr(pack.file, key)]
    for where, name in places:
        if name not in known:
            says = f"no chapter is called {name!r}{nearest(name, known)}"
            yield pack.problem(where, says, f"the chapters are {', '.join(known)}")
    for name, picked in pack.file.pick.items():
        for place, exercise in enumerate(picked):
            if exercise not in known.get(name, {exercise}):
                says = f"no exercise of it is called {exercise!r}{nearest(exercise, known[name])}"
                cure = "write its name without the chapter"
                yield pack.problem(("pick", name, place), says, cure)


def _arranged_by(catalog: Catalog, pack: CoursePack) -> Catalog:
    """*catalog* as the pack.yaml of *pack* alone says; to hide all is to hide the built-in ones."""
    if pack.file is None:
        return catalog
    built_in = (file.parent.name for file in BUILT_IN.glob("*/topic.yaml"))
    hides = frozenset(built_in if pack.file.hide == "all" else pack.file.hide)
    listed, hidden = [], [*catalog.hidden]
    for topic in catalog.topics:
        kept = tuple(_kept(catalog, topic, pack.file.pick, hides))
        if kept != topic.exercises:
            hidden.append(topic)
            topic = replace(topic, exercises=kept)
        if kept:
            listed.append(replace(topic, title=pack.file.names.get(topic.id, topic.title)))
    places = {name: place for place, name in enumerate(pack.file.order)}
    listed.sort(key=lambda topic: min(places.get(name, len(places)) for name in topic.folders))
    return replace(catalog, topics=tuple(listed), hidden=tuple(hidden))


def _kept(
    catalog: Catalog, topic: Topic, pick: Mapping[str, Sequence[str]], hides: Collection[str]
) -> Iterator[Exercise]:
    """The exercises of *topic* that a pack lists, which may *pick* some of a folder and *hides* others."""
    picked = {f"{name}/{slug}" for name in topic.folders for slug in pick.get(name, ())}
    if topic.id in hides and not picked:
        return
    for exercise in topic.exercises:
        folder = exercise.id.partition("/")[0]
        if folder in pick:
            if exercise.id in picked:
                yield exercise
        elif folder not in hides and (folder in topic.folders[1:] or topic.id not in pick):
            yield exercise
    listed = {one.id for one in topic.exercises}
    yield from (catalog.by_id[name] for name in sorted(picked - listed))  # retired since
