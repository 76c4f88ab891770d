"""Python for browsers: fetched once, compiled, with the packages and modules that an export needs."""

import ast
import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import app
from app.core.errors import InputError, UnavailableError

PLATFORM = "pyemscripten_2026_0_wasm32"  # of the Pyodide that an export has
# What pydantic is made of, with the digests of its wheels (SHA-256).
WHEELS = {
    "annotated_types-0.8.0-py3-none-any.whl": "f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0",
    "pydantic-2.14.4-py3-none-any.whl": ("653a2ad9f6d8858529c77c72717d0ea991d6c6837fe683246b2f4b2bbfc3fadc"),
    f"pydantic_core-2.50.5-cp314-cp314-{PLATFORM}.whl": (
        "b2910ec0fa5aeb9bef70156f2b79f4783978fdcfaa7b2f1b5d1814458d2e79a1"
    ),
    "typing_extensions-4.16.0-py3-none-any.whl": ("481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"),
    "typing_inspection-0.4.5-py3-none-any.whl": ("bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39"),
}
_PATIENCE = 120  # seconds
# Of pydantic: what neither an exercise nor a file of progress needs.
_LEFT_OUT = ("pydantic/v1/", "pydantic/experimental/", "pydantic/mypy.py")


def packages_of(wheels: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The modules in *wheels*, by their paths."""
    for wheel in wheels.values():
        with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
            for name in packed.namelist():
                if name.endswith((".py", ".so")) and not name.startswith(_LEFT_OUT):
                    yield name, packed.read(name)


def licenses_of(wheels: Mapping[str, bytes]) -> Iterator[str]:
    """The licenses in *wheels*, each under the name of its package."""
    for file, wheel in wheels.items():
        package = file.partition("-")[0]
        with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
            texts = [packed.read(n).decode() for n in packed.namelist() if "/licenses/" in n]
        yield "\n".join([package, "-" * len(package), *texts])


def browser_wheels(cache: Path, folder: Path | None = None) -> Mapping[str, bytes]:
    """The wheels by name, from *folder* if one is given, or fetched into *cache* once.

    Raises:
        InputError: the folder lacks one, or has another one than this version needs.
        UnavailableError: they cannot be fetched.
    """
    found = _right_wheels(folder or cache / "wheels")
    if len(found) < len(WHEELS) and not folder:
        _fetch(cache / "wheels")
        found = _right_wheels(cache / "wheels")
    if missing := min(WHEELS.keys() - found.keys(), default=""):
        if not folder:
            raise UnavailableError(f"what pip fetched as {missing} has another digest: try again")
        if (folder / missing).is_file():
            raise InputError(f"{folder / missing} is not that of PyPI: its digest is another")
        raise InputError(f"{folder / missing} is missing: `{_command('.')}` fetches it")
    return found


def _right_wheels(folder: Path) -> Mapping[str, bytes]:
    """Those in *folder* that have the right digests."""
    found = {name: (folder / name).read_bytes() for name in WHEELS if (folder / name).is_file()}
    return {name: content for name, content in found.items() if hashlib.sha256(content).hexdigest() == WHEELS[name]}


def _fetch(folder: Path) -> None:
    """Fetch the wheels into *folder* with pip, which knows the index of this machine.

    Raises:
        UnavailableError: pip is missing, or cannot fetch them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as unfinished:
        command = [sys.executable, "-m", *_command(unfinished).split()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)
        except (subprocess.SubprocessError, OSError) as error:
            raise UnavailableError(
                "pip cannot fetch the packages of Python for browsers: fetch them elsewhere with "
                f"`{_command('wheels')}`, and name the folder with --wheels"
            ) from error
        for path in Path(unfinished).iterdir():
            os.replace(path, folder / path.name)


def _command(folder: str) -> str:
    """The command that fetches the wheels into *folder*."""
    packages = " ".join("==".join(name.split("-")[:2]) for name in WHEELS)
    python = "--implementation cp --python-version 314 --abi cp314 --abi none"
    return (
        f"pip download --no-deps --only-binary=:all: --platform {PLATFORM} --platform any {python}"
        f" --dest {folder} {packages}"
    )


_BYTECODE_PATIENCE = 300  # seconds
_SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "./pyodide.mjs";
const python = await loadPyodide({ indexURL: process.cwd() + "/" });
python.FS.writeFile("/modules.zip", new Uint8Array(readFileSync("modules.zip")));
python.runPython(readFileSync("compile.py", "utf-8"));
writeFileSync("compiled.zip", python.FS.readFile("/compiled.zip"));
"""
_COMPILE = """
import types
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

# Where lines begin is half of a module, and nobody reads it: of a program of a learner, it is kept.
def short(code):
    inner = (short(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=tuple(inner))

# Texts of formulas are shown; those of other modules are not.
def compiled(name, source):
    level = 0 if name.startswith(("app/core/formulas/", "wallclock_packs/")) else 2
    code = compile(source, name, "exec", dont_inherit=True, optimize=level)
    return bytes(_code_to_hash_pyc(short(code), bytes(8), False))

with zipfile.ZipFile("/modules.zip") as read, zipfile.ZipFile("/compiled.zip", "w") as write:
    for member in read.infolist():
        name, content = member.filename, read.read(member)
        if name.endswith(".py"):
            name, content = name + "c", compiled(name, content)
        write.writestr(zipfile.ZipInfo(name), content)
"""


class Compiler:
    """Compiles archives with the Python in *files*, once for each *cache*; without Node, leaves them alone."""

    def __init__(self, files: Mapping[str, bytes], cache: Path) -> None:
        self._files = files
        self._cache = cache
        self._node = shutil.which("node")

    def compiled(self, archive: bytes) -> bytes:
        """The zip *archive* with compiled modules, which start sooner.

        Raises:
            UnavailableError: Node cannot do it.
        """
        if self._node is None:
            return archive
        node, digest = self._node, hashlib.sha256(archive + _COMPILE.encode()).hexdigest()[:24]
        return self.once(f"compiled-{digest}.zip", lambda: self._run(node, archive))

    def once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """What *make* returns, from the file *name* of the cache if it was made before."""
        kept = self._cache / name
        return kept.read_bytes() if kept.is_file() else _stored(kept, make())

    def _run(self, node: str, archive: bytes) -> bytes:
        with TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in self._files.items():
                (folder / file).write_bytes(content)
            (folder / "modules.zip").write_bytes(archive)
            (folder / "compile.py").write_text(_COMPILE)
            (folder / "run.mjs").write_text(_SCRIPT)
            try:
                subprocess.run(
                    [node, "run.mjs"], cwd=folder, check=True, capture_output=True, timeout=_BYTECODE_PATIENCE
                )
            except (subprocess.SubprocessError, OSError) as error:
                says = "Node cannot compile the course: use version 20 or newer"
                said = getattr(error, "stderr", None)
                cause = said.decode(errors="replace")[-500:] if isinstance(said, bytes) else str(error)
                raise UnavailableError(says, cause) from error
            return (folder / "compiled.zip").read_bytes()


VERSION = "314.0.7"
PACKAGE = f"pyodide-{VERSION}.tgz"
_DIGEST = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
_REGISTRY = "https://registry.npmjs.org"
_LARGEST = 64 << 20  # bytes of the package
_NAMES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# Of the standard library: what neither the course nor a program of an exercise may use.
LEFT_OUT = {
    "__hello__.py", "__phello__", "_pyio.py", "_pyrepl", "_ssl.py",
    "_sysconfigdata__emscripten_wasm32-emscripten.py", "antigravity.py", "argparse.py", "bdb.py",
    "cmd.py", "code.py", "colorsys.py", "compileall.py", "configparser.py", "cProfile.py",
    "ctypes", "doctest.py", "filecmp.py", "fileinput.py", "ftplib.py", "getopt.py",
    "getpass.py", "gettext.py", "http", "imaplib.py", "mailbox.py", "mimetypes.py",
    "modulefinder.py", "multiprocessing", "netrc.py", "nturl2path.py", "optparse.py", "pdb.py",
    "pickletools.py", "plistlib.py", "poplib.py", "profile.py", "pstats.py",
    "pty.py", "py_compile.py", "pyclbr.py", "pydoc.py", "rlcompleter.py", "runpy.py",
    "sched.py", "shelve.py", "smtplib.py", "socketserver.py", "sqlite3", "ssl.py", "symtable.py",
    "tabnanny.py", "this.py", "timeit.py", "trace.py", "tracemalloc.py", "tty.py",
    "unittest", "wave.py", "webbrowser.py", "wsgiref", "xml", "xmlrpc", "zipapp.py",
}  # fmt: skip
_ENCODINGS = (
    "__init__", "aliases", "ascii", "charmap", "cp437", "idna", "latin_1", "punycode",
    "raw_unicode_escape", "unicode_escape", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_8",
    "utf_8_sig",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrowserPython:
    """Python for browsers: its loader and glue, the rest, what it was built for, and wheels that were built for it."""

    loader: bytes
    glue: bytes
    wasm: bytes
    library: bytes
    lock: str
    wheels: Mapping[str, bytes]
    compiler: Compiler


def browser_python(cache: Path, package: Path | None = None, wheels: Path | None = None) -> BrowserPython:
    """Python for browsers, from the npm *package* and the folder of *wheels* where they are given.

    Else, they are fetched into *cache* once.

    Raises:
        InputError: the file is another one than this version needs.
        UnavailableError: it can neither be found nor fetched.
    """
    content = _read_python(package) if package else _cached(cache)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as packed:
        members = {name: packed.extractfile(f"package/{name}") for name in _NAMES}
        files = {name: member.read() for name, member in members.items() if member}
    compiler = Compiler(files, cache)
    loader, glue, wasm, library, lock = (files[name] for name in _NAMES)
    return BrowserPython(
        loader=_without_map(loader),
        glue=_without_map(glue),
        wasm=wasm,
        library=compiler.compiled(_small(library)),
        lock=json.dumps({"info": json.loads(lock)["info"], "packages": {}}),
        wheels=browser_wheels(cache, wheels),
        compiler=compiler,
    )


def _cached(cache: Path) -> bytes:
    """The package, stored in *cache*."""
    kept = cache / PACKAGE
    if kept.is_file() and _is_right(content := kept.read_bytes()):
        return content
    content = _fetched()
    if not _is_right(content):
        raise UnavailableError(f"what the registry gave as {PACKAGE} has another digest: try again")
    return _stored(kept, content)


def _stored(kept: Path, content: bytes) -> bytes:
    """*content*, which is in the file *kept* from now on."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(kept)
    return content


def _read_python(package: Path) -> bytes:
    try:
        content = package.read_bytes()
    except OSError as error:
        raise InputError(f"{package} cannot be read: {error.strerror}") from error
    if not _is_right(content):
        raise InputError(
            f"{package} is not {PACKAGE} of npm, which `npm pack pyodide@{VERSION}` writes: its digest is another"
        )
    return content


def _is_right(content: bytes) -> bool:
    return base64.b64encode(hashlib.sha512(content).digest()).decode() == _DIGEST


def _fetched() -> bytes:
    """The package from npm, which knows the registry of this machine; without npm, directly.

    Raises:
        UnavailableError: it cannot be fetched.
    """
    npm = shutil.which("npm")
    if npm is None:
        return _downloaded()
    with TemporaryDirectory() as folder:
        command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE, cwd=folder)
            return (Path(folder) / PACKAGE).read_bytes()
        except (subprocess.SubprocessError, OSError) as error:
            raise UnavailableError(f"npm cannot fetch {PACKAGE}: {_CURE}") from error


_CURE = f"fetch it elsewhere with `npm pack pyodide@{VERSION}`, and name the file with --pyodide"


def _downloaded() -> bytes:
    registry = os.environ.get("NPM_CONFIG_REGISTRY", _REGISTRY).rstrip("/")
    try:
        with urlopen(f"{registry}/pyodide/-/{PACKAGE}", timeout=_PATIENCE) as answer:
            content: bytes = answer.read(_LARGEST)
    except (URLError, OSError, ValueError) as error:
        raise UnavailableError(f"{PACKAGE} cannot be fetched from {registry}: {_CURE}") from error
    return content


def _without_map(script: bytes) -> bytes:
    return b"\n".join(line for line in script.split(b"\n") if b"sourceMappingURL=" not in line)


def _small(library: bytes) -> bytes:
    """The standard library without what is left out, as a zip that is compressed as a whole."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(library)) as whole, zipfile.ZipFile(file, "w") as small:
        for member in whole.infolist():
            if not member.is_dir() and _is_needed(member.filename):
                small.writestr(zipfile.ZipInfo(member.filename), whole.read(member))
    return file.getvalue()


def _is_needed(name: str) -> bool:
    first, _, rest = name.partition("/")
    if first == "encodings":
        return rest.removesuffix(".py") in _ENCODINGS
    return first not in LEFT_OUT and "/__main__" not in name


BROWSER = Path(__file__).parent / "browser"
START = "app.desk"
# Found by name while it runs, not by an import.
_NAMED = (
    "app.site.web.home.page", "app.site.web.course.chapter",
    "app.site.web.exercise.routes", "app.site.web.exercise.pad", "app.site.web.explore.explorer_page",
    "app.site.web.labs.run", "app.site.web.reference.formulas", "app.site.web.search.page",
    "app.site.web.progress.page", "app.site.web.reference.errata", "app.exporting.omissions",
    "app.exporting.skeletons", "app.labs.evidence.faults", "app.core.published.sources",
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
        if name in stand_ins():
            waiting += [stand_ins()[name], name.rpartition(".")[0]]
            continue
        path = _file(name)
        if path is None:
            continue
        found[name] = path
        waiting += [name.rpartition(".")[0], *imports_of(path)]
    return dict(sorted(found.items()))


@cache
def stand_ins() -> Mapping[str, str]:
    """The names under which a module for browsers is imported, beside its own, and that module."""
    found: dict[str, str] = {}
    for path in sorted((BROWSER / "rooms").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "IN_PLACE_OF":
                own = path.relative_to(BROWSER / "rooms").with_suffix("").as_posix().replace("/", ".")
                found |= dict.fromkeys(ast.literal_eval(node.value), f"app.{own}")
    return found


def packages() -> Iterator[tuple[str, Path]]:
    """Every file of the packages that the desk imports, by its path in the archive."""
    folder = BROWSER / "packages"
    yield from ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py"))
    for package in _PACKAGES:
        spec = find_spec(package)
        for place in spec.submodule_search_locations or () if spec else ():
            root = Path(place)
            for path in sorted(root.rglob("*.py")):
                if _modules_is_needed(path.relative_to(root.parent).as_posix()):
                    yield path.relative_to(root.parent).as_posix(), path


def licenses(wheels: Mapping[str, bytes]) -> str:
    """The licenses of Python for browsers, and of every package that goes with the course."""
    texts = [_PYTHON_LICENSE]
    for package in _PACKAGES:
        files = metadata.files(_DISTRIBUTIONS.get(package, package)) or ()
        found = (file.read_text() for file in files if "LICENSE" in file.name.upper())
        texts.append("\n".join([package, "-" * len(package), *found]))
    return "\n\n".join([*texts, *licenses_of(wheels)])


def _modules_is_needed(name: str) -> bool:
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


def imports_of(path: Path) -> Iterator[str]:
    """The names that the module at *path* imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
