"""SVG files of others: only what draws, and nothing that runs, loads or links."""

import re
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
_LOADS = re.compile(r"@import|javascript:|data:|url\((?!\s*['\"]?\s*#)", re.IGNORECASE)
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
        if not any(part in str(element.tag) for part in _EDITED):
            _check_element(element)


def _check_element(element: ElementTree.Element) -> None:
    name = str(element.tag).removeprefix(_SVG)
    if name not in _DRAWN:
        raise ValueError(f"has the element <{name.rpartition('}')[2]}>, which is not drawing")
    if name == "style" and _LOADS.search("".join(element.itertext())):
        raise ValueError("has a style that loads something from elsewhere")
    for key, value in element.attrib.items():
        _check_attribute(key.rpartition("}")[2].lower(), value)


def _check_attribute(key: str, value: str) -> None:
    if key.startswith("on"):
        raise ValueError(f"has the attribute {key}, which runs a script")
    if key in ("href", "src") and not value.startswith("#"):
        raise ValueError(f"links to {value[:40]!r}; only its own parts may be used: #name")
    if _LOADS.search(value):
        raise ValueError(f"loads {value[:40]!r} from elsewhere")
