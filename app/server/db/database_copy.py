"""Move everything to another database: from SQLite to PostgreSQL, or back."""

from collections.abc import Sequence

from sqlalchemy import make_url

from app.core.errors import InputError
from app.server.db.migrations import migrate
from app.server.db.transfer import TableContent, alone_with, contents, copy_rows, delete_rows, row_count


def move(database: str, target: str) -> Sequence[TableContent]:
    """Copy every row of *database* to *target*, and compare; all of them or none.

    If *target* has the same rows already, nothing is changed.

    Raises:
        InputError: they are the same database, or *target* has other rows.
        UnavailableError: a server is using one of them, one cannot be used, or a row differs.
    """
    if make_url(database) == make_url(target):
        raise InputError("the rows are in this database already; name another one")
    migrate(database)
    migrate(target)
    with alone_with(database) as source, alone_with(target) as to:
        if count := row_count(to):
            before, after = contents(source), contents(to)
            if before == after:
                return after
            raise InputError(
                f"the other database has {count:,} rows already, and they differ from the ones "
                "here; name an empty database"
            )
        delete_rows(to)  # of the secret that a new database gets
        copied = copy_rows(source, to)
        to.commit()
    return copied
