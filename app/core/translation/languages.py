"""The languages that are offered, and the catalog of each."""

from contextvars import ContextVar
from functools import cache
from pathlib import Path

from app.core.translation.catalog import SentenceCatalog, read_catalog

SOURCE = "en"
DEFAULT = SOURCE  # outside of a request
LANGUAGES = {SOURCE: "English", "de": "Deutsch", "zh": "简体中文"}  # code: its name for itself
SPOKEN = ContextVar("spoken", default=DEFAULT)  # the language that is answered in
CATALOGS = Path(__file__).parent / "catalogs"


@cache
def catalog(code: str) -> SentenceCatalog:
    """The sentences of the language *code*, read once."""
    if code == SOURCE:
        return SentenceCatalog({}, {})
    return read_catalog((CATALOGS / f"{code}.po").read_text("utf-8"))
