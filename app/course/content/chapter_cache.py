"""The chapters of a course as they were read before: a folder in which nothing changed is not read again."""

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from app.core.yaml_file import LARGEST
from app.course.content.catalog import ChapterFolder, read_chapter_folder
from app.server.cache import CacheFile, joint_digest, version_digest

_NAMED = 16  # digits of the name of a file


class ChapterCache:
    """The chapters in *folders*, kept in a file of *cache*; *context* is what else they depend on."""

    def __init__(self, cache: Path, folders: Sequence[Path], context: str) -> None:
        courses = joint_digest(*(os.path.abspath(folder) for folder in folders))
        self._file = CacheFile(cache, f"chapters-{courses[:_NAMED]}")
        self._key = joint_digest(version_digest(), context, courses)
        self._known: dict[str, tuple[str, ChapterFolder]] = self._file.load(self._key) or {}
        self._found: dict[str, tuple[str, ChapterFolder]] = {}

    def read(self, folder: Path) -> ChapterFolder:
        """What is in *folder*, as it was read before if no file in it has changed since."""
        digest, name = _folder_digest(folder), str(folder)
        known, chapter = self._known.get(name, ("", None))
        if chapter is None or known != digest or not digest:
            chapter = read_chapter_folder(folder)
        self._found[name] = (digest, chapter)
        return chapter

    def store(self) -> None:
        """Keep what was read, unless all of it was there before."""
        if {name: one[0] for name, one in self._found.items()} != {name: one[0] for name, one in self._known.items()}:
            self._file.store(self._key, self._found)

    def digest(self, folders: Sequence[Path]) -> str:
        """A digest of all files of the course: the chapters, and what is beside them in *folders*."""
        beside = (_folder_digest(folder) for folder in folders)
        return joint_digest(self._key, *beside, *(name + digest for name, (digest, _) in self._found.items()))


def _folder_digest(folder: Path) -> str:
    """A digest of the names in *folder*, and of the content of files; empty, if one cannot be read."""
    digest = hashlib.sha256()
    try:
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                digest.update(f"{entry.name}\n{_file_digest(entry)}\n".encode())
    except OSError:
        return ""
    return digest.hexdigest()


def _file_digest(entry: os.DirEntry[str]) -> str:
    """A digest of a file, by its time if it is larger than what is read; of another thing, its mode."""
    status = entry.stat()
    if not stat.S_ISREG(status.st_mode):
        return str(status.st_mode)
    if status.st_size > LARGEST:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(Path(entry.path).read_bytes()).hexdigest()
