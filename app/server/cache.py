"""Values in files of the cache folder, so that what has not changed is not computed again.

A file holds one value and the key that it belongs to: a digest of the code and of everything that the value was
computed from. One with another key is not read, one that is damaged is ignored, and all of them may be deleted at any
time. A value is a pickle, which could run code: as with the native code of the sandbox beside it, nothing is loaded
that another user could have written, and only classes of Wallclock and plain ones of libraries are created.
"""

import hashlib
import importlib
import io
import os
import pickle
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pydantic
import pydantic_core
import yaml

from app.core.errors import UnavailableError

_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = (pydantic.VERSION, pydantic_core.__version__, yaml.__version__)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_CREATED = {
    "builtins": {"frozenset", "set"},
    "collections": {"defaultdict"},
    "pathlib": {"PosixPath", "WindowsPath"},
    "pathlib._local": {"PosixPath", "WindowsPath"},  # Python 3.13
    "pydantic.networks": {"HttpUrl"},
    "pydantic_core._pydantic_core": {"Url"},
}
# What a file that someone else wrote in our name may raise.
_DAMAGED = (
    ArithmeticError, AttributeError, EOFError, ImportError, LookupError, MemoryError, pickle.UnpicklingError,
    RecursionError, TypeError, ValueError,
)  # fmt: skip
_MOST = 8  # files of one kind: a checkout, a server with a pack, and what was there before


def check_owner(path: Path) -> None:
    """Refuse a file or folder that another user could have written: its content is run.

    Raises:
        UnavailableError: another user owns it or may write to it.
    """
    if _is_of_others(path.stat()):
        raise UnavailableError(f"{path} could have been written by another user and is not loaded; delete it")


def _is_of_others(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return False  # there, a user's own cache folder is private by its access list
    return status.st_uid != os.geteuid() or bool(status.st_mode & _OTHERS_MAY_WRITE)


@cache
def version_digest() -> str:
    """A digest of the files of Wallclock, and of the versions of Python and of what reads the course."""
    digest = hashlib.sha256(repr((sys.version, sys.byteorder, *_LIBRARIES)).encode())
    for path in _files_in(str(_PACKAGE)):
        digest.update(f"{path.removeprefix(str(_PACKAGE))}\n".encode())
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def _files_in(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if not entry.is_dir():
            yield entry.path
        elif entry.name != "__pycache__":
            yield from _files_in(entry.path)


def joint_digest(*parts: str) -> str:
    """One digest of *parts*."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CacheFile:
    """The file called *name* in *folder*, of one kind of values."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder / self.name

    def load(self, key: str) -> Any:
        """The value of *key*; None, if it is not there or must not be trusted."""
        body = self._trusted(key)
        if body is None:
            return None
        try:
            return _Unpickler(io.BytesIO(body)).load()
        except _DAMAGED:
            return None

    def has(self, key: str) -> bool:
        """Whether there is a value of *key*."""
        return self._trusted(key) is not None

    def store(self, key: str, value: object) -> None:
        """Keep *value* for *key*, in place of what was there; nothing happens where that is not possible."""
        body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_of_others(self.folder.stat()):
                return
            with NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:
                file.write(_head(key, body) + body)
            os.replace(file.name, self.path)
            others = sorted(self.folder.glob(f"{self.name.partition('-')[0]}-*"), key=lambda one: -one.stat().st_mtime)
            for old in others[_MOST:]:
                old.unlink(missing_ok=True)

    def _trusted(self, key: str) -> bytes | None:
        """What is stored for *key*, as bytes, if nobody else could have written it."""
        try:
            if _is_of_others(self.folder.stat()):
                return None
            with self.path.open("rb") as file:
                if _is_of_others(os.fstat(file.fileno())):
                    return None
                head, body = file.readline(len(_head(key, b""))), file.read()
        except OSError:
            return None
        return body if head == _head(key, body) else None


def _head(key: str, body: bytes) -> bytes:
    """The first line of a file: what is below it, and whether that is all."""
    return f"wallclock {key} {len(body):012d} {zlib.crc32(body):08x}\n".encode()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        """The class *name* of *module*, which is Wallclock's or plain data."""
        if module.startswith("app.") or name in _CREATED.get(module, ()):
            found = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a class of values")
