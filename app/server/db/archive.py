"""Files in a SQLite database, in the table `sqlar` of SQLite's own archives.

(https://sqlite.org/sqlar.html; `sqlite3 FILE -A --list` shows them.)
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

from app.core.errors import InputError, UnavailableError
from app.server.db.sqlite_copy import unused

FILES = "sqlar"
_LARGEST = 512 << 20  # bytes of a file; it is compressed in memory
_MADE = f"""CREATE TABLE {FILES}
    (name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)"""


def store_files(database: Path, folder: Path) -> tuple[int, list[str]]:
    """Put the files below *folder* into *database*; how many, and which are too large.

    Raises:
        UnavailableError: a file cannot be read, or the database not written.
    """
    count, left_out = 0, []
    try:
        with closing(sqlite3.connect(database)) as archive:
            archive.execute(f"DROP TABLE IF EXISTS {FILES}")
            archive.execute(_MADE)
            for path in _files(folder):
                name = path.relative_to(folder).as_posix()
                if path.stat().st_size > _LARGEST:
                    left_out.append(name)
                    continue
                archive.execute(f"INSERT INTO {FILES} VALUES (?, ?, ?, ?, ?)", _archive_row(name, path))
                count += 1
            archive.commit()
    except sqlite3.Error as error:
        raise UnavailableError(f"the files of {folder} cannot be stored: {error}") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from error
    return count, left_out


def unpack_files(database: Path, folder: Path) -> int:
    """Write the files in *database* below *folder*, except those that are there; returns how many.

    Raises:
        InputError: a file has an unsafe name, or is damaged.
        UnavailableError: a file cannot be written.
    """
    count = 0
    with closing(sqlite3.connect(unused(database), uri=True)) as archive:
        found = archive.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (FILES,)).fetchone()
        rows = archive.execute(f"SELECT name, sz, data FROM {FILES}") if found else ()
        for name, size, content in rows:
            path = folder / _safe(name)
            if not path.exists():
                _write(path, _content(name, size, content))
                count += 1
    return count


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below *folder*; no links, sockets or pipes."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _archive_row(name: str, path: Path) -> tuple[str, int, int, int, bytes]:
    status, content = path.stat(), path.read_bytes()
    packed = zlib.compress(content)
    # The format stores a file as it is where compression does not make it smaller.
    smaller = packed if len(packed) < len(content) else content
    return name, status.st_mode, int(status.st_mtime), len(content), smaller


def _safe(name: object) -> PurePosixPath:
    path = PurePosixPath(str(name))
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in str(name):
        raise InputError(f"the backup contains a file with the unsafe name {str(name)[:80]!r}")
    return path


def _content(name: str, size: object, content: object) -> bytes:
    if isinstance(content, bytes) and isinstance(size, int) and 0 <= size <= _LARGEST:
        if len(content) == size:
            return content
        try:
            plain = zlib.decompressobj().decompress(content, size + 1)
        except zlib.error:
            plain = b""
        if len(plain) == size:
            return plain
    raise InputError(f"the file {name!r} in the backup is damaged")


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from error
