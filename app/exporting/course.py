"""`wallclock export`: the course as a folder of files that any web server can serve."""

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import relpath

from app.config import Settings
from app.content.catalog import Catalog
from app.exporting.archive import archive, program
from app.exporting.modules import BROWSER, licenses
from app.exporting.pages import Page, as_file, crawled
from app.exporting.python import BrowserPython
from app.exporting.site import exported_site
from app.translation import speaking
from app.web.frame.assets import by_hashed_name

_SCRIPTS = ("theme.js", "unpack.js", "desk.js", "program.js", "page.js")
_STATIC = re.compile(r"/static/([\w./-]+)")
_SEARCH = re.compile(r'location\.assign\("/search"\)')
EFFORT = 9  # of compressing, at most 9
_COLOR = "#fbfaf6"
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the number of pages, the exercises among them, and the total of bytes.

    *compressed* are the bytes of what a device fetches that keeps all of it.
    """

    pages: int
    exercises: int
    bytes: int
    compressed: int


def written(settings: Settings, python: BrowserPython, folder: Path) -> Written:
    """Write the course of *settings* into *folder*, for any place on any host.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: a page cannot be made.
    """
    with speaking(settings.language), exported_site(settings) as site:
        pages = list(crawled(site))
        files = course_files(site.catalog, python, pages)
    for name in (
        "course",
        "images",
        "static",
    ):  # files of an earlier export, under names of their own
        shutil.rmtree(folder / name, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sent = (len(_sent(name, files[name])) for name in files if not name.endswith(".html"))
    return Written(
        pages=len(pages),
        exercises=len(site.catalog.exercises),
        bytes=sum(map(len, files.values())),
        compressed=sum(sent),
    )


def _sent(name: str, content: bytes) -> bytes:
    """*content* as a host sends it that compresses texts."""
    return (
        content
        if name.endswith((".bin", ".woff2", ".png", ".jpg", ".jpeg", ".gif", ".webp"))
        else gzip.compress(content, 9)
    )


def course_files(catalog: Catalog, python: BrowserPython, pages: list[Page]) -> Mapping[str, bytes]:
    """Every file, by its path in the folder."""
    paths = frozenset(page.path for page in pages)
    core, packed = _core(catalog, python, paths)
    files = {f"course/{name}": content for name, content in packed.items()}
    files |= {f"static/{name}": content for name, content in _static()}
    files |= {f"images/{name}": path.read_bytes() for name, path in catalog.images.items()}
    files |= {f"course/{name}": (BROWSER / "scripts" / name).read_bytes() for name in _SCRIPTS}
    files["course/LICENSES.txt"] = licenses().encode()
    files["course/manifest.webmanifest"] = _manifest()
    html = {f"{page.path}/index.html".lstrip("/"): as_file(page, paths, core) for page in pages}
    together = _together(html)
    bundle = f"course/pages.{_digest(together)}.bin"
    files |= {name: text.encode() for name, text in html.items()}
    files["service.js"] = _service(files, [name for name in files if name not in html], bundle)
    files[bundle] = together
    files[".nojekyll"] = b""
    return files


def _core(
    catalog: Catalog, python: BrowserPython, pages: frozenset[str]
) -> tuple[dict[str, str], dict[str, bytes]]:
    """The files that a worker starts from: their names by what they are, and their contents."""
    contents = {
        "glue": python.glue,
        "wasm": python.wasm,
        "library": python.library,
        "course": python.compiler.compiled(archive(catalog, pages)),
        "program": python.compiler.compiled(program()),
    }
    packed = {what: gzip.compress(content, EFFORT, mtime=0) for what, content in contents.items()}
    names = {what: f"{what}.{_digest(content)}.bin" for what, content in packed.items()}
    names["loader"] = f"loader.{_digest(python.loader)}.js"
    files = {names[what]: content for what, content in packed.items()}
    return {**names, "lock": python.lock}, {**files, names["loader"]: python.loader}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:10]


def _static() -> Iterator[tuple[str, bytes]]:
    """The static files of the site, whose addresses of each other are relative."""
    for name, asset in by_hashed_name().items():
        if name.endswith(".png"):
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


def _manifest() -> bytes:
    """What makes the course installable."""
    icon = next(name for name in by_hashed_name() if name.startswith("favicon."))
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
            "icons": [{"src": f"../static/{icon}", "sizes": "any", "type": "image/svg+xml"}],
        }
    ).encode()


def _together(html: Mapping[str, str]) -> bytes:
    """Every page in one file: what pages have in common is sent once."""
    found = {_address(name): text for name, text in sorted(html.items())}
    return gzip.compress(json.dumps(found, ensure_ascii=False).encode(), EFFORT, mtime=0)


def _service(files: Mapping[str, bytes], names: list[str], bundle: str) -> bytes:
    """The service worker, which knows the *names* of files, and changes with any of them."""
    text = (BROWSER / "scripts" / "service.js").read_text("utf-8")
    version = _digest(b"".join(hashlib.sha256(content).digest() for content in files.values()))
    known = {"version": version, "files": names, "pages": bundle}
    return text.replace("= COURSE", f"= {json.dumps(known)}").encode()


def _address(name: str) -> str:
    return name.removesuffix("index.html") or "./"
