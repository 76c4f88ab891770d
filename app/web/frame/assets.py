"""Static files: read once, named by what is in them, kept compressed."""

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.config import ROOT

FOLDER = ROOT / "static"
_TYPES = {".js": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml"}
_SQUEEZED = {".js", ".css", ".svg", ".txt", ".json"}
_NOT_SERVED = ("vendor/build/",)
# What names another file, and would go stale without its hash: imports and fonts.
_MENTION = re.compile(
    r"""(?P<before>from"|from "|import\("|import"|import "|url\()\./(?P<name>[\w./-]+)"""
)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    name: str
    type: str
    body: bytes
    squeezed: bytes | None
    tag: str

    @property
    def hashed(self) -> str:
        """Its name with its hash in it: app.1a2b3c4d.css."""
        stem, dot, suffix = self.name.rpartition(".")
        return f"{stem}.{self.tag}{dot}{suffix}"


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


def address(name: str) -> str:
    """Where the browser gets the file *name* from.

    >>> address("favicon.svg").startswith("/static/favicon.")
    True
    """
    return f"/static/{assets()[name].hashed}"


def _load(name: str, loaded: dict[str, Asset]) -> Asset:
    if name in loaded:
        return loaded[name]
    path = FOLDER / name
    body = path.read_bytes()
    if path.suffix in (".js", ".css") and not name.startswith("vendor/"):
        folder = Path(name).parent

        def renamed(match: re.Match[str]) -> str:
            other = (folder / match["name"]).as_posix()
            return f"{match['before']}/static/{_load(other, loaded).hashed}"

        body = _MENTION.sub(renamed, body.decode()).encode()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    squeezed = gzip.compress(body, 9, mtime=0) if path.suffix in _SQUEEZED else None
    loaded[name] = Asset(name, kind, body, squeezed, hashlib.sha256(body).hexdigest()[:10])
    return loaded[name]
