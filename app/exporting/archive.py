"""The archives that the desk in a browser runs from: modules, templates, packages, and what was read."""

import io
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.measurements.exhibits import FILE as EXHIBITS
from app.course import sandbox
from app.course.content.catalog import Catalog
from app.course.content.course import in_this_version
from app.exporting.course_contents import mathematics, of_packs, resolve_objects
from app.exporting.python import BROWSER, modules, packages, packages_of, stand_ins
from app.site.web.frame.renderer import templates

_MADE = (1980, 1, 1, 0, 0, 0)  # the same course makes the same archive


def course_archive(catalog: Catalog, pages: Collection[str]) -> bytes:
    """The archive of a course with these *pages*: a zip, which is compressed as a whole."""
    return _packed(_contents(catalog, pages))


def packages_archive(wheels: Mapping[str, bytes]) -> bytes:
    """The archive of what others wrote, which is the same for each course: half of all."""
    return _packed(chain(((place, path.read_bytes()) for place, path in packages()), packages_of(wheels)))


def programs_archive() -> bytes:
    """The archive that programs of learners run in."""
    guest = Path(sandbox.__file__).parent / "guest"
    files = (guest / "running.py", guest / "codec.py", BROWSER / "rooms" / "program.py")
    return _packed((path.name, path.read_bytes()) for path in files)


def _packed(contents: Iterable[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in sorted(contents):
            packed.writestr(zipfile.ZipInfo(name, _MADE), content)
    return file.getvalue()


def _contents(catalog: Catalog, pages: Collection[str]) -> Iterator[tuple[str, bytes]]:
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
    yield from _templates()


def _templates() -> Iterator[tuple[str, bytes]]:
    """The templates, compiled to modules: a browser need not parse them."""
    with TemporaryDirectory() as folder:
        templates().compile_templates(folder, zip=None, ignore_errors=False)
        for path in sorted(Path(folder).iterdir()):
            yield f"templates/{path.name}", path.read_bytes()
