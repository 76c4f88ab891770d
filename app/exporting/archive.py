"""The archive that the desk in a browser runs from: modules, templates, and what was read."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from app.content.catalog import Catalog
from app.exporting.modules import modules, packages
from app.exporting.reading import mathematics, resolved
from app.web.frame.rendering import templates

_MADE = (1980, 1, 1, 0, 0, 0)  # the same course makes the same archive


def archive(catalog: Catalog) -> bytes:
    """The archive, as a zip without compression: the whole of it is compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in sorted(_contents(catalog)):
            packed.writestr(zipfile.ZipInfo(name, _MADE), content)
    return file.getvalue()


def _contents(catalog: Catalog) -> Iterator[tuple[str, bytes]]:
    for name, path in modules().items():
        inside = name.replace(".", "/")
        place = f"{inside}/__init__.py" if path.name == "__init__.py" else f"{inside}.py"
        yield place, path.read_bytes()
    for place, path in packages():
        yield place, path.read_bytes()
    yield "mathematics.json", mathematics(catalog)
    for name, content in resolved(catalog):
        yield f"resolved/{name}.pickle", content
    yield from _templates()


def _templates() -> Iterator[tuple[str, bytes]]:
    """The templates, compiled to modules: a browser need not parse them."""
    with TemporaryDirectory() as folder:
        templates().compile_templates(folder, zip=None, ignore_errors=False)
        for path in sorted(Path(folder).iterdir()):
            yield f"templates/{path.name}", path.read_bytes()
