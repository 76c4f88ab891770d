"""Every row of one database copied to another, and proof that they are the same."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, TextClause, delete, func, insert, select, text
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import SQLModel

from app.core.errors import UnavailableError
from app.server.db import people, platforms, tables  # noqa: F401 (the tables that there are)
from app.server.db.errors import connected
from app.server.db.session import BEGIN, connect

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


def delete_rows(connection: Connection) -> None:
    """Delete every row."""
    for table in reversed(every_table()):
        connection.execute(delete(table))


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
    engine = connect(database)
    try:
        with connected(engine) as connection:
            if engine.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
    finally:
        engine.dispose()


@contextmanager
def alone_with(database: str) -> Iterator[Connection]:
    """A connection to *database*, to which no one else can write meanwhile.

    Raises:
        UnavailableError: a server is using it.
    """
    engine = connect(database)
    immediate = {BEGIN: "BEGIN IMMEDIATE"}
    try:
        with connected(engine) as connection:
            refuse_in_use(connection)
            connection.execution_options(**immediate)
            if engine.dialect.name == "postgresql":
                names = map(connection.dialect.identifier_preparer.format_table, every_table())
                connection.execute(text(f"LOCK TABLE {', '.join(names)} IN EXCLUSIVE MODE"))
            yield connection
    finally:
        engine.dispose()


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
