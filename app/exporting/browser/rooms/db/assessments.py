"""In place of the queries on assessments, in a browser: the chapters that the learner knows."""

from collections.abc import Collection

from app.db.session import Shelf
from app.db.tables import Assessed, KnownChapter

__all__ = ["MOST_CHAPTERS", "Assessed", "KnownChapter", "known_chapters", "mark_known"]
MOST_CHAPTERS = 500


def known_chapters(session: Shelf, _: str) -> frozenset[str]:
    """The chapters that the learner knows."""
    return frozenset(row.chapter for row in session.rows["known_chapters"])


def mark_known(session: Shelf, _: str, chapters: Collection[str]) -> None:
    """Let the learner know these *chapters*, and no others."""
    session.replace("known_chapters", [KnownChapter(chapter=name) for name in sorted(chapters)])
