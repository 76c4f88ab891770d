"""What a browser runs of an exported course besides Python: scripts, styles, the service worker."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import relpath

from app.exporting.modules import BROWSER
from app.site.web.frame.assets import asset_url, assets, by_hashed_name

_SCRIPTS = BROWSER / "scripts"
_DECOMPRESSOR = BROWSER / "vendor" / "xz-decompress.min.js"
_SERVICE = "service.js"
_STATIC = re.compile(r"/static/([\w./-]+)")
_IMPORTED = re.compile(r'(from "[./]+/static/)([\w.]+)"')
_SEARCH = re.compile(r'location\.assign\("/search"\)')
_COLOR = "#fbfaf6"


def digest(content: bytes) -> str:
    """What a file with this *content* is called, so that no cache takes it for another."""
    return hashlib.sha256(content).hexdigest()[:10]


def scripts() -> tuple[str, Mapping[str, bytes]]:
    """The folder of the scripts, another one after each change, and each script by its name."""
    names = sorted(path.name for path in _SCRIPTS.iterdir() if path.name != _SERVICE)
    found = {name: _script(name) for name in names}
    found["xz.js"] = _decompressor()
    return digest(b"".join(found.values())), found


def _script(name: str) -> bytes:
    """The script *name*, in which files of the site have their hashes."""
    text = (_SCRIPTS / name).read_text("utf-8")
    return _IMPORTED.sub(lambda m: f'{m[1]}{assets()[m[2]].hashed}"', text).encode()


def _decompressor() -> bytes:
    """The decompressor: it defines a global object, also where it is imported as a module."""
    return _DECOMPRESSOR.read_bytes().replace(b"}(this,", b"}(globalThis,", 1)


def static_files() -> Iterator[tuple[str, bytes]]:
    """The static files of the site, whose addresses of each other are relative."""
    for name, asset in by_hashed_name().items():
        if name.endswith(".png") and not name.startswith("icon-"):
            continue  # pictures for other sites
        if name.endswith((".js", ".css")) and not name.startswith("vendor/"):
            yield name, _relative(name, asset.body.decode()).encode()
        else:
            yield name, asset.body


def _relative(name: str, text: str) -> str:
    """*text* of the static file *name* with relative addresses of others."""
    folder = f"static/{name}".rpartition("/")[0]

    def near(match: re.Match[str]) -> str:
        found = relpath(f"static/{match[1]}", folder)
        return found if found.startswith(".") else f"./{found}"

    text = _SEARCH.sub('location.assign(new URL("../search/", import.meta.url))', text)
    return _STATIC.sub(near, text)


def web_manifest() -> bytes:
    """What makes the course installable."""
    icons = (("favicon.svg", "any"), ("icon-180.png", "180x180"), ("icon-512.png", "512x512"))
    return json.dumps(
        {
            "name": "Wallclock",
            "short_name": "Wallclock",
            "description": "Predict the training step, then time it.",
            "start_url": "../",
            "scope": "../",
            "display": "standalone",
            "background_color": _COLOR,
            "theme_color": _COLOR,
            "icons": [
                {"src": f"..{asset_url(name)}", "sizes": sizes, "type": assets()[name].type} for name, sizes in icons
            ],
        }
    ).encode()


def service(contents: Iterable[bytes], names: Collection[str], *, bundle: str, folder: str) -> bytes:
    """The service worker, which keeps the files *names*, and changes with any of the *contents*.

    All pages are in *bundle*, and the scripts in *folder*.
    """
    text = (_SCRIPTS / _SERVICE).read_text("utf-8")
    version = digest(b"".join(hashlib.sha256(content).digest() for content in contents))
    known = {"version": version, "files": list(names), "pages": bundle, "unpacks": f"course/{folder}/xz.js"}
    return text.replace("= COURSE", f"= {json.dumps(known)}").encode()


def license_texts() -> str:
    """The licenses of what others wrote."""
    return Path(_DECOMPRESSOR.parent / "LICENSES.txt").read_text("utf-8")
