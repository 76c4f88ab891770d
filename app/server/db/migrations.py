"""Upgrade a database to the tables of this version, even if two servers start at once.


Migrations only add tables and columns, so that servers of the version before go on serving.
"""

import logging
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from app.core.errors import UnavailableError
from app.core.folders import ROOT
from app.server.db.errors import connected, translated_errors
from app.server.db.session import BEGIN, connect
from app.server.db.sqlite_copy import copy_beside

if TYPE_CHECKING:  # 10 MB, and a tenth of a second: Alembic is imported where tables change
    from alembic.config import Config

_VERSIONS = "alembic_version"  # Alembic's table
_REVISION = re.compile(r"""^(revision|down_revision).* = ["'](\w+)["']$""", re.MULTILINE)
_log = logging.getLogger(__name__)
_LOCK_WAIT = 60.0  # seconds to wait while another server migrates
_LOCK = 0x77616C6C  # any number, as long as every version of the app uses the same one


def migrate(database: str) -> None:
    """Upgrade *database* to the latest tables, all or nothing.

    A SQLite database with rows is copied first, to a file beside it.

    Raises:
        UnavailableError: it belongs to a newer version or another program, or cannot be changed or
            copied.
    """
    if not _is_current(database):
        _upgrade(database, copied=True)


def upgrade(database: str) -> None:
    """The same without a copy: *database* is one itself.

    Raises:
        UnavailableError: as above.
    """
    _upgrade(database, copied=False)


def _upgrade(database: str, *, copied: bool) -> None:
    with exclusive(database) as connection:
        applied = _applied(connection)
        _refuse_foreign(connection, applied)
        if applied == _heads():
            return
        if copied:
            _copy_first(database, applied)
        from alembic import command

        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "head")


def probe(engine: Engine) -> None:
    """Check that rows can be read and written now.

    Raises:
        UnavailableError: they cannot; one sentence says why, and the cure.
    """
    # Takes the lock that a write needs, and releases it.
    writing = {BEGIN: "BEGIN IMMEDIATE"}
    with connected(engine) as connection, connection.execution_options(**writing).begin():
        applied = _applied(connection)
    # A newer version only adds to the tables: this one still works, until it is restarted.
    if applied != _heads() and applied <= _revisions("revision"):
        raise UnavailableError("the database lacks tables of this version; restart the server")


def standing(database: str) -> int:
    """How many migrations the next start would apply to *database*, which is not changed.

    Raises:
        UnavailableError: it belongs to a newer version or another program, or cannot be read.
    """
    from alembic.script import ScriptDirectory

    engine = connect(database)
    try:
        with connected(engine) as connection:
            applied = _applied(connection)
            _refuse_foreign(connection, applied)
    finally:
        engine.dispose()
    scripts = ScriptDirectory.from_config(alembic_configuration())
    return len(list(scripts.iterate_revisions("heads", tuple(applied) or "base")))


def _is_current(database: str) -> bool:
    """Whether there is nothing to do, which the processes of one server need no lock to see."""
    engine = connect(database, _LOCK_WAIT)
    try:
        with connected(engine) as connection:
            if engine.dialect.name == "sqlite":
                mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
                return mode == "wal" and _applied(connection) == _heads()
            return _applied(connection) == _heads()
    finally:
        engine.dispose()


def _copy_first(database: str, applied: frozenset[str]) -> None:
    if not applied or applied == _heads():
        return
    if copy := copy_beside(database, min(_heads())):
        _log.warning("the tables are upgraded; before that, the database was copied to %s", copy)
    else:
        _log.warning("the tables are upgraded; PostgreSQL is not copied before, use pg_dump")


def alembic_configuration() -> "Config":
    """Alembic's configuration, wherever the app is installed."""
    from alembic.config import Config

    configuration = Config(stdout=sys.stdout)  # by default, what it was at the import
    # Alembic reads % as the start of an interpolation.
    configuration.set_main_option("script_location", str(ROOT / "alembic").replace("%", "%%"))
    return configuration


@contextmanager
def exclusive(database: str) -> Iterator[Connection]:
    """A transaction on *database* that excludes other migrations; committed on exit."""
    engine = connect(database, _LOCK_WAIT)
    try:
        immediate = {BEGIN: "BEGIN IMMEDIATE"}
        with translated_errors(), engine.connect().execution_options(**immediate) as connection:
            lock = _lock_sqlite if engine.dialect.name == "sqlite" else _lock_postgresql
            lock(connection)
            yield connection
            if engine.dialect.name == "sqlite":
                _refuse_orphans(connection)
            connection.commit()
    finally:
        engine.dispose()


def _lock_sqlite(connection: Connection) -> None:
    # On the driver's cursor: SQLAlchemy's first statement opens a transaction, in which neither
    # has an effect. With foreign keys on, copying a table that others refer to deletes their rows.
    for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = OFF"):
        connection.connection.cursor().execute(pragma)
    connection.begin()


def _lock_postgresql(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _refuse_orphans(connection: Connection) -> None:
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        raise UnavailableError(
            f"the migration was rolled back: {len(orphans)} rows refer to rows that do not exist "
            f"(the first is in the table {orphans[0][0]!r}); restore a backup"
        )


def _applied(connection: Connection) -> frozenset[str]:
    """The latest migration of a database; none if its tables were never made."""
    if not inspect(connection).has_table(_VERSIONS):
        return frozenset()
    return frozenset(connection.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalars())


def _refuse_foreign(connection: Connection, applied: frozenset[str]) -> None:
    refuse_newer(applied)
    tables = set(inspect(connection).get_table_names()) - {_VERSIONS}
    if tables and not applied:
        raise UnavailableError(
            f"the database belongs to another program: it has the table {min(tables)!r}; choose "
            "another with WALLCLOCK_DATABASE"
        )


def refuse_newer(applied: Collection[str]) -> None:
    """Raise an `UnavailableError` if a migration in *applied* is not one of this version."""
    if unknown := set(applied) - _revisions("revision"):
        raise UnavailableError(
            f"the database was made by a newer Wallclock (migration {min(unknown)}), and no "
            "version removes tables again: install the newer version, run `wallclock restore` with "
            "a copy from before the upgrade, or choose another database with WALLCLOCK_DATABASE"
        )


@cache
def _heads() -> frozenset[str]:
    """The migrations that no other one follows: one, but for a mistake of ours."""
    return _revisions("revision") - _revisions("down_revision")


@cache
def _revisions(name: str) -> frozenset[str]:
    """The values of that *name*, of every migration."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "alembic/versions").glob("*.py"))
    found = (pair for text in texts for pair in _REVISION.findall(text))
    return frozenset(value for key, value in found if key == name)
