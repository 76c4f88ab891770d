"""`wallclock export`: the course as a folder of files that any web server can serve."""

import gzip
import hashlib
import io
import json
import lzma
import re
import shutil
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from posixpath import relpath
from tempfile import TemporaryDirectory

from app.core.measurements.exhibits import FILE as EXHIBITS
from app.core.translation import speaking
from app.course import sandbox
from app.course.content.catalog import Catalog
from app.course.content.course import in_this_version
from app.exporting.course_contents import mathematics, of_packs, resolve_objects
from app.exporting.pages import Page, as_file, crawl_pages, exported_site
from app.exporting.python import BROWSER, BrowserPython, licenses, modules, packages, packages_of, stand_ins
from app.server.config import Settings
from app.site.web.frame.assets import asset_url, assets, by_hashed_name
from app.site.web.frame.renderer import templates

_SCRIPTS = BROWSER / "scripts"
_DECOMPRESSOR = BROWSER / "vendor" / "xz-decompress.min.js"
_LICENSES = _DECOMPRESSOR.with_name("LICENSES.txt")
_SERVICE = "service.js"
_STATIC = re.compile(r"/static/([\w./-]+)")
_IMPORTED = re.compile(r'(from "[./]+/static/)([\w.]+)"')
_SEARCH = re.compile(r'location\.assign\("/search"\)')
_COLOR = "#fbfaf6"
_MADE = (1980, 1, 1, 0, 0, 0)  # the same course makes the same archive


def digest(content: bytes) -> str:
    """What a file with this *content* is called, so that no cache takes it for another."""
    return hashlib.sha256(content).hexdigest()[:10]


def scripts() -> tuple[str, Mapping[str, bytes]]:
    """The folder of the scripts, another one after each change, and each script by its name."""
    names = sorted(path.name for path in _SCRIPTS.iterdir() if path.name != _SERVICE)
    hashed = {name: asset.hashed for name, asset in assets().items()}
    texts = {name: (_SCRIPTS / name).read_text("utf-8") for name in names}
    found = {name: _IMPORTED.sub(lambda m: f'{m[1]}{hashed[m[2]]}"', text).encode() for name, text in texts.items()}
    # The decompressor defines a global object, also where it is imported as a module.
    found["xz.js"] = _DECOMPRESSOR.read_bytes().replace(b"}(this,", b"}(globalThis,", 1)
    return digest(b"".join(found.values())), found


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
    """The service worker: it keeps *names*, changes with *contents*, has pages in *bundle* and scripts in *folder*."""
    text = (_SCRIPTS / _SERVICE).read_text("utf-8")
    version = digest(b"".join(hashlib.sha256(content).digest() for content in contents))
    known = {"version": version, "files": list(names), "pages": bundle, "unpacks": f"course/{folder}/xz.js"}
    return text.replace("= COURSE", f"= {json.dumps(known)}").encode()


_COMPRESSED = (".bin", ".woff2", ".png", ".jpg", ".jpeg", ".gif", ".webp")
EFFORT = 9  # of compressing
_DICTIONARY = 1 << 24  # bytes that a decompressor needs room for, on a phone as well


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """The pages and exercises that were written, their bytes, and those that a device fetches, *compressed*."""

    pages: int
    exercises: int
    bytes: int
    compressed: int


def write_course(settings: Settings, python: BrowserPython, folder: Path) -> ExportSummary:
    """Write the course of *settings* into *folder*, for any place on any host.

    Raises:
        ContentError: an exercise file is not valid.
        UnavailableError: a page cannot be made.
    """
    with speaking(settings.language), exported_site(settings) as (catalog, get):
        pages = list(crawl_pages(get))
        files = course_files(catalog, python, pages)
    without_earlier(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    # A host compresses texts, and a device fetches pages in their bundle.
    fetched = [(name, content) for name, content in files.items() if not name.endswith(".html")]
    sent = (len(content if name.endswith(_COMPRESSED) else gzip.compress(content, 9)) for name, content in fetched)
    return ExportSummary(
        pages=len(pages), exercises=len(catalog.exercises), bytes=sum(map(len, files.values())), compressed=sum(sent)
    )


def without_earlier(folder: Path) -> None:
    """Remove what an earlier export has written: files under names of their own, and its pages."""
    for name in ("course", "images", "static"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for page in folder.rglob("index.html"):
        page.unlink()


def course_files(catalog: Catalog, python: BrowserPython, pages: list[Page]) -> Mapping[str, bytes]:
    """Every file, by its path in the folder."""
    paths = frozenset(page.path for page in pages)
    core, packed = _core(catalog, python, paths)
    folder, besides = scripts()
    files = {f"course/{name}": content for name, content in packed.items()}
    files |= {f"static/{name}": content for name, content in static_files()}
    files |= {f"images/{name}": path.read_bytes() for name, path in catalog.images.items()}
    files |= {f"course/{folder}/{name}": content for name, content in besides.items()}
    files["course/LICENSES.txt"] = f"{licenses(python.wheels)}\n\n{_LICENSES.read_text('utf-8')}".encode()
    files["course/manifest.webmanifest"] = web_manifest()
    near = partial(as_file, pages=paths, core=core, scripts=folder)
    html = {f"{page.path}/index.html".lstrip("/"): near(page) for page in pages}
    found = {name.removesuffix("index.html") or "./": text for name, text in sorted(html.items())}
    together = _packed(json.dumps(found, ensure_ascii=False).encode())  # what pages have in common is sent once
    bundle = f"course/pages.{digest(together)}.bin"
    names = list(files)
    files |= {name: text.encode() for name, text in html.items()}
    files["service.js"] = service(files.values(), names, bundle=bundle, folder=folder)
    files[bundle] = together
    files[".nojekyll"] = b""
    return files


def _core(catalog: Catalog, python: BrowserPython, pages: frozenset[str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """The files that a worker starts from: their names by what they are, and their contents."""
    compiler = python.compiler

    def packed_once(content: bytes) -> bytes:
        """Python and its packages are the same in each export, and worth more effort."""
        return compiler.once(f"packed-{EFFORT}-{digest(content)}.xz", lambda: _packed(content, lzma.PRESET_EXTREME))

    guest = Path(sandbox.__file__).parent / "guest"
    programs = (guest / "running.py", guest / "codec.py", BROWSER / "rooms" / "program.py")
    ours = ((place, path.read_bytes()) for place, path in packages())
    of_others = _archive(chain(ours, packages_of(python.wheels)))  # the same for each course: half of all
    with ThreadPoolExecutor() as threads:
        found = {
            "glue": threads.submit(packed_once, python.glue),
            "wasm": threads.submit(packed_once, python.wasm),
            "library": threads.submit(packed_once, python.library),
            "packages": threads.submit(packed_once, compiler.compiled(of_others)),
            "course": threads.submit(_packed, compiler.compiled(_archive(_course_contents(catalog, pages)))),
            "program": threads.submit(
                _packed, compiler.compiled(_archive((path.name, path.read_bytes()) for path in programs))
            ),
        }
        packed = {what: future.result() for what, future in found.items()}
    names = {what: f"{what}.{digest(content)}.bin" for what, content in packed.items()}
    names["loader"] = f"loader.{digest(python.loader)}.js"
    files = {names[what]: content for what, content in packed.items()}
    return {**names, "lock": python.lock}, {**files, names["loader"]: python.loader}


def _archive(contents: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of *contents*, which is compressed as a whole."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in sorted(contents):
            packed.writestr(zipfile.ZipInfo(name, _MADE), content)
    return file.getvalue()


def _course_contents(catalog: Catalog, pages: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """What the desk in a browser runs from: modules, templates, and what was read."""
    for name, path in modules().items():
        inside = name.replace(".", "/")
        place = f"{inside}/__init__.py" if path.name == "__init__.py" else f"{inside}.py"
        yield place, path.read_bytes()
    for name, module in stand_ins().items():
        is_package = any(other.startswith(f"{name}.") for other in stand_ins())
        yield f"{name.replace('.', '/')}{'/__init__' * is_package}.py", f"from {module} import *\n".encode()
    yield f"app/core/measurements/published/{EXHIBITS.name}", EXHIBITS.read_bytes()
    for module in {module for module, _ in of_packs().values()}:
        yield f"{module.replace('.', '/')}.py", in_this_version(Path(str(sys.modules[module].__file__)).read_bytes())
    yield "mathematics.json", mathematics(catalog)
    for name, content in resolve_objects(catalog, pages):
        yield f"resolved/{name}.pickle", content
    with TemporaryDirectory() as folder:
        templates().compile_templates(folder, zip=None, ignore_errors=False)
        for path in sorted(Path(folder).iterdir()):
            yield f"templates/{path.name}", path.read_bytes()  # compiled: a browser need not parse them


def _packed(content: bytes, more: int = 0) -> bytes:
    """*content* as xz, a third smaller than gzip: browsers decompress it with a script of ours."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": EFFORT | more, "dict_size": _DICTIONARY}]
    return lzma.compress(content, check=lzma.CHECK_CRC32, filters=filters)
