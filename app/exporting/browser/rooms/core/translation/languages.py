"""In place of the catalogs, in a browser: the language of the export, as it was read there."""

from contextvars import ContextVar

from app.resolved import resolved

from app.core.translation.catalog import SentenceCatalog

SOURCE = "en"
DEFAULT, _NAME, _CATALOG = resolved("language")
LANGUAGES = {DEFAULT: _NAME}
SPOKEN = ContextVar("spoken", default=DEFAULT)


def catalog(code: str) -> SentenceCatalog:
    """The sentences of the language of the export, whichever is asked for."""
    catalog_: SentenceCatalog = _CATALOG
    return catalog_
