"""SVG files of others: only what draws, and nothing that runs, loads or links."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

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
