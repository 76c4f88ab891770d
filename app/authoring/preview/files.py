"""The files that are previewed, and their text as an editor shows it."""

import hashlib
import math
import os
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ContentError, InputError
from app.core.yaml_file import read_bytes
from app.course.content.files import read_exercise, topic_of
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import is_translation

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
