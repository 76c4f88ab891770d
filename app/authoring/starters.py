"""New files of a course: exercises to start from, and the file of their chapter."""

from pathlib import Path

from app.core.errors import InputError
from app.core.folders import ROOT
from app.course.content.topic_file import TOPIC_FILE

STARTERS = ROOT / "templates" / "starters"


def write_new(path: Path, text: str) -> Path:
    """*path*, in which *text* is now; its folder is made where there is none.

    Raises:
        InputError: the file exists already, or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} already exists; nothing was changed") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return path


def write_starter(path: Path, starter: str, name: str) -> Path:
    """*path*, in which the *starter* of that name is now, with a title made of *name*."""
    text = (STARTERS / starter).read_text(encoding="utf-8")
    title = name.replace("-", " ").capitalize()
    return write_new(path, text.replace("TITLE", title if len(title) > len("Hi") else f"{title} ..."))


def write_missing_topic(folder: Path) -> list[Path]:
    """The file of the chapter in *folder*, where it had none and no built-in chapter is meant."""
    path = folder / TOPIC_FILE
    if path.exists() or (ROOT / "exercises" / folder.name).is_dir():
        return []
    return [write_starter(path, TOPIC_FILE, folder.name)]
