"""New files of a course to start from, and the JSON Schema of an exercise file."""

from itertools import product
from pathlib import Path
from typing import Any

from app.core.errors import InputError
from app.core.folders import ROOT
from app.course.content.topic_file import TOPIC_FILE
from app.course.kinds import EXERCISE

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


_NOT_WRITTEN = ("id", "digest", "chapter_parameters")


def exercise_schema() -> dict[str, Any]:
    """The schema of an exercise file: first the kind, then its keys, since editors complain about a choice of nine."""
    schema = EXERCISE.json_schema()
    kinds = [kind for kind in schema["$defs"].values() if "kind" in kind.get("properties", {})]
    for kind, name in product(kinds, _NOT_WRITTEN):  # these come from the path of a file, not from its text
        kind["properties"].pop(name, None)
        kind["required"] = [one for one in kind["required"] if one != name]
    mapping = schema["discriminator"]["mapping"]
    del schema["oneOf"]
    return schema | {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(mapping), "description": "what is asked for"}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": name}}}, "then": {"$ref": reference}}
            for name, reference in mapping.items()
        ],
    }
