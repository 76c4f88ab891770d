"""Chapters and exercises as search engines and catalogs of courses read them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResource:
    """Something to learn from, with the paths and names of what it is part of and made of.

    Source:
        schema.org, LearningResource; *sort* is its learningResourceType.
    """

    sort: str
    name: str
    says: str
    path: str
    part_of: tuple[str, str] = ("/", "Wallclock")
    parts: tuple[tuple[str, str], ...] = ()
