"""`pack.yaml`: what a course pack says of itself and of the course around it."""

import os
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field, ValidationError

from app.core.errors import ContentError, Problem
from app.core.yaml_file import YamlDocument, read_document
from app.course.kinds.schema_errors import faults
from app.course.kinds.strict import Strict

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
