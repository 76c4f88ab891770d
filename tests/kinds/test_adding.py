"""A new kind touches at most six files, and nothing else asks for a kind by its name."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.kinds import KINDS
from tests.each import each

FOLDERS = [ROOT / name for name in ("app", "templates", "static")]
SUFFIXES = {".py", ".html", ".js", ".yaml"}
FILES = [
    path
    for folder in FOLDERS
    for path in sorted(folder.rglob("*"))
    if path.suffix in SUFFIXES and not {"vendor", "bundle"} & set(path.parts)
]
OWN_ROOMS = {"kinds", "code", "views", "starters", "static"}
MOST = 6
A_TABLE = 3  # names of kinds that one file quotes


def own_files(name: str) -> set[Path]:
    """The files that are called after the kind."""
    return {path for path in FILES if path.stem == name and path.parent.name in OWN_ROOMS}


def importers(name: str) -> set[Path]:
    """The modules that import the class of the kind, but for those that no kind has to have.

    These are checks of what authors write, and pages that are called after their only kind.
    """
    kind = KINDS[name]
    known = {path for path, *what in imports() if what == [kind.__module__, kind.__name__]}
    return {path for path in known if name not in path.stem or path.parent.name in OWN_ROOMS}


@cache
def imports() -> frozenset[tuple[Path, str | None, str]]:
    """What modules import: which module, from where, what."""
    return frozenset(
        (path, node.module, alias.name)
        for path in FILES
        if path.suffix == ".py" and path.parent.name != "authoring"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


@each("name", KINDS)
def test_a_kind_is_known_to_few_files(name: str) -> None:
    found = own_files(name) | importers(name)
    assert len(found) <= MOST, sorted(str(path.relative_to(ROOT)) for path in found)


def comparisons(path: Path) -> Iterator[str]:
    """Where *path* compares `kind` with the name of one."""
    text = path.read_text(encoding="utf-8")
    names = "|".join(KINDS)
    for found in re.finditer(rf"\bkind\b\s*(?:[!=]==?|in\s*[({{\[])\s*[\"'](?:{names})\b", text):
        yield found[0]


def test_no_file_compares_the_name_of_a_kind() -> None:
    found = {str(path.relative_to(ROOT)): list(comparisons(path)) for path in FILES}
    assert {path: texts for path, texts in found.items() if texts} == {}


def quoted(path: Path) -> set[str]:
    """The kinds whose names *path* quotes, as the keys of a table would."""
    text = re.sub(r'class="[^"]*"', "", path.read_text(encoding="utf-8"))
    return {name for name in KINDS if re.search(rf"""["']{name}["']""", text)}


def test_no_file_has_a_table_of_kinds() -> None:
    tables = {str(path.relative_to(ROOT)) for path in FILES if len(quoted(path)) >= A_TABLE}
    assert tables == set()


@each("name", KINDS)
def test_a_kind_has_a_title_a_sample_a_starter_and_a_form(name: str, catalog: Catalog) -> None:
    kind = KINDS[name]
    assert kind.kind_title
    assert catalog.exercise(kind.sample).kind == name
    for file in (f"kinds/{name}.html", f"starters/{name}.yaml"):
        assert (ROOT / "templates" / file).exists()
