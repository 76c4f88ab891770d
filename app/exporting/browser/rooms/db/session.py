"""In place of a session with the database, in a browser: the learner's rows in memory."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from app.db.tables import KINDS, Row, read_row


class Shelf:
    """The rows of this browser's learner, in the order in which they came.

    *keep* stores a row that is added, as its kind and its text; *clear* removes all.
    """

    def __init__(self, keep: Callable[[str, str], None], clear: Callable[[], None]) -> None:
        self.rows: dict[str, list[Any]] = {name: [] for name in KINDS}
        self.info: dict[str, object] = {}
        self._keep = keep
        self._clear = clear

    def load(self, stored: list[tuple[str, str]]) -> None:
        """Take the rows that the browser has *stored*, and no others."""
        for rows in self.rows.values():
            rows.clear()
        for kind, text in stored:
            self.rows[kind].append(read_row(kind, text))

    def add(self, row: Row) -> None:
        """Add a row, unless a reveal or a prediction like it is there."""
        kind = next(name for name, one in KINDS.items() if type(row) is one)
        if kind != "attempts" and any(_same(row, other) for other in self.rows[kind]):
            return
        self.rows[kind].append(row)
        self._keep(kind, json.dumps(row.stored()))

    def replace(self, kind: str, rows: list[Row]) -> None:
        """Let *rows* be all of that *kind*; what is stored is written again."""
        self.rows[kind] = list(rows)
        self._clear()
        for name, those in self.rows.items():
            for row in those:
                self._keep(name, json.dumps(row.stored()))

    def connection(self) -> "Shelf":
        """Itself: there is no other way to the rows."""
        return self

    def clear(self) -> int:
        """Remove every row, and return how many there were."""
        count = sum(map(len, self.rows.values()))
        for rows in self.rows.values():
            rows.clear()
        self._clear()
        return count


def _same(one: Row, other: Row) -> bool:
    """Whether both are about the same; the first one stays."""
    names = ("day", "exercise", "seed", "number", "assessment", "draw", "chapter")
    return all(getattr(one, name, None) == getattr(other, name, None) for name in names)


@contextmanager
def open_session(engine: Shelf) -> Iterator[Shelf]:
    """The rows of this browser."""
    yield engine
