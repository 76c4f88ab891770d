"""Python for browsers: fetched from npm once, checked, and made small."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from app.core.errors import InputError, UnavailableError
from app.exporting.bytecode import Compiler
from app.exporting.wheels import browser_wheels

VERSION = "314.0.7"
PACKAGE = f"pyodide-{VERSION}.tgz"
_DIGEST = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
_REGISTRY = "https://registry.npmjs.org"
_PATIENCE = 120  # seconds
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
    """The files of Python for browsers: its loader and glue, which are scripts, and the rest.

    *lock* says for what it was built, as JSON. *wheels* are packages that are compiled for it.
    """

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
        files = {name: _member(packed, name) for name in _NAMES}
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
    cache.mkdir(parents=True, exist_ok=True)
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


def _member(packed: tarfile.TarFile, name: str) -> bytes:
    file = packed.extractfile(f"package/{name}")
    if file is None:
        raise UnavailableError(f"{PACKAGE} has no {name}")
    return file.read()


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
