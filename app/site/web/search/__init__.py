"""The search over the whole site."""

from dataclasses import dataclass

from app.core.translation import language
from app.course.content.catalog import Catalog
from app.server.cache import CacheFile, joint_digest, version_digest
from app.server.config import Settings

_NAMED = 16  # digits of the name of a file


@dataclass(frozen=True, slots=True)
class IndexFile:
    """Where an index is stored between two starts, and what it belongs to."""

    file: CacheFile
    key: str

    @property
    def is_there(self) -> bool:
        """Whether the index is there."""
        return self.file.has(self.key)


def index_file(catalog: Catalog, settings: Settings) -> IndexFile:
    """Where the index of *catalog* in the current language is stored."""
    key = joint_digest(version_digest(), catalog.digest, language())
    return IndexFile(CacheFile(settings.cache / "course", f"index-{key[:_NAMED]}"), key)
