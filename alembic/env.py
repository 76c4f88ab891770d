"""Run the migrations on the database of the app, or on the connection that the app hands over."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection
from sqlmodel import AutoString, SQLModel

from app.server.config import Settings
from app.server.db import measurements, people, tables  # noqa: F401 (what the database is compared with)
from app.server.db.migrations import exclusive
from app.server.db.session import StateText, UtcDateTime


def render_item(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """Write plain SQLAlchemy types: a migration must outlive the code it was made from."""
    if kind != "type":
        return False
    if isinstance(item, UtcDateTime):
        return "sa.DateTime()"
    if isinstance(item, StateText):
        return "sa.String(length=100)"
    return f"sa.String(length={item.length})" if isinstance(item, AutoString) else False


def run(connection: Connection) -> None:
    """Migrate through *connection*, in the transaction that is open on it."""
    context.configure(
        connection,
        target_metadata=SQLModel.metadata,
        render_item=render_item,
        render_as_batch=True,  # SQLite alters a table by copying it
    )
    with context.begin_transaction():
        context.run_migrations()


if (given := context.config.attributes.get("connection")) is not None:
    run(given)
else:
    with exclusive(Settings().database) as connection:
        run(connection)
