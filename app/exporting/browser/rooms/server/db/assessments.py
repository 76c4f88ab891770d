"""In place of the rows of assessments, in a browser, which takes none."""

from app.server.db.tables import Assessed as Assessed
from app.server.db.tables import KnownChapter as KnownChapter

MOST_CHAPTERS = 500
