"""Images of a course: files beside its exercises, checked before anything serves them."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.core.errors import Problem
from app.course.content.svg import check_svg

LARGEST = 1_000_000  # bytes of an image
SUFFIXES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_WRITTEN = re.compile(r"(!\[[^\]\n]*\]\()([A-Za-z0-9][\w.-]*)(?=\)|\s+\")")
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def with_images(values: object, topic: str, folder: Path) -> object:
    """*values* of a file in *folder*, in which images beside it have their address on the site."""
    if isinstance(values, str):
        return _addressed(values, topic, folder) if "![" in values else values
    if isinstance(values, Mapping):
        return {key: with_images(value, topic, folder) for key, value in values.items()}
    if isinstance(values, list):
        return [with_images(value, topic, folder) for value in values]
    return values


def _addressed(text: str, topic: str, folder: Path) -> str:
    def address(found: re.Match[str]) -> str:
        there = is_image(found[2]) and (folder / found[2]).is_file()
        return f"{found[1]}/images/{topic}/{found[2]}" if there else found[0]

    return _WRITTEN.sub(address, text)


def is_image(name: str) -> bool:
    """Whether the *name* of a file is that of an image."""
    return bool(_NAME.fullmatch(name)) and Path(name).suffix.lower() in SUFFIXES


def images_in(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, Path]]:
    """The name and path of each image in *folder*; what may not be served is a problem."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in SUFFIXES:
            continue
        try:
            read_image(path)
        except ValueError as error:
            problems.append(Problem(path, 1, str(error), _cure(str(error))))
        else:
            yield path.name, path


def read_image(path: Path) -> tuple[bytes, str]:
    """The bytes of the image at *path*, and its type, by its content.

    Raises:
        ValueError: it is not an image that may be served; the message says why.
    """
    if not _NAME.fullmatch(path.name):
        raise ValueError("an image's name must consist of letters, digits, dots, - and _")
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is not a regular file")
        if found.st_size > LARGEST:
            raise ValueError(f"has {found.st_size:,} bytes, and an image at most {LARGEST:,}")
        body = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    expected = SUFFIXES[path.suffix.lower()]
    kind = _kind(body)
    if kind != expected:
        what = f"{kind.partition('/')[2]}" if kind else "no image that browsers know"
        raise ValueError(f"is named as {expected.partition('/')[2]}, and its content is {what}")
    if kind == SUFFIXES[".svg"]:
        check_svg(body)
    return body, kind


def _kind(body: bytes) -> str:
    """The type of an image by its first bytes; empty if it is none."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if b"<svg" in body[:4096]:
        return "image/svg+xml"
    return next((kind for start, kind in _STARTS.items() if body.startswith(start)), "")


def _cure(says: str) -> str:
    if says.startswith("cannot be read"):
        return "check its name and permissions"
    if "element" in says or "attribute" in says or "link" in says or "load" in says:
        return "export it as a plain SVG without scripts and links, or as PNG"
    if "bytes" in says:
        return "save it smaller, or draw it as SVG"
    return "save it again as .png, .jpg, .webp, .gif or a plain .svg"
