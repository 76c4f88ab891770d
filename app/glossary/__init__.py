"""The words of the field, explained where they occur and on a page of their own."""

from app.glossary.marking import mark, marked
from app.glossary.reading import Term, terms

__all__ = ["Term", "mark", "marked", "terms"]
