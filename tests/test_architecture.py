"""Arrows between rooms point down only."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from app.core.folders import ROOT

APP = ROOT / "app"
# Each part of the house, and the parts below it that it may import.
PARTS: dict[str, set[str]] = {
    "core": set(),
    "server": {"core"},
    "course": {"core", "server"},
    "labs": {"core", "server"},
    "site": {"core", "server", "course", "labs"},
    "classes": {"core", "server", "course", "site"},
    "main": {"core", "server", "course", "labs", "site"},
    "authoring": {"core", "server", "course", "labs", "site", "main"},
    "exporting": {"core", "server", "course", "labs", "site", "main"},
    "commands": {"core", "server", "course", "labs", "site", "classes", "main", "authoring", "exporting"},
    "client": {"course", "server", "site"},
    "__main__": {"core", "commands"},
}
# Each room of a part, and the rooms of the same part that it may import.
ROOMS: dict[str, dict[str, set[str]]] = {
    "core": {
        "folders": set(),
        "line_reader": set(),
        "quotation": set(),
        "translation": {"quotation"},
        "errors": {"translation"},
        "validation": {"errors", "quotation"},
        "units": {"translation"},
        "yaml_file": {"errors"},
        "templating": {"errors", "folders", "translation"},
        "formulas": {"translation", "units"},
        "simulators": {"quotation", "translation", "units"},
        "searching": {"formulas", "translation", "units"},
        "predicting": {"errors", "formulas", "searching", "translation", "units"},
        "expressions": {"errors", "formulas", "translation", "units"},
        "measurements": {"errors", "formulas", "quotation", "translation", "units"},
        "published": {"errors", "formulas", "predicting", "units", "validation", "yaml_file"},
        "charts": {"simulators", "templating", "translation", "units"},
        "motions": {"charts", "simulators", "translation"},
    },
    "server": {
        "aside": set(),
        "cache": set(),
        "config": set(),
        "metrics": set(),
        "db": {"metrics"},
        "network": {"aside", "config", "metrics"},
    },
    "course": {
        "explorers": set(),
        "sandbox": set(),
        "kinds": {"sandbox"},
        "illustrations": {"kinds"},
        "content": {"kinds"},
        "learning": {"content", "kinds"},
    },
    "site": {
        "members": set(),
        "markdown": set(),
        "labs": set(),
        "grading": {"members"},
        "api": {"grading", "markdown", "members"},
        "web": {"grading", "labs", "markdown", "members"},
        "part": {"members", "web"},
    },
    "classes": {
        "people": set(),
        "federation": {"people"},
        "members": {"federation", "people"},
        "api": {"members", "people"},
        "pages": {"federation", "members", "people"},
        "part": {"api", "federation", "members", "pages"},
    },
}
BROWSER = APP / "exporting" / "browser"  # stands in for rooms and packages, in a browser
FILES = [path for path in sorted(APP.rglob("*.py")) if "bundle" not in path.parts and BROWSER not in path.parents]
PAGES = {APP / "site" / "web", APP / "classes" / "pages"}
LONGEST = 600  # lines; about 400 unless it is one thing
# Lines of all modules of app, with 2 % of room: a change that raises it says what it takes out.
MOST_LINES = 114_000
# What routes alone know, of which views get plain values.
OF_ROUTES = {"fastapi", "starlette", "sqlalchemy", "sqlmodel", "app.site", "app.server.db.session"}


def part(name: str) -> str:
    """The part of the house that a module lies in: `core` for app.core.units.reader."""
    return name.split(".")[1] if "." in name else ""


def room(name: str) -> str:
    """The room in its part that a module lies in; empty for the package of the part itself."""
    return name.split(".")[2] if name.count(".") > 1 else ""


def imported(path: Path) -> set[str]:
    """The modules of the app that *path* imports, as it names them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "app":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "app"}
    return found


def test_a_part_imports_only_parts_below() -> None:
    upward = {
        name: above
        for name, others in arrows().items()
        if part(name)
        if (above := {part(other) for other in others} - {part(name), ""} - PARTS[part(name)])
    }
    assert upward == {}


def test_a_room_imports_only_rooms_below() -> None:
    upward = {
        name: above
        for name, others in arrows().items()
        if (rooms := ROOMS.get(part(name))) and room(name)
        if (
            above := {room(other) for other in others if part(other) == part(name)}
            - {room(name), ""}
            - rooms[room(name)]
        )
    }
    assert upward == {}


def test_every_room_is_in_the_table() -> None:
    found = {(part(name), room(name)) for name in arrows() if part(name) in ROOMS and room(name)}
    assert found == {(name, one) for name, rooms in ROOMS.items() for one in rooms}
    assert {part(name) for name in arrows()} - {""} == set(PARTS)


def test_an_oracle_imports_no_formula() -> None:
    """Two derivations that share code share mistakes."""
    oracles = sorted((ROOT / "tests" / "oracles").rglob("*.py"))
    assert len(oracles) > 20
    may = {"simulators", *ROOMS["core"]["simulators"]}
    above = {
        str(path): others
        for path in oracles
        if (others := {one for one in imported(path) if part(one) != "core" or room(one) not in may})
    }
    assert above == {}


def test_a_simulator_that_only_tests_need_is_one_of_their_oracles() -> None:
    simulators = {name for name in map(dotted, FILES) if name.startswith("app.core.simulators")}
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


def test_the_house_does_not_grow() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in APP.rglob("*.py"))
    assert lines <= MOST_LINES, "take something out, or say in the commit why it earns its place"


def test_a_view_of_a_page_knows_neither_request_nor_site_nor_session() -> None:
    views = [path for path in FILES if PAGES & set(path.parents) and is_view(path)]
    assert len(views) > 9
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
    for path in (APP / "course" / "sandbox" / "guest").glob("*.py"):
        assert imported(path) == set()
    for name in ("worker", "lockdown", "engine", "build"):
        assert imported(APP / "course" / "sandbox" / f"{name}.py") == set()


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
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "LateModule":
            found.add(ast.unparse(node.args[0]).strip("'"))
    return found & known
