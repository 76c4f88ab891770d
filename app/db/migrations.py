"""Bring a database to the tables of this code, also when two servers start at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from app.config import ROOT
from app.db.errors import told
from app.db.session import BEGIN, connect
from app.errors import UnavailableError

_PATIENCE = 60.0  # seconds to wait while another server migrates
_LOCK = 0x77616C6C  # any number, as long as every version of the app uses the same


def migrate(database: str) -> None:
    """Upgrade *database* to the newest tables; all of it or, where it fails, nothing.

    Raises:
        UnavailableError: it is of a newer version or of another program, or cannot be changed.
    """
    with exclusive(database) as connection:
        _refuse_strange(connection)
        configuration = alembic_configuration()
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "head")


def is_current(connection: Connection) -> bool:
    """Whether every migration of this code has been applied."""
    return set(MigrationContext.configure(connection).get_current_heads()) == _heads()


def alembic_configuration() -> Config:
    """What Alembic must know, wherever the app is installed."""
    configuration = Config()
    # Alembic reads % as the start of an interpolation.
    configuration.set_main_option("script_location", str(ROOT / "alembic").replace("%", "%%"))
    return configuration


@contextmanager
def exclusive(database: str) -> Iterator[Connection]:
    """A transaction on *database* that no other migration shares; committed at the end."""
    engine = connect(database, _PATIENCE)
    try:
        with told(), engine.connect().execution_options(**{BEGIN: "BEGIN IMMEDIATE"}) as connection:
            lock = _lock_sqlite if engine.dialect.name == "sqlite" else _lock_postgresql
            lock(connection)
            yield connection
            if engine.dialect.name == "sqlite":
                _refuse_orphans(connection)
            connection.commit()
    finally:
        engine.dispose()


def _lock_sqlite(connection: Connection) -> None:
    # Past SQLAlchemy, whose first statement opens a transaction: in one, neither has an effect.
    # With foreign keys on, copying a table that others refer to deletes their rows.
    for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = OFF"):
        connection.connection.cursor().execute(pragma)
    connection.begin()


def _lock_postgresql(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _refuse_orphans(connection: Connection) -> None:
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        raise UnavailableError(
            f"the migration was undone: {len(orphans)} rows refer to rows that are not there "
            f"(the first is in the table {orphans[0][0]!r}); put back a backup"
        )


def _refuse_strange(connection: Connection) -> None:
    applied = MigrationContext.configure(connection).get_current_heads()
    unknown = set(applied) - _known()
    if unknown:
        raise UnavailableError(
            f"the database was made by a newer Wallclock (migration {min(unknown)}); install that "
            "version, or choose another database with WALLCLOCK_DATABASE"
        )
    tables = set(inspect(connection).get_table_names()) - {"alembic_version"}
    if tables and not applied:
        raise UnavailableError(
            f"the database is of another program: it has the table {min(tables)!r}; choose another "
            "with WALLCLOCK_DATABASE"
        )


@cache
def _heads() -> frozenset[str]:
    return frozenset(ScriptDirectory.from_config(alembic_configuration()).get_heads())


@cache
def _known() -> frozenset[str]:
    scripts = ScriptDirectory.from_config(alembic_configuration())
    return frozenset(script.revision for script in scripts.walk_revisions())
