"""Back up the whole database into one SQLite file, restore it, or move it to another database."""

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, Row, Table, TextClause, delete, func, insert, make_url, select, text
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import SQLModel

from app.core.errors import InputError, UnavailableError
from app.server.db import migrations, tables
from app.server.db.learner_cookie import refuse_other_secret
from app.server.db.session import BEGIN, connect_once, database_file

FILES = "sqlar"
_LARGEST = 512 << 20  # bytes of a file; it is compressed in memory
_MADE = f"""CREATE TABLE {FILES}
    (name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)"""


def store_files(database: Path, folder: Path) -> tuple[int, list[str]]:
    """Put the files below *folder* into *database*; how many, and which are too large.

    Raises:
        UnavailableError: a file cannot be read, or the database not written.
    """
    count, left_out = 0, []
    try:
        with closing(sqlite3.connect(database)) as archive:
            archive.execute(f"DROP TABLE IF EXISTS {FILES}")
            archive.execute(_MADE)
            for path in _files(folder):
                name = path.relative_to(folder).as_posix()
                if path.stat().st_size > _LARGEST:
                    left_out.append(name)
                    continue
                archive.execute(f"INSERT INTO {FILES} VALUES (?, ?, ?, ?, ?)", _archive_row(name, path))
                count += 1
            archive.commit()
    except sqlite3.Error as error:
        raise UnavailableError(f"the files of {folder} cannot be stored: {error}") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from error
    return count, left_out


def unpack_files(database: Path, folder: Path) -> int:
    """Write the files in *database* below *folder*, except those that are there; returns how many.

    Raises:
        InputError: a file has an unsafe name, or is damaged.
        UnavailableError: a file cannot be written.
    """
    count = 0
    with closing(sqlite3.connect(migrations.unused_file_uri(database), uri=True)) as archive:
        found = archive.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (FILES,)).fetchone()
        rows = archive.execute(f"SELECT name, sz, data FROM {FILES}") if found else ()
        for name, size, content in rows:
            inside = PurePosixPath(str(name))
            if inside.is_absolute() or not inside.parts or ".." in inside.parts or "\0" in str(name):
                raise InputError(f"the backup contains a file with the unsafe name {str(name)[:80]!r}")
            path = folder / inside
            if not path.exists():
                _write(path, _archive_content(name, size, content))
                count += 1
    return count


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below *folder*; no links, sockets or pipes."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _archive_row(name: str, path: Path) -> tuple[str, int, int, int, bytes]:
    status, content = path.stat(), path.read_bytes()
    packed = zlib.compress(content)
    # The format stores a file as it is where compression does not make it smaller.
    smaller = packed if len(packed) < len(content) else content
    return name, status.st_mode, int(status.st_mtime), len(content), smaller


def _archive_content(name: str, size: object, content: object) -> bytes:
    if isinstance(content, bytes) and isinstance(size, int) and 0 <= size <= _LARGEST:
        if len(content) == size:
            return content
        try:
            plain = zlib.decompressobj().decompress(content, size + 1)
        except zlib.error:
            plain = b""
        if len(plain) == size:
            return plain
    raise InputError(f"the file {name!r} in the backup is damaged")


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from error


_BATCH = 1_000  # rows in memory
_SUM = 1 << 256
_LOOKS, _LOOK = 20, 0.05  # times, and seconds between them
_SHOWN = 12  # digits of a digest
_CONTINUE = text("SELECT setval(CAST(:of AS regclass), :to, :used)")


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table's number of rows, and a digest of them that does not depend on their order."""

    table: str
    rows: int
    digest: str


def every_table() -> Sequence[Table]:
    """The tables, each after those that it refers to."""
    return SQLModel.metadata.sorted_tables


def contents(connection: Connection) -> list[TableContent]:
    """What is in the tables now."""
    return [_content(connection, table) for table in every_table()]


def row_count(connection: Connection) -> int:
    """The rows of all tables, except of the one secret, which each new database gets by itself."""
    counted = [table for table in every_table() if table.name != tables.SecretRow.__tablename__]
    return sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in counted)


def copy_rows(source: Connection, target: Connection) -> list[TableContent]:
    """Copy every row of *source* to the empty tables of *target*, and return what is there then.

    Neither is committed.

    Raises:
        UnavailableError: *target* refuses a row, or what is there is not what was copied.
    """
    for table in every_table():
        for rows in _batches(source, table):
            _insert(target, table, rows)
    if target.dialect.name == "postgresql":
        _set_sequences(target)
    before, after = contents(source), contents(target)
    for old, new in zip(before, after, strict=True):
        if old != new:
            raise UnavailableError(
                f"the copy of the table {old.table!r} differs: {new.rows} rows with the digest "
                f"{new.digest} instead of {old.rows} with {old.digest}; nothing was copied"
            )
    return after


@contextmanager
def snapshot(database: str) -> Iterator[Connection]:
    """A connection that sees *database* as it was at one moment, while others write to it."""
    with connect_once(database) as connection:
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


@contextmanager
def alone_with(database: str) -> Iterator[Connection]:
    """A connection to *database*, to which no one else can write meanwhile.

    Raises:
        UnavailableError: a server is using it.
    """
    immediate = {BEGIN: "BEGIN IMMEDIATE"}
    with connect_once(database) as connection:
        refuse_in_use(connection)
        connection.execution_options(**immediate)
        if connection.dialect.name == "postgresql":
            names = map(connection.dialect.identifier_preparer.format_table, every_table())
            connection.execute(text(f"LOCK TABLE {', '.join(names)} IN EXCLUSIVE MODE"))
        yield connection


def refuse_in_use(connection: Connection) -> None:
    """Raise an `UnavailableError` if a server has a connection to this database."""
    if connection.dialect.name == "postgresql":
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        mine = "pid <> pg_backend_pid() AND application_name = 'wallclock'"
        in_use = _repeatedly(connection, text(others + mine))
    else:
        in_use = _is_open_elsewhere(connection)
    if in_use:
        raise UnavailableError(
            "a server is using the database; stop it first, or answers that it stores meanwhile would be missing"
        )


def _repeatedly(connection: Connection, count: TextClause) -> bool:
    """Whether *count* is never zero: a connection that was just closed is listed for a moment."""
    for _ in range(_LOOKS):
        found = connection.execute(count).scalar()
        connection.rollback()
        if not found:
            return False
        time.sleep(_LOOK)
    return True


def _is_open_elsewhere(connection: Connection) -> bool:
    """Whether another connection has the SQLite file open: only the last one may leave WAL."""
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 0")
    try:
        cursor.execute("PRAGMA journal_mode = DELETE")
        ((mode,),) = cursor.fetchall()
    except Exception as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_BUSY":
            raise
        mode = "wal"
    finally:
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.close()
    return bool(mode == "wal")


def _insert(target: Connection, table: Table, rows: Sequence[Row[Any]]) -> None:
    try:
        target.execute(insert(table), [dict(row._mapping) for row in rows])
    except (DataError, IntegrityError) as error:
        why = " ".join(str(error.orig).split())
        raise UnavailableError(
            f"a row of the table {table.name!r} cannot be stored there, so nothing was copied: {why}"
        ) from error


def _batches(connection: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    streamed = connection.execution_options(stream_results=True, yield_per=_BATCH)
    with streamed.execute(select(table)) as result:
        yield from result.partitions()


def _content(connection: Connection, table: Table) -> TableContent:
    count = total = 0
    for rows in _batches(connection, table):
        count += len(rows)
        for row in rows:
            line = json.dumps(list(row), default=str, ensure_ascii=False)
            total += int.from_bytes(hashlib.sha256(line.encode()).digest(), "big")
    return TableContent(table.name, count, f"{total % _SUM:064x}"[:_SHOWN])


def _set_sequences(connection: Connection) -> None:
    """Continue the numbers of rows after the highest one."""
    for table in every_table():
        name = connection.dialect.identifier_preparer.format_table(table)
        for column in table.primary_key:
            owned = select(func.pg_get_serial_sequence(name, column.name))
            sequence = connection.execute(owned).scalar()
            if sequence is not None:
                highest = connection.execute(select(func.max(column))).scalar()
                following = {"of": sequence, "to": highest or 1, "used": highest is not None}
                connection.execute(_CONTINUE, following)


def backup(database: str, target: Path, finish: Callable[[Path], None] | None = None) -> None:
    """Copy *database* to the new SQLite file *target*, which appears whole or not at all.

    Before it appears, *finish* may add to it.

    Raises:
        InputError: *target* exists, its folder does not, or there is no database.
        UnavailableError: the database cannot be copied, or the copy is damaged.
    """
    source = database_file(database)
    if source is not None and not source.exists():
        raise InputError(f"the database {source} does not exist yet")
    if target.exists():
        raise InputError(f"{target} already exists; choose another name")
    # Unlike a rename, a link never replaces a file.
    with migrations.publish_whole(target, os.link) as partial:
        if source is None:
            url = f"sqlite:///{partial}"
            migrations.migrate(database)
            migrations.upgrade(url)
            with snapshot(database) as rows, alone_with(url) as copy:
                copy_rows(rows, copy)
                copy.commit()
        else:
            migrations.copy_sqlite(source, partial)
        if finish:
            finish(partial)


def restore(file: Path, database: str, secret: str, *, replace: bool = False, sign_out: bool = False) -> int:
    """Put the rows of the backup *file* into *database*, all or none; returns how many.

    A backup of an earlier version gets the tables of this one. Rows that are there already are
    replaced only if *replace*. To *sign_out* is to forget the secret that signs cookies.

    Raises:
        InputError: *file* is not a backup, or the database has rows.
        UnavailableError: *file* is damaged or from a newer version, *secret* is not its own, a
            server is using the database, or it cannot be written.
    """
    _refuse_others(file)
    with TemporaryDirectory(prefix="wallclock-") as folder:
        prepared = Path(folder) / "prepared.db"
        migrations.copy_sqlite(file, prepared, migrations.unused_file_uri(file))
        url = f"sqlite:///{prepared}"
        with closing(sqlite3.connect(prepared)) as trimmed:  # what is not restored as rows
            trimmed.execute(f"DROP TABLE IF EXISTS {FILES}")
            if sign_out:
                trimmed.execute("DELETE FROM secret")
            trimmed.commit()
        migrations.upgrade(url)
        refuse_other_secret(url, secret)
        migrations.migrate(database)
        with snapshot(url) as source, alone_with(database) as target:
            if (count := row_count(target)) and not replace:
                raise InputError(
                    f"the database has {count:,} rows already; --replace deletes them, or choose an empty database"
                )
            if count:
                migrations.copy_beside(database, f"restore-{datetime.now(UTC):%Y%m%dT%H%M%S}")
            for table in reversed(every_table()):
                target.execute(delete(table))
            rows = sum(content.rows for content in copy_rows(source, target))
            target.commit()
    return rows


def move(database: str, target: str, secret: str, *, replace: bool = False) -> int:
    """Restore a backup of *database* into *target*, all rows or none; returns how many.

    Raises:
        InputError: they are the same database, or *target* has rows.
        UnavailableError: a server is using one of them, or one cannot be used.
    """
    if make_url(database) == make_url(target):
        raise InputError("the rows are in this database already; name another one")
    migrations.migrate(database)
    with alone_with(database), TemporaryDirectory(prefix="wallclock-") as folder:
        file = Path(folder) / "backup.db"
        backup(database, file)
        return restore(file, target, secret, replace=replace)


def _refuse_others(file: Path) -> None:
    """Raise an error unless *file* is a backup that this version can read."""
    if not file.is_file():
        raise InputError(f"the file {file} does not exist")
    try:
        with closing(sqlite3.connect(migrations.unused_file_uri(file), uri=True)) as found:
            applied = [name for (name,) in found.execute("SELECT version_num FROM alembic_version")]
            found.execute("SELECT count(*) FROM attempt")
    except sqlite3.Error as error:
        raise InputError(f"{file} is not a backup of Wallclock: {error}") from error
    migrations.refuse_newer(applied)
