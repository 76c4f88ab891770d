"""What earlier versions left, and the databases that a server of this version may find."""

import gzip
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.script import ScriptDirectory

from app.server.db.migrations import alembic_configuration, exclusive

FOLDER = Path(__file__).parent
_QUOTED = '"{}"'.format


@dataclass(frozen=True, slots=True)
class Recording:
    """A version that `tests.upgrades.record` has recorded: its *name*, and the *folder* of it."""

    name: str
    folder: Path
    told: Mapping[str, Any]

    @property
    def statements(self) -> str:
        """Its backup, as statements."""
        return _text(self.folder / "database.sql.gz")

    @property
    def progress(self) -> str:
        """The file of progress that its visitor exported."""
        return _text(self.folder / "progress.json.gz")

    @property
    def attempts(self) -> Sequence[Mapping[str, Any]]:
        """The answers of its visitor."""
        found: Sequence[Mapping[str, Any]] = json.loads(self.progress)["attempts"]
        return found

    @property
    def revision(self) -> str:
        """The last migration of its database."""
        (found,) = re.findall(r"INSERT INTO \S*alembic_version\S* VALUES\('(\w+)'\)", self.statements)
        return str(found)

    def restore(self, file: Path) -> None:
        """Write its database to *file*."""
        with closing(sqlite3.connect(file)) as rows:
            rows.executescript(self.statements)

    def restore_at(self, file: Path, revision: str) -> None:
        """Write its database to *file* as *revision*, an earlier migration, would have had it.

        The tables are made step by step; rows are in those that there are, without later columns.
        """
        database = f"sqlite:///{file}"
        with exclusive(database) as connection:
            configuration = alembic_configuration()
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, revision)
        whole = file.with_name(f"{file.name}.whole")
        self.restore(whole)
        with closing(sqlite3.connect(file)) as rows, rows:
            rows.execute("ATTACH DATABASE ? AS later", (str(whole),))
            for table in sorted(_tables(rows) - {"alembic_version"}):
                names = ", ".join(_columns(rows, table))
                rows.execute(f"INSERT INTO main.{_QUOTED(table)} ({names}) SELECT {names} FROM later.{_QUOTED(table)}")
        whole.unlink()


def _text(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def _tables(rows: sqlite3.Connection) -> set[str]:
    found = rows.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
    return {name for (name,) in found if not name.startswith("sqlite_")}


def _columns(rows: sqlite3.Connection, table: str) -> Sequence[str]:
    found = rows.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return [_QUOTED(name) for (name,) in found]


@cache
def recordings() -> Sequence[Recording]:
    """Every recorded version, oldest first."""
    found = [
        Recording(file.parent.name, file.parent, json.loads(file.read_text(encoding="utf-8")))
        for file in FOLDER.glob("*/told.json")
    ]
    order = revisions()
    return sorted(found, key=lambda one: order.index(one.revision))


@cache
def revisions() -> Sequence[str]:
    """Every migration, oldest first."""
    scripts = ScriptDirectory.from_config(alembic_configuration())
    return [one.revision for one in scripts.walk_revisions()][::-1]


def upgradable() -> Sequence[tuple[Recording, str]]:
    """Each migration since the first recorded version, with the earliest recording that has it."""
    order = revisions()
    first = order.index(recordings()[0].revision)
    return [
        (next(one for one in recordings() if order.index(one.revision) >= place), order[place])
        for place in range(first, len(order))
        if any(order.index(one.revision) >= place for one in recordings())
    ]
