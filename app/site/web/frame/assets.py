"""Static files: read once, minified, named by their content, and compressed."""

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from posixpath import normpath, relpath

from app.core.folders import ROOT

FOLDER = ROOT / "static"
_TYPES = {".js": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml"}
_SQUEEZED = (".js", ".css", ".svg", ".txt", ".json")
# Parts of app.css, and the recipe of the editor.
_NOT_SERVED = ("css/", "vendor/editor/")
# What names another file, and would go stale without its hash: imports and fonts.
_MENTION = re.compile(
    r"""@import "(?P<part>[\w./-]+)";"""
    r"""|(?P<before>from"|from "|import\("|import"|import "|url\()(?P<name>\.\.?/[\w./-]+)"""
)
_BOTH = re.compile(r"(?<![\w-])(--[\w-]++): light-dark\((#\w++), (#\w++)\);")  # a color for each theme
_GAP = r"(?:\s++|/\*.*?\*/)"  # whitespace or a comment
_SPARE = re.compile(
    rf"""("[^"]*"|url\([^)]*\))"""  # stays as it is
    rf"""|{_GAP}*+;?{_GAP}*+(\}}){_GAP}*+"""  # the last semicolon of a block is spare
    rf"""|{_GAP}*+([{{;,>~!]){_GAP}*+"""
    rf"""|(:){_GAP}++"""  # a space before a colon may be a descendant combinator
    rf"""|{_GAP}++""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Asset:
    """One file as it is sent."""

    name: str
    type: str
    body: bytes
    tag: str

    @property
    def hashed(self) -> str:
        """Its name with its hash in it: app.1a2b3c4d.css."""
        stem, dot, suffix = self.name.rpartition(".")
        return f"{stem}.{self.tag}{dot}{suffix}"

    @cached_property
    def squeezed(self) -> bytes | None:
        """It in fewer bytes, if that is worth it: made when a browser first asks for it."""
        return gzip.compress(self.body, 9, mtime=0) if self.name.endswith(_SQUEEZED) else None


@cache
def assets() -> Mapping[str, Asset]:
    """Every static file, by its plain name."""
    loaded: dict[str, Asset] = {}
    names = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()]
    for name in names:
        if not name.startswith(_NOT_SERVED) and not Path(name).name.startswith("."):
            _load(name, loaded)
    return loaded


@cache
def by_hashed_name() -> Mapping[str, Asset]:
    """Every static file, by the name with its hash."""
    return {asset.hashed: asset for asset in assets().values()}


def asset_url(name: str) -> str:
    """Where the browser gets the file *name* from.

    >>> asset_url("favicon.svg").startswith("/static/favicon.")
    True
    """
    return f"/static/{assets()[name].hashed}"


def minify(css: str) -> str:
    """*css* without comments and without the whitespace that says nothing.

    >>> minify("/* Notes */ .note > p, a :hover { margin: 0 .4rem; width: calc(1px + 2%); }")
    '.note>p,a :hover{margin:0 .4rem;width:calc(1px + 2%)}'
    """
    return _SPARE.sub(lambda m: m[1] or m[2] or m[3] or m[4] or " ", css).strip()


def in_both_themes(css: str) -> str:
    """*css* with a rule for each theme in place of `light-dark()`, which browsers have since 2024.

    >>> in_both_themes(":root { --a: light-dark(#fff, #000); }").partition("@media")[0]
    ':root { --a: #fff; }'
    """
    dark = "".join(f"{name}:{color};" for name, _, color in _BOTH.findall(css))
    if not dark:
        return css
    asked = f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}"
    chosen = f":root[data-theme=dark] {{ {dark} }}"
    light = _BOTH.sub(r"\1: \2;", css)
    return f"{light}@media screen {{ {asked} {chosen} }}"


def _load(name: str, loaded: dict[str, Asset]) -> Asset:
    if name in loaded:
        return loaded[name]
    path = FOLDER / name
    body = path.read_bytes()
    if path.suffix == ".css":
        body = minify(in_both_themes(_named(name, path.parent, loaded))).encode()
    elif path.suffix == ".js" and not name.startswith("vendor/"):
        body = _named(name, path.parent, loaded).encode()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    loaded[name] = Asset(name, kind, body, hashlib.sha256(body).hexdigest()[:10])
    return loaded[name]


def _named(name: str, folder: Path, loaded: dict[str, Asset]) -> str:
    """The text of *name*: style sheets that it imports are in it, other files have their hash.

    Addresses are relative to *folder*, so that they do not depend on a prefix of the site.
    """

    def replaced(match: re.Match[str]) -> str:
        other = normpath((Path(name).parent / (match["part"] or match["name"])).as_posix())
        if match["part"]:
            return _named(other, folder, loaded)
        beside = relpath(FOLDER / _load(other, loaded).hashed, folder)
        return f"{match['before']}{beside if beside.startswith('.') else f'./{beside}'}"

    return _MENTION.sub(replaced, (FOLDER / name).read_text("utf-8"))
