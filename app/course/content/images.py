"""Images of a course, SVG of others too: checked before anything serves them."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from app.core.errors import Problem

_SVG = "{http://www.w3.org/2000/svg}"
# Everything that is not one of these is refused.
_DRAWN = {
    "svg", "g", "defs", "symbol", "use", "title", "desc", "metadata", "path", "rect", "circle",
    "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath", "marker", "pattern",
    "mask", "clipPath", "linearGradient", "radialGradient", "stop", "style", "filter",
    "feGaussianBlur", "feOffset", "feBlend", "feMerge", "feMergeNode", "feFlood", "feComposite",
    "feColorMatrix",
}  # fmt: skip
_RULE = re.compile(r"@(?!media\b|keyframes\b)", re.IGNORECASE)
_LOADS = re.compile(
    r"javascript:|data:|url\((?!\s*['\"]?\s*#)"
    r"|(?<![\w-])(?:src|image|(?:-webkit-)?(?:image-set|cross-fade|canvas)|element|paint)\(",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"url\(\s*['\"]?\s*#([^'\")]*?)\s*['\"]?\s*\)", re.IGNORECASE)
_GRADIENTS = (f"{_SVG}linearGradient", f"{_SVG}radialGradient")
_DEEPEST = 60  # parts in parts, and parts that use others
_MOST = 100_000  # parts that are drawn, each as often as it is used
_WORDS = ("id", "class", "role", "lang", "title", "name")  # attributes that are not CSS
_EDITED = ("rdf-syntax-ns", "inkscape", "sodipodi", "creativecommons", "purl.org/dc")
_REFUSED = {
    b"<!DOCTYPE": "has a DOCTYPE, which could expand without end",
    b"<!ENTITY": "has entities, which could expand without end",
    b"<?xml-stylesheet": "loads a style sheet from elsewhere",
    b"\0": "contains NUL",
}


def check_svg(body: bytes) -> None:
    """Refuse an SVG that could run, load or link anything.

    Raises:
        ValueError: it could, or it is not well-formed.
    """
    for part, says in _REFUSED.items():
        if part in body:
            raise ValueError(says)
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"is not well-formed: {error}") from error
    if root.tag != f"{_SVG}svg":
        raise ValueError("is not an SVG: its first element lacks xmlns of SVG")
    for element in root.iter():
        # What an editor notes for itself has names of its own, which browsers do not draw.
        if not _is_of_an_editor(str(element.tag)):
            _check_element(element)
    _SvgParts(root).check()


def _is_of_an_editor(name: str) -> bool:
    """Whether the namespace of *name* is one that browsers do not know."""
    space = name.partition("}")[0] if name.startswith("{") else ""
    return any(part in space for part in _EDITED)


def _check_element(element: ElementTree.Element) -> None:
    name = str(element.tag).removeprefix(_SVG)
    if name not in _DRAWN:
        raise ValueError(f"has the element <{name.rpartition('}')[2]}>, which is not drawing")
    if name == "style":
        style = "".join(element.itertext())
        _refuse_escapes("a style", style)
        if _loads(style) or _RULE.search(_COMMENT.sub(" ", style)):
            raise ValueError("has a style that loads something from elsewhere")
    for key, value in element.attrib.items():
        if not _is_of_an_editor(key):
            _check_attribute(key.rpartition("}")[2].lower(), value)


def _loads(css: str) -> bool:
    """Whether *css* could load something, whatever a comment in a word is taken for."""
    return any(_LOADS.search(_COMMENT.sub(between, css)) for between in ("", " "))


def _refuse_escapes(where: str, css: str) -> None:
    """In CSS, a backslash with 72 is the letter r, as in url(...): no drawing needs that."""
    if "\\" in css:
        raise ValueError(f"has a backslash in {where}, which could hide what it loads")


def _check_attribute(key: str, value: str) -> None:
    if key.startswith("on"):
        raise ValueError(f"has the attribute {key}, which runs a script")
    if key == "base":
        raise ValueError("has the attribute xml:base, by which its own parts are those of others")
    if key in ("href", "src") and not value.startswith("#"):
        raise ValueError(f"links to {value[:40]!r}; only its own parts may be used: #name")
    if key in _WORDS or key.startswith("aria-"):
        return
    _refuse_escapes(f"the attribute {key}", value)
    if _loads(value):
        raise ValueError(f"loads {value[:40]!r} from elsewhere")


class _SvgParts:
    """The parts of an SVG, each as often as it is drawn: parts that use parts are bombs."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._root = root
        self._named: dict[str | None, ElementTree.Element] = {element.get("id"): element for element in root.iter()}
        self._counted: dict[ElementTree.Element, int] = {}

    def check(self) -> None:
        """Refuse too many parts, or parts that use themselves.

        Raises:
            ValueError: there are.
        """
        for style in self._root.iter(f"{_SVG}style"):
            for target in self._referred("".join(style.itertext())):
                if target.tag not in _GRADIENTS:
                    raise ValueError(
                        "has a style sheet that refers to a part other than a gradient; write such "
                        "references as attributes"
                    )
        self._count(self._root, 0)

    def _count(self, element: ElementTree.Element, deep: int) -> int:
        if element not in self._counted:
            if deep > _DEEPEST:
                raise ValueError("has parts that are nested too deeply, or that use themselves")
            found = 1 + sum(self._count(one, deep + 1) for one in (*element, *self._used(element)))
            if found > _MOST:
                raise ValueError(f"draws more than {_MOST:,} parts, as often as they are used")
            self._counted[element] = found
        return self._counted[element]

    def _used(self, element: ElementTree.Element) -> Iterator[ElementTree.Element]:
        """The parts that the attributes of *element* refer to."""
        for key, value in element.attrib.items():
            if key.rpartition("}")[2].lower() == "href":
                target = self._named.get(value.strip().removeprefix("#"))
                if target is not None:
                    yield target
            yield from self._referred(value)

    def _referred(self, css: str) -> Iterator[ElementTree.Element]:
        for found in _REFERENCE.finditer(_COMMENT.sub(" ", css)):
            target = self._named.get(found[1])
            if target is not None:
                yield target


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

        def address(found: re.Match[str]) -> str:
            there = is_image(found[2]) and (folder / found[2]).is_file()
            return f"{found[1]}/images/{topic}/{found[2]}" if there else found[0]

        return _WRITTEN.sub(address, values) if "![" in values else values
    if isinstance(values, Mapping):
        return {key: with_images(value, topic, folder) for key, value in values.items()}
    if isinstance(values, list):
        return [with_images(value, topic, folder) for value in values]
    return values


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
