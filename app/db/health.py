"""Whether the database can do its work now."""

from sqlalchemy import Engine

from app.db.errors import connected
from app.db.migrations import is_current
from app.db.session import BEGIN
from app.errors import UnavailableError


def probe(engine: Engine) -> None:
    """Find out whether rows could be read and written now.

    Raises:
        UnavailableError: they could not; one sentence says why and what mends it.
    """
    # Takes the lock that a write needs, and lets it go.
    writing = {BEGIN: "BEGIN IMMEDIATE"}
    with connected(engine) as connection, connection.execution_options(**writing).begin():
        current = is_current(connection)
    if not current:
        raise UnavailableError("the database lacks tables of this version; restart the server")
