"""In place of the rows of assessments, in a browser, which takes none."""

from app.server.db.tables import AssessedAnswer as AssessedAnswer
from app.server.db.tables import KnownChapter as KnownChapter

MOST_CHAPTERS = 500
