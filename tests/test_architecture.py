"""Arrows between rooms point down only."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from app.config import ROOT

APP = ROOT / "app"
# Each room, and the rooms below it that it may import from.
LEAVES = {"errors", "units", "config", "metrics", "quotation", "translation", "validation"}
CORE = LEAVES | {"formulas", "expressions", "kinds", "markdown", "yaml_file", "sandbox", "content"}
SERVER = CORE | {
    "aside",
    "network",
    "charts",
    "db",
    "explorers",
    "federation",
    "labs",
    "learning",
    "people",
    "published",
    "site",
    "templating",
    "translation",
}
MAY: dict[str, set[str]] = {
    "quotation": set(),
    "validation": {"errors", "quotation"},
    "errors": {"quotation", "translation"},
    "units": {"translation"},
    "metrics": set(),
    "translation": {"quotation"},
    "config": {"errors", "validation"},
    "aside": {"errors", "translation"},
    "network": {"aside", "config", "errors", "metrics", "translation"},
    "markdown": set(),
    "templating": {"config", "errors", "translation"},
    "yaml_file": {"errors"},
    "formulas": {"translation", "units"},
    "simulators": {"quotation", "translation", "units"},
    "charts": {"units", "simulators", "templating", "translation"},
    "expressions": {"translation", "errors", "units", "formulas"},
    "db": {"errors", "config", "metrics"},
    "sandbox": {"aside", "errors", "units", "config", "metrics"},
    "kinds": {
        "aside",
        "quotation",
        "translation",
        "errors",
        "units",
        "formulas",
        "expressions",
        "measurements",
        "sandbox",
        "searching",
        "simulators",
        "validation",
    },
    "content": {"translation", "config", "errors", "expressions", "formulas", "kinds", "yaml_file"},
    "learning": {"translation", "content", "kinds"},
    "people": {"translation", "config", "content", "db", "errors", "kinds", "sandbox"},
    "federation": {"translation", "config", "db", "errors", "metrics", "network", "people"},
    "published": {"errors", "formulas", "units", "validation", "yaml_file"},
    "explorers": {"translation", "charts", "errors", "formulas", "published", "simulators", "units"},
    "searching": {"formulas", "translation", "units"},
    "illustrations": CORE - {"content", "markdown", "sandbox", "yaml_file"} | {"charts", "simulators"},
    "measurements": {"errors", "formulas", "quotation", "translation", "units"},
    "predicting": {"errors", "formulas", "translation", "units"},
    "labs": {"translation", "config", "db", "errors", "expressions", "formulas", "measurements", "metrics"}
    | {"units", "validation", "yaml_file"},
    "site": {"aside", "config", "content", "db", "federation", "labs", "network", "people", "sandbox"}
    | {"translation"},
    "grading": {"aside", "config", "content", "db", "errors", "kinds", "metrics", "sandbox", "site"}
    | {"quotation", "validation"},
    "web": SERVER | {"grading", "illustrations", "measurements", "searching", "simulators"},
    "api": SERVER | {"grading", "predicting"},
    "main": SERVER | {"api", "web"},
    "authoring": CORE
    | {"aside", "charts", "explorers", "illustrations", "labs", "main", "site", "web"}
    | {"translation"},
    "exporting": SERVER | {"main", "measurements", "web"},
    "commands": SERVER
    | {"authoring", "exporting", "grading", "main", "measurements", "predicting", "searching", "simulators"},
    "__main__": {"errors", "commands"},
}
BROWSER = APP / "exporting" / "browser"  # stands in for rooms and packages, in a browser
FILES = [path for path in sorted(APP.rglob("*.py")) if "bundle" not in path.parts and BROWSER not in path.parents]
LONGEST = 600  # lines; about 400 unless it is one thing
# What routes alone know, of which views get plain values.
OF_ROUTES = {"fastapi", "starlette", "sqlalchemy", "sqlmodel", "app.site", "app.db.session"}


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


def test_a_room_imports_only_what_lies_below() -> None:
    upward = {
        str(path.relative_to(APP)): above
        for path in FILES
        if room(path) != "__init__"
        if (above := imported(path) - {room(path)} - MAY[room(path)])
    }
    assert upward == {}


def test_an_oracle_imports_no_formula() -> None:
    """Two derivations that share code share mistakes."""
    oracles = sorted((ROOT / "tests" / "oracles").rglob("*.py"))
    above = {str(path): imported(path) - {"simulators"} - MAY["simulators"] for path in oracles}
    assert len(above) > 20
    assert {path: rooms for path, rooms in above.items() if rooms} == {}


def test_a_simulator_that_only_tests_need_is_one_of_their_oracles() -> None:
    simulators = {dotted(path) for path in FILES if room(path) == "simulators"}
    needed: set[str] = set()
    further = set().union(*(found for name, found in arrows().items() if name not in simulators))
    while further := (further & simulators) - needed:
        needed |= further
        further = set().union(*(arrows()[name] for name in further))
    packages = {dotted(path) for path in FILES if path.name == "__init__.py"}
    assert simulators - packages - needed == set()


def test_a_file_is_short() -> None:
    lines = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path: count for path, count in lines.items() if count > LONGEST} == {}


def test_a_view_of_a_page_knows_neither_request_nor_site_nor_session() -> None:
    views = [path for path in (APP / "web").rglob("*.py") if is_view(path)]
    assert len(views) > 20
    found = {str(path.relative_to(APP)): packages(path) & OF_ROUTES for path in views}
    assert {path: known for path, known in found.items() if known} == {}


def is_view(path: Path) -> bool:
    """Whether a module of web is one that turns plain values into a page."""
    return path.stem == "view" or path.stem.endswith("_view") or "views" in path.with_suffix("").parts


def packages(path: Path) -> set[str]:
    """The packages that *path* imports, and the modules of the app."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    found |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    return {name if name.startswith("app.") else name.partition(".")[0] for name in found}


def test_what_runs_in_the_sandbox_needs_the_standard_library_alone() -> None:
    for path in (APP / "sandbox" / "guest").glob("*.py"):
        assert imported(path) == set()
    for name in ("worker", "lockdown", "engine", "build"):
        assert imported(APP / "sandbox" / f"{name}.py") == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    TopologicalSorter(arrows()).prepare()  # raises CycleError, which names the circle


def test_no_folder_imports_itself_by_way_of_others() -> None:
    folders = {dotted(path) for path in FILES if path.name == "__init__.py"}
    rings = {folder: ring for folder in folders if (ring := ring_in(folder))}
    assert rings == {}


@cache
def arrows() -> dict[str, set[str]]:
    """The modules that each module imports, by their dotted names."""
    names = {dotted(path): path for path in FILES}
    return {name: modules(path, set(names)) - {name} for name, path in names.items()}


def ring_in(folder: str) -> list[str]:
    """Folders and modules of *folder* that import each other in a ring; empty if none do."""
    inside: dict[str, set[str]] = {}
    for name, imported_names in arrows().items():
        if child := child_of(folder, name):
            children = {child_of(folder, other) for other in imported_names}
            inside.setdefault(child, set()).update(children - {child, ""})
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1]
        return ring
    return []


def child_of(folder: str, name: str) -> str:
    """The folder or module of *folder* that the module *name* is or lies in; empty if none is."""
    if name == folder:
        return f"{folder}.__init__"
    inside = name.removeprefix(f"{folder}.")
    return "" if inside == name else f"{folder}.{inside.partition('.')[0]}"


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
