"""Upgrade a database to the tables of this version, even if two servers start at once.

Migrations only add tables and columns, so that servers of the version before go on serving.
"""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from app.config import ROOT
from app.db.errors import connected, translated_errors
from app.db.session import BEGIN, connect
from app.db.sqlite_copy import copy_beside
from app.errors import UnavailableError

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
        _refuse_foreign(connection)
        if copied:
            _copy_first(database, _applied(connection))
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
    if applied != _heads() and applied <= _known():
        raise UnavailableError("the database lacks tables of this version; restart the server")


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


def _applied(connection: Connection) -> frozenset[str]:
    return frozenset(MigrationContext.configure(connection).get_current_heads())


def _copy_first(database: str, applied: frozenset[str]) -> None:
    if not applied or applied == _heads():
        return
    if copy := copy_beside(database, min(_heads())):
        _log.warning("the tables are upgraded; before that, the database was copied to %s", copy)
    else:
        _log.warning("the tables are upgraded; PostgreSQL is not copied before, use pg_dump")


def alembic_configuration() -> Config:
    """Alembic's configuration, wherever the app is installed."""
    configuration = Config()
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


def _refuse_foreign(connection: Connection) -> None:
    applied = _applied(connection)
    refuse_newer(applied)
    tables = set(inspect(connection).get_table_names()) - {"alembic_version"}
    if tables and not applied:
        raise UnavailableError(
            f"the database belongs to another program: it has the table {min(tables)!r}; choose "
            "another with WALLCLOCK_DATABASE"
        )


def refuse_newer(applied: Collection[str]) -> None:
    """Raise an `UnavailableError` if a migration in *applied* is not one of this version."""
    if unknown := set(applied) - _known():
        raise UnavailableError(
            f"the database was made by a newer Wallclock (migration {min(unknown)}), and no "
            "version removes tables again: install the newer version, run `wallclock restore` with "
            "a copy from before the upgrade, or choose another database with WALLCLOCK_DATABASE"
        )


@cache
def _heads() -> frozenset[str]:
    return frozenset(ScriptDirectory.from_config(alembic_configuration()).get_heads())


@cache
def _known() -> frozenset[str]:
    scripts = ScriptDirectory.from_config(alembic_configuration())
    return frozenset(script.revision for script in scripts.walk_revisions())
