"""Which modules the desk in a browser needs, found by their imports."""

import ast
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import app
from app.exporting.python import licenses_of

BROWSER = Path(__file__).parent / "browser"
START = "app.desk"
# Found by name while it runs, not by an import.
_NAMED = (
    "app.site.web.home.page", "app.site.web.course.chapter", "app.site.web.course.placement",
    "app.site.web.exercise.routes", "app.site.web.exercise.pad", "app.site.web.explore.explorer_page",
    "app.site.web.explore.explorer_page", "app.site.web.labs.run",
    "app.site.web.reference.hardware",
    "app.site.web.search.page", "app.site.web.progress.routes", "app.site.web.reference.errata",
    "app.site.web.reference.errata", "app.exporting.omissions", "app.exporting.skeletons",
    "app.labs.evidence.faults",
    "app.core.published.sources",
)  # fmt: skip
# Packages that list their own modules.
_LISTED = ("app.core.formulas", "app.course.explorers", "app.course.illustrations", "app.site.web.exercise.views")
# Pure Python, taken as it is installed.
_PACKAGES = ("fsrs", "jinja2", "markdown_it", "markupsafe", "mdit_py_plugins", "mdurl", "pygments")
_DISTRIBUTIONS = {"markdown_it": "markdown-it-py", "mdit_py_plugins": "mdit-py-plugins"}
_PYTHON_LICENSE = """Pyodide
-------
Pyodide is subject to the Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/; its source is at
https://github.com/pyodide/pyodide. It contains Python, under the license of the Python Software
Foundation, https://docs.python.org/3/license.html. Some modules of its library are left out."""
_ROOMS = Path(app.__file__).parent


def modules() -> Mapping[str, Path]:
    """Every module of the project that the desk needs, by its dotted name."""
    found: dict[str, Path] = {}
    waiting = [START, *_NAMED, *(name for package in _LISTED for name in _inside(package))]
    while waiting:
        name = waiting.pop()
        if name in found or not name.startswith("app"):
            continue
        path = _file(name)
        if path is None:
            continue
        found[name] = path
        waiting += [name.rpartition(".")[0], *_imports(path)]
    return dict(sorted(found.items()))


def packages() -> Iterator[tuple[str, Path]]:
    """Every file of the packages that the desk imports, by its path in the archive."""
    for folder in (BROWSER / "packages",):
        yield from ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py"))
    for package in _PACKAGES:
        spec = find_spec(package)
        for place in spec.submodule_search_locations or () if spec else ():
            root = Path(place)
            for path in sorted(root.rglob("*.py")):
                if _is_needed(path.relative_to(root.parent).as_posix()):
                    yield path.relative_to(root.parent).as_posix(), path


def licenses(wheels: Mapping[str, bytes]) -> str:
    """The licenses of Python for browsers, and of every package that goes with the course."""
    texts = [_PYTHON_LICENSE]
    for package in _PACKAGES:
        files = metadata.files(_DISTRIBUTIONS.get(package, package)) or ()
        found = (file.read_text() for file in files if "LICENSE" in file.name.upper())
        texts.append("\n".join([package, "-" * len(package), *found]))
    return "\n\n".join([*texts, *licenses_of(wheels)])


def _is_needed(name: str) -> bool:
    """Whether a file of a package is used: of pygments, the lexer of Python and HTML alone."""
    if name.startswith("pygments/"):
        return name in _OF_PYGMENTS
    if name.startswith("mdit_py_plugins/"):
        return name.count("/") == 1 or name.split("/")[1] in ("anchors", "dollarmath")
    return name not in _NOT_USED and "/cli/" not in name


_OF_PYGMENTS = {
    f"pygments/{name}.py"
    for name in (
        "__init__", "filter", "filters/__init__", "formatter", "formatters/__init__",
        "formatters/_mapping", "formatters/html", "lexer", "lexers/__init__", "lexers/_mapping",
        "lexers/python", "modeline", "plugin", "regexopt", "style", "styles/__init__",
        "styles/_mapping", "styles/default", "token", "unistring", "util",
    )
}  # fmt: skip
_NOT_USED = {"fsrs/optimizer.py", "jinja2/sandbox.py", "jinja2/meta.py"}


def _file(name: str) -> Path | None:
    """The file of a module: that for browsers, where there is one."""
    inside = Path(*name.split(".")[1:])
    for root in (BROWSER / "rooms", _ROOMS):
        for path in (root / inside / "__init__.py", (root / inside).with_suffix(".py")):
            if path.is_file():
                return path
    return None


def _inside(package: str) -> Iterator[str]:
    """The modules of a *package*, and of those in it."""
    root = _ROOMS.joinpath(*package.split(".")[1:])
    for path in root.rglob("*.py"):
        name = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
        yield f"{package}.{name}".removesuffix(".__init__")


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def outside() -> set[str]:
    """The names of packages that the modules import, besides the standard library."""
    names = {name.partition(".")[0] for path in modules().values() for name in _imports(path)}
    return {name for name in names if name not in sys.stdlib_module_names and name != "app"}
