"""Back up the whole database into one SQLite file, and restore it, on SQLite and PostgreSQL."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import make_url

from app.core.errors import InputError
from app.server.db.archive import FILES
from app.server.db.learner_cookie import refuse_other_secret
from app.server.db.migrations import migrate, refuse_newer, upgrade
from app.server.db.session import database_file
from app.server.db.sqlite_copy import appearing, copy_beside, copy_sqlite, unused
from app.server.db.transfer import alone_with, copy_rows, delete_rows, row_count, snapshot


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
    with appearing(target, os.link) as partial:
        if source is None:
            _copy_postgresql(database, partial)
        else:
            copy_sqlite(source, partial)
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
        copy_sqlite(file, prepared, unused(file))
        url = f"sqlite:///{prepared}"
        _trim(prepared, sign_out=sign_out)
        upgrade(url)
        refuse_other_secret(url, secret)
        migrate(database)
        with snapshot(url) as source, alone_with(database) as target:
            if (count := row_count(target)) and not replace:
                raise InputError(
                    f"the database has {count:,} rows already; --replace deletes them, or choose an empty database"
                )
            if count:
                copy_beside(database, f"restore-{datetime.now(UTC):%Y%m%dT%H%M%S}")
            delete_rows(target)
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
    migrate(database)
    with alone_with(database), TemporaryDirectory(prefix="wallclock-") as folder:
        file = Path(folder) / "backup.db"
        backup(database, file)
        return restore(file, target, secret, replace=replace)


def _copy_postgresql(database: str, target: Path) -> None:
    url = f"sqlite:///{target}"
    migrate(database)
    upgrade(url)
    with snapshot(database) as source, alone_with(url) as copy:
        copy_rows(source, copy)
        copy.commit()


def _refuse_others(file: Path) -> None:
    """Raise an error unless *file* is a backup that this version can read."""
    if not file.is_file():
        raise InputError(f"the file {file} does not exist")
    try:
        with closing(sqlite3.connect(unused(file), uri=True)) as found:
            applied = [name for (name,) in found.execute("SELECT version_num FROM alembic_version")]
            found.execute("SELECT count(*) FROM attempt")
    except sqlite3.Error as error:
        raise InputError(f"{file} is not a backup of Wallclock: {error}") from error
    refuse_newer(applied)


def _trim(prepared: Path, *, sign_out: bool) -> None:
    """Remove what is not restored as rows: files, and the secret if it is to be another one."""
    with closing(sqlite3.connect(prepared)) as rows:
        rows.execute(f"DROP TABLE IF EXISTS {FILES}")
        if sign_out:
            rows.execute("DELETE FROM secret")
        rows.commit()
