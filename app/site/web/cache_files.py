"""What pages keep in the cache folder between two starts: compiled templates, and the index of the search."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import BytecodeCache, Environment
from jinja2 import __version__ as jinja_version
from jinja2.bccache import Bucket

from app.core.charts.svg import figure_templates
from app.core.folders import ROOT
from app.core.translation import language, speaking
from app.course.content.catalog import Catalog
from app.server.cache import CacheFile, joint_digest, version_digest
from app.server.config import Settings
from app.site.web.frame.assets import assets
from app.site.web.frame.renderer import templates

_NAMED = 16  # digits of the name of a file


def index_file(catalog: Catalog, settings: Settings) -> tuple[CacheFile, str]:
    """Where the index of *catalog* in the current language is stored between two starts, and its key."""
    key = joint_digest(version_digest(), catalog.digest, language())
    return CacheFile(settings.cache / "course", f"index-{key[:_NAMED]}"), key


class CompiledTemplates(BytecodeCache):
    """The templates of one language, compiled once and not again at the next start."""

    def __init__(self, file: CacheFile, key: str) -> None:
        self._file = file
        self._key = key
        self._known: dict[str, bytes] = file.load(key) or {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Jinja compares the digest of the template itself."""
        if known := self._known.get(bucket.key):
            bucket.bytecode_from_string(known)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Remember a template."""
        self._known[bucket.key] = bucket.bytecode_to_string()

    def serve(self, environments: Mapping[str, Environment]) -> None:
        """Be what *environments* ask; compile their templates, by ending, unless an earlier start has done so."""
        is_empty = not self._known
        for ending, made in environments.items():
            made.bytecode_cache = self
            for name in made.list_templates(extensions=[ending]) if is_empty else ():
                made.get_template(name)
        if is_empty:
            self._file.store(self._key, self._known)


def compile_templates(folder: Path, code: str) -> None:
    """Take the templates in the language *code* from *folder*, or compile all of them and keep them there."""
    with speaking(code):
        if templates().bytecode_cache:
            return  # of an earlier app of this process
        files = (path.stat() for path in sorted((ROOT / "templates").rglob("*.*")))
        times = (f"{one.st_size} {one.st_mtime_ns}" for one in files)
        named = (asset.hashed for asset in assets().values())
        key = joint_digest(version_digest(), jinja_version, code, *named, *times)
        kept = CompiledTemplates(CacheFile(folder, f"templates-{key[:_NAMED]}"), key)
        kept.serve({"html": templates(), "svg": figure_templates()})
