"""Upgrades of a database to the tables of this version, and copies from before a change."""

import asyncio
import logging
import os
import re
import sqlite3
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from app.core.errors import InputError, UnavailableError
from app.core.folders import ROOT
from app.server.db.session import BEGIN, connect, connect_once, database_file, open_connection, translated_errors
from app.server.db.tables import now

if TYPE_CHECKING:
    from alembic.config import Config

BEFORE = ".before-"  # between the name of the database and why it was copied
_MODE = 0o600  # a copy contains the answers of learners


def copy_beside(database: str, why: str) -> Path | None:
    """The copy of the SQLite *database*, in a file beside it that is named after *why*.

    None on PostgreSQL.

    Raises:
        UnavailableError: there is no room for it, or the database cannot be copied.
    """
    source = database_file(database)
    if source is None:
        return None
    target = source.with_name(f"{source.name}{BEFORE}{why}")
    try:
        with publish_whole(target, os.replace) as partial:
            copy_sqlite(source, partial)
    except InputError as error:
        raise UnavailableError(f"nothing was changed: {error}") from error
    return target


def unused_file_uri(file: Path) -> str:
    """The URI to read the SQLite *file*, which no one writes to and which may be read-only."""
    is_whole = not file.with_name(f"{file.name}-wal").exists()
    return f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"


def copy_sqlite(source: Path, target: Path, address: str = "") -> None:
    """Copy the SQLite database *source* to the file *target*; *address* is its URI.

    Raises:
        UnavailableError: it cannot be copied, or the copy is damaged.
    """
    address = address or f"{source.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy)
            (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.Error as error:
        raise UnavailableError(f"the database {source} cannot be copied: {error}") from error
    if verdict != "ok":
        raise UnavailableError(f"the copy is damaged: {verdict}")


@contextmanager
def publish_whole(target: Path, publish: Callable[[Path, Path], None]) -> Iterator[Path]:
    """A file that becomes *target* when the block ends without an error; *publish* renames it.

    Raises:
        InputError: *target* cannot be written, or exists although *publish* replaces nothing.
    """
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, _MODE))
        yield partial
        publish(partial, target)
    except FileExistsError as error:
        raise InputError(f"{target} already exists; choose another name") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        for end in ("", "-wal", "-shm"):
            partial.with_name(partial.name + end).unlink(missing_ok=True)


LIFE = timedelta(days=30)
_PAUSE = 24 * 3600.0  # seconds from one look to the next
_log = logging.getLogger(__name__)


def last_copy_expires(database: str) -> datetime | None:
    """When the last copy beside *database* is removed; None if there is none."""
    return max((made + LIFE for _, made in _copies(database)), default=None)


def remove_expired_copies(database: str, at: datetime) -> None:
    """Remove the copies beside the SQLite *database* that are older than their life *at* a time."""
    for path, made in _copies(database):
        if made + LIFE <= at:
            path.unlink(missing_ok=True)
            _log.warning("a copy from before a change was removed after %d days: %s", LIFE.days, path)


async def remove_expired(database: str) -> None:
    """Remove expired copies now and every day."""
    while True:
        try:
            await asyncio.to_thread(remove_expired_copies, database, now())
        except OSError as error:
            _log.warning("a copy from before a change cannot be removed: %s", error)
        await asyncio.sleep(_PAUSE)


def _copies(database: str) -> Iterator[tuple[Path, datetime]]:
    """The copies beside *database*, and when each was made."""
    source = database_file(database)
    if source is None or not source.name:
        return
    start = f"{source.name}{BEFORE}"
    for path in source.parent.iterdir() if source.parent.is_dir() else ():
        if not path.name.startswith(start) or path.name.endswith(".partial"):
            continue
        with suppress(FileNotFoundError):  # another process removes them, too
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                yield path, datetime.fromtimestamp(found.st_mtime, UTC)


_VERSIONS = "alembic_version"  # Alembic's table
_REVISION = re.compile(r"""^(revision|down_revision).* = ["'](\w+)["']$""", re.MULTILINE)
_LOCK_WAIT = 60.0  # seconds to wait while another server migrates
_LOCK = 0x77616C6C  # any number, as long as every version of the app uses the same one


def migrate(database: str) -> None:
    """Upgrade *database* to the latest tables, all or nothing.

    A SQLite database with rows is copied first, to a file beside it.

    Raises:
        UnavailableError: it belongs to a newer version or another program, or cannot be changed or copied.
    """
    if not _is_current(database):
        upgrade(database, copied=True)


def upgrade(database: str, *, copied: bool = False) -> None:
    """The same, where a lock shows what is to do; without a copy, *database* is one itself."""
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
    with open_connection(engine) as connection, connection.execution_options(**writing).begin():
        applied = _applied(connection)
    # A newer version only adds to the tables: this one still works, until it is restarted.
    if applied != _heads() and applied <= _revisions("revision"):
        raise UnavailableError("the database lacks tables of this version; restart the server")


def pending_migrations(database: str) -> int:
    """How many migrations the next start would apply to *database*, which is not changed.

    Raises:
        UnavailableError: it belongs to a newer version or another program, or cannot be read.
    """
    from alembic.script import ScriptDirectory

    with connect_once(database) as connection:
        applied = _applied(connection)
        _refuse_foreign(connection, applied)
    scripts = ScriptDirectory.from_config(alembic_configuration())
    return len(list(scripts.iterate_revisions("heads", tuple(applied) or "base")))


def _is_current(database: str) -> bool:
    """Whether there is nothing to do, which the processes of one server need no lock to see."""
    with connect_once(database, _LOCK_WAIT) as connection:
        if connection.dialect.name == "sqlite":
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            return mode == "wal" and _applied(connection) == _heads()
        return _applied(connection) == _heads()


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
            if engine.dialect.name == "sqlite":
                # On the driver's cursor: SQLAlchemy's first statement opens a transaction, in which neither
                # has an effect. With foreign keys on, copying a table that others refer to deletes their rows.
                for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = OFF"):
                    connection.connection.cursor().execute(pragma)
                connection.begin()
            else:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection
            if engine.dialect.name == "sqlite":
                orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
                if orphans:
                    raise UnavailableError(
                        f"the migration was rolled back: {len(orphans)} rows refer to rows that do not exist "
                        f"(the first is in the table {orphans[0][0]!r}); restore a backup"
                    )
            connection.commit()
    finally:
        engine.dispose()


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
