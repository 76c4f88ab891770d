"""Finds private names of dependencies and of the standard library in what Python files use.

Private is a name that begins with one underscore, and what the documentation of a dependency leaves
out: each module that `DOCUMENTED` does not list, and the names of `UNDOCUMENTED`.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from app.core.folders import ROOT

# What the documentation of a dependency names beside its top level: its modules.
DOCUMENTED = {
    "alembic": "command config context op script",
    "axe_playwright_python": "sync_playwright",
    "babel": "messages.catalog messages.extract messages.pofile",
    "cryptography": "x509 hazmat.primitives.hashes hazmat.primitives.serialization hazmat.primitives.asymmetric.ec",
    "django": "conf core.management http urls views.decorators.csrf",
    "fastapi": "concurrency exceptions responses routing security testclient",
    "fontTools": "ttLib",
    "hypothesis": "stateful strategies",
    "jinja2": "bccache nodes",
    "joserfc": "errors jwk jws jwt",
    "mdit_py_plugins": "anchors dollarmath",
    "msgspec": "json",
    "numpy": "linalg typing",
    "packaging": "requirements specifiers utils version markers",
    "playwright": "sync_api",
    "prometheus_client": "multiprocess parser",
    "pydantic": "fields json_schema",
    "pydantic_core": "core_schema",
    "pygments": "formatters lexers",
    "sqlalchemy": "dialects dialects.postgresql dialects.sqlite engine.interfaces event exc orm pool types",
    "starlette": "applications concurrency convertors datastructures exceptions "  # codespell:ignore
    "middleware.gzip requests responses routing types",
    "torch": "autograd autograd.graph backends backends.cuda cuda cuda.nccl distributed distributed.device_mesh "
    "distributed.fsdp distributed.optim distributed.pipelining distributed.tensor distributed.tensor.parallel "
    "futures linalg nn nn.attention nn.functional nn.init nn.parallel optim utils.checkpoint version",
    "wasmtime": "component",
}
# Documented, although the name looks private.
PUBLIC = frozenset(["os._exit", "sqlalchemy.Row._mapping", "torch.utils._python_dispatch.TorchDispatchMode"])
# Not documented, although the module is, and the name looks public.
UNDOCUMENTED = frozenset(["starlette.routing.Match", "starlette.routing.compile_path", "starlette.routing.get_name"])
# Programs that run elsewhere: the component of the sandbox, a browser, a server of Open edX.
ELSEWHERE = frozenset(("componentize_py_types", "js", "lti_consumer", "opaque_keys", "pyodide", "wit_world"))
# Of named tuples; of the rows of SQLAlchemy.
_ATTRIBUTES = frozenset(("_asdict", "_field_defaults", "_fields", "_make", "_replace", "_mapping"))
_OURS = frozenset(("app", "tests", "tools"))
_NOT_READ = frozenset(("bundle",))
_BY_NAME = frozenset(("attrgetter", "delattr", "getattr", "hasattr", "methodcaller", "object", "setattr"))
_BY_PATH = _BY_NAME | {"__import__", "find_spec", "import_module", "importorskip", "patch"}
_PATH = re.compile(r"\w+(\.\w+)*")


def files() -> Iterator[Path]:
    """The Python files of app, tests and the migrations."""
    for folder in (*_OURS, "alembic"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not _NOT_READ & set(path.parts):
                yield path


def is_private(name: str) -> bool:
    """Whether *name* begins with one underscore; those between two are of Enum, ctypes, Python."""
    return name.startswith("_") and not name.endswith("_")


class Module:
    """What a Python file of ours imports, defines and names."""

    def __init__(self, path: Path, source: str = "") -> None:
        self.path = path
        self.modules: set[str] = set()
        self.imports: dict[str, str] = {}
        self.own: set[str] = set()
        self.named: set[str] = set()
        self.classes: dict[str, Class] = {}
        nodes = list(ast.walk(ast.parse(source or path.read_text(encoding="utf-8"))))
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        for node in nodes:
            self.own |= {name for name in _defined(node) if is_private(name)}
            self.named |= set(_names(self, node))
            if isinstance(node, ast.ClassDef):
                private = {name for one in ast.walk(node) for name in _defined(one)}
                bases = tuple(filter(None, map(self.dotted, node.bases)))
                self.classes[node.name] = Class(bases, frozenset(filter(is_private, private)))

    def dotted(self, node: ast.AST) -> str:
        """The full name of *node* if it is of a module, otherwise nothing."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, f".{node.id}" if node.id in self.classes else "")
        if isinstance(node, ast.Attribute) and (of := self.dotted(node.value)):
            return f"{of}.{node.attr}"
        return ""

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            self.modules.add(str(node.module))
            found = {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        else:
            self.modules |= {one.name for one in node.names}
            tops = ((one, one.name.partition(".")[0]) for one in node.names)
            found = {one.asname or top: one.name if one.asname else top for one, top in tops}
        self.imports |= found


class Class(NamedTuple):
    """The classes that a class extends, and the private names that it defines."""

    bases: tuple[str, ...]
    private: frozenset[str]


@cache
def module(path: Path) -> Module:
    """The file *path*, read once."""
    return Module(path)


def uses(read: Module, known: Set[str]) -> set[str]:
    """The private names of others that *read* uses; *known* are those of ours that it may.

    What an object is that is no module or class cannot be told: of its attribute there is `?.name`.
    """
    found: set[str] = set()
    for name in read.named:
        last = name.rpartition(".")[2]
        if not name.startswith(("?", ".")):
            found |= set(_private_part(name))
        elif is_private(last) and last not in known | _ATTRIBUTES:
            found.add(f"?.{last}")
    for one in read.classes.values():
        found |= set(_overridden(read, one))
    return {one for one in found if not any(other.startswith(f"{one}.") for other in found)}


def known_in(read: Module) -> set[str]:
    """The private names of ours that *read* may use: its own and those of what it imports.

    A test may look at whatever is in the app.
    """
    names = read.own.copy()
    for one in read.imports.values():
        names |= _own_names().get(one, set()) | _own_names().get(one.rpartition(".")[0], set())
    return names | (_names_of_app() if read.path.is_relative_to(ROOT / "tests") else set())


@cache
def _own_names() -> dict[str, set[str]]:
    """The private names that each module of ours defines."""
    paths = {path.relative_to(ROOT).with_suffix(""): path for path in files()}
    names = {".".join(path.parts).removesuffix(".__init__"): path for path in paths}
    return {name: module(paths[path]).own for name, path in names.items()}


@cache
def _names_of_app() -> set[str]:
    return set().union(*(own for one, own in _own_names().items() if one.startswith("app.")))


def _defined(node: ast.AST) -> Iterator[str]:
    """The name that *node* defines, if it does."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
        yield node.attr


def _names(read: Module, node: ast.AST) -> Iterator[str]:
    """What *node* names, in full where it can be told."""
    match node:
        case ast.ImportFrom(module=of, names=names):
            yield from (f"{of}.{one.name}" for one in names)
        case ast.Import(names=names):
            yield from (one.name for one in names)
        case ast.Attribute():
            yield read.dotted(node) or f"?.{node.attr}"
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in _BY_PATH:
            yield from _in_text(read, called, node.args)
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=ast.Constant(value=str(name))):
            yield name
        case ast.Subscript(value=of, slice=ast.Constant(value=str(name))) if _is_namespace(of):
            yield f"?.{name}"


def _in_text(read: Module, called: str, given: Sequence[ast.expr]) -> Iterator[str]:
    """A name that a call like `getattr` is given as a text."""
    match given:
        case [of, ast.Constant(value=str(name)), *_] if called in _BY_NAME and name.isidentifier():
            yield f"{read.dotted(of) or '?'}.{name}"
        case [ast.Constant(value=str(name)), *_] if _PATH.fullmatch(name):
            yield name if "." in name or called not in _BY_NAME else f"?.{name}"


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _is_namespace(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="vars")) | ast.Attribute(attr="__dict__"):
            return True
    return False


def _private_part(name: str) -> Iterator[str]:
    """*name* up to what is private in it, if something is."""
    parts = name.split(".")
    if parts[0] in _OURS | ELSEWHERE or any(f"{name}.".startswith(f"{one}.") for one in PUBLIC):
        return
    depth = next((n for n in range(len(parts), 1, -1) if _is_module(tuple(parts[:n]))), 1)
    hidden = [n for n, part in enumerate(parts, 1) if is_private(part) and part not in _ATTRIBUTES]
    inside = ".".join(parts[1:depth])
    listed = parts[0] in sys.stdlib_module_names or inside in DOCUMENTED.get(parts[0], "").split()
    if hidden and hidden[0] > depth:
        yield ".".join(parts[: hidden[0]])
    elif hidden or (inside and not listed) or ".".join(parts[: depth + 1]) in UNDOCUMENTED:
        yield ".".join(parts[: depth + 1])


@cache
def _is_module(parts: tuple[str, ...]) -> bool:
    """Whether that is a module of a package; nothing is imported."""
    spec = find_spec(parts[0]) if parts[0] not in sys.builtin_module_names else None
    for place in (spec and spec.submodule_search_locations) or ():
        path = Path(place, *parts[1:])
        if path.is_dir() or path.with_suffix(".py").is_file() or list(path.parent.glob(f"{path.name}.*.so")):
            return True
    return False


def _overridden(read: Module, one: Class) -> Iterator[str]:
    """Private names that a class of *read* has in common with a class of others that it extends."""
    for base in set(_foreign_bases(read, one)) if one.private else ():
        yield from (f"{base}.{name}" for name in one.private & _names_in(base) - _ATTRIBUTES)


def _foreign_bases(read: Module, one: Class) -> Iterator[str]:
    for name in one.bases:
        of, _, last = name.rpartition(".")
        place = ROOT / of.replace(".", "/")
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not of:
            yield from _foreign_bases(read, read.classes[last])
        elif name.partition(".")[0] not in _OURS:
            yield name
        elif path.is_file():
            other = module(path)
            known = other.classes.get(last) or Class((other.imports.get(last, ""),), frozenset())
            yield from _foreign_bases(other, known) if any(known.bases) else ()


@cache
def _names_in(dotted: str) -> set[str]:
    of, _, name = dotted.rpartition(".")
    try:
        return names_of(getattr(import_module(of), name, None))
    except ImportError:  # it runs elsewhere
        return set()


def names_of(found: object) -> set[str]:
    """The names in *found*, and if it is a class, those that its functions use."""
    names = set(dir(found))
    for one in getattr(found, "__mro__", ()):
        for each in vars(one).values():
            names |= set(getattr(getattr(each, "__code__", None), "co_names", ()))
    return names
