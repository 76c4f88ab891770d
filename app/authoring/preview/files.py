"""The files that are previewed: read, and stored whole or not at all."""

import hashlib
import math
import os
import stat
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from re import split
from secrets import token_hex
from threading import Lock

from app.core.errors import ContentError, InputError
from app.core.yaml_file import LARGEST, read_bytes
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import is_translation, read_exercise, topic_of

GONE = "gone"  # the stamp of a file that does not exist


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and its stamp; *trouble* says why it cannot be edited."""

    text: str
    stamp: str
    trouble: str = ""


def files_of(path: Path) -> dict[str, Path]:
    """The exercise files at *path* by their names, in the order of their chapter.

    Raises:
        InputError: there is none.
    """
    files = {path.stem: path} if path.is_file() else files_in(path)
    if not files:
        raise InputError(
            f"{path} is not an exercise file, nor a folder with one; `wallclock new numeric my-course/first` writes one"
        )
    return files


def files_in(folder: Path) -> dict[str, Path]:
    """The exercise files in *folder* by their names, in the order of their chapter; maybe none."""
    found = sorted(folder.glob("*.yaml"), key=_place)
    return {file.stem: file for file in found if not is_translation(file) and file.name != TOPIC_FILE}


def read_text(path: Path) -> FileText:
    """The text of the file at *path* as an editor shows it: with simple line ends."""
    stamp = stamp_of(path)
    if stamp == GONE:
        return FileText("", stamp)
    if path.is_symlink():
        return FileText("", stamp, "The file is a symbolic link. Edit the one that it leads to.")
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except ContentError as error:
        return FileText("", stamp, f"The file {error.problems[0].says}.")
    except UnicodeDecodeError:
        return FileText("", stamp, "The file is not UTF-8.")
    return FileText(text.replace("\r\n", "\n").replace("\r", "\n"), stamp)


def stamp_of(path: Path) -> str:
    """What tells this content of the file at *path* apart from a later one."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()[:16]
    except ContentError:  # too large, not a file, or not there
        try:
            found = os.lstat(path)
        except OSError:
            return GONE
        return f"{found.st_mtime_ns:x}-{found.st_size:x}"


def _place(path: Path) -> tuple[bool, float, str]:
    """The sort key of the exercise at *path* in its chapter; a file that cannot be read is last."""
    try:
        exercise = read_exercise(path, topic_of(path))[0]
    except ContentError:
        return True, math.inf, path.stem
    return not exercise.core, exercise.position, path.stem


_LINE_END = r"(\r\n|\r|\n)"
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_NEW = 0o666  # less what the umask takes away
_SAVING = Lock()


class ChangedFileError(Exception):
    """The file has changed since a page read it."""


def save_text(path: Path, text: str, seen: str) -> str:
    """Store *text* in the file at *path* if its stamp is still *seen*; its new stamp.

    Raises:
        ChangedFileError: another program, or another page, has changed the file.
        InputError: the file cannot be written.
    """
    with _SAVING:
        if stamp_of(path) != seen:
            raise ChangedFileError
        if trouble := read_text(path).trouble:
            raise InputError(trouble)
        before = "" if seen == GONE else _raw_text(path)
        source = with_line_ends(text, before).encode()
        if len(source) > LARGEST:
            raise InputError(f"The file would have more than {LARGEST:,} bytes.")
        try:
            _replace(path, source, seen)
        except OSError as error:
            says = f"The file cannot be written: {(error.strerror or str(error)).lower()}."
            raise InputError(says) from error
        return stamp_of(path)


def with_line_ends(text: str, before: str) -> str:
    r"""*text* with the line ends and the byte order mark of the text *before*.

    A line that was there keeps its own; others get the most frequent.

    >>> with_line_ends("a\nb\nc\n", "a\r\nc\n")
    'a\r\nb\r\nc\n'
    """
    pieces = split(_LINE_END, before.removeprefix(_BOM))
    known: dict[str, deque[str]] = defaultdict(deque)
    for line, end in zip(pieces[::2], pieces[1::2], strict=False):
        known[line].append(end)
    ends = Counter(pieces[1::2]).most_common(1)
    usual = ends[0][0] if ends else "\n"
    *lines, last = text.split("\n")
    ended = (line + (known[line].popleft() if known[line] else usual) for line in lines)
    return (_BOM if before.startswith(_BOM) else "") + "".join(ended) + last


def _raw_text(path: Path) -> str:
    """The text of the file at *path*, as it is.

    Raises:
        ChangedFileError: it has just gone, or is another.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except (ContentError, UnicodeDecodeError) as error:
        raise ChangedFileError from error


def _replace(path: Path, source: bytes, seen: str) -> None:
    """Put a new file with *source* in the place of the one at *path*."""
    beside = path.with_name(f".{path.name}-{token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if seen != GONE:
                os.chmod(beside, stat.S_IMODE(path.stat().st_mode))
            file.write(source)
            file.flush()
            os.fsync(descriptor)
        if stamp_of(path) != seen:
            raise ChangedFileError
        os.replace(beside, path)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
