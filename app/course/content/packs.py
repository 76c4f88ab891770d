"""Course packs: what their files say, and the sources of exercises on a server."""

import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.metadata import version as installed
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field, ValidationError

from app.core.errors import ContentError, InputError, Problem
from app.core.folders import ROOT
from app.core.yaml_file import YamlDocument, read_document
from app.course.kinds.base import Strict
from app.course.kinds.schema_errors import faults
from app.server.config import Settings

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
    try:
        file = PackFile.model_validate(document.values)
    except ValidationError as error:
        found = faults(error, document.values, PackFile)
        raise ContentError([document.problem(*fault) for fault in found]) from error
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
        name = pack.file.name if pack.file else str(folder)
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
