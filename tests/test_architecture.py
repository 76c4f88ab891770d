"""Arrows between rooms point down only."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from app.config import ROOT

APP = ROOT / "app"
LEAVES = {"errors", "units", "config"}
CORE = LEAVES | {"formulas", "expressions", "kinds", "markdown", "yaml_file", "sandbox", "catalog"}
SERVER = CORE | {
    "allowance",
    "network",
    "charts",
    "db",
    "dispatch",
    "errata",
    "explorers",
    "glossary",
    "labs",
    "learning",
    "site",
    "templating",
}
MAY: dict[str, set[str]] = {
    "errors": set(),
    "units": set(),
    "config": {"errors"},
    "allowance": {"config"},
    "network": {"config"},
    "markdown": set(),
    "templating": {"config"},
    "yaml_file": {"errors"},
    "formulas": {"units"},
    "simulators": {"units"},
    "errata": {"errors", "expressions", "yaml_file"},
    "glossary": {"errors", "yaml_file"},
    "charts": {"units", "simulators", "templating"},
    "expressions": {"errors", "units", "formulas"},
    "db": {"errors", "config"},
    "sandbox": {"errors", "units", "config"},
    "kinds": {"errors", "units", "formulas", "expressions", "sandbox"},
    "catalog": {"errors", "kinds", "yaml_file"},
    "packs": {"config", "errors"},
    "authoring": {
        "config",
        "errata",
        "errors",
        "explorers",
        "expressions",
        "formulas",
        "glossary",
        "kinds",
        "labs",
        "markdown",
        "units",
    },
    "proofs": {
        "authoring",
        "errors",
        "explorers",
        "expressions",
        "formulas",
        "kinds",
        "labs",
        "markdown",
        "sandbox",
    },
    "lint": {
        "authoring",
        "catalog",
        "config",
        "errors",
        "expressions",
        "kinds",
        "markdown",
        "proofs",
        "sandbox",
    },
    "learning": {"catalog", "kinds"},
    "explorers": {"charts", "errors", "formulas", "simulators", "units"},
    "labs": {"config", "errors", "expressions", "units", "yaml_file"},
    "dispatch": {"config", "db", "errors", "labs"},
    "site": {"allowance", "catalog", "config", "db", "dispatch", "sandbox"},
    "grading": {"catalog", "config", "db", "errors", "kinds", "sandbox", "site"},
    "web": SERVER | {"grading"},
    "api": SERVER | {"grading"},
    "main": SERVER | {"api", "packs", "web"},
    "preview": SERVER | {"lint", "main", "web"},
    "commands": SERVER
    | {"main", "preview", "packs", "lint", "grading", "charts", "labs", "simulators"},
    "__main__": {"errors", "commands"},
}
FILES = [path for path in sorted(APP.rglob("*.py")) if "bundle" not in path.parts]


def room(path: Path) -> str:
    return path.relative_to(APP).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The rooms that *path* imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("app"):
            parts = node.module.split(".")[1:]
            found |= {parts[0]} if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("app.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(APP)))
def test_a_room_imports_only_what_lies_below(path: Path) -> None:
    own = room(path)
    if own == "__init__":
        return
    assert imported(path) - {own} <= MAY[own]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(APP)))
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_what_runs_in_the_sandbox_needs_the_standard_library_alone() -> None:
    for path in (APP / "sandbox" / "guest").glob("*.py"):
        assert imported(path) == set()
    for name in ("worker", "lockdown", "engine", "build"):
        assert imported(APP / "sandbox" / f"{name}.py") == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {dotted(path): path for path in FILES}
    arrows = {name: modules(path, set(names)) - {name} for name, path in names.items()}
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names the circle


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def modules(path: Path, known: set[str]) -> set[str]:
    """Which *known* modules *path* imports, or something from; inside of functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else node.module for name in inside}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known
