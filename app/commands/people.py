"""What the commands on classes share: the database, and a class by its number or name."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlmodel import Session, col, select

from app.core.errors import InputError, NotFoundError, nearest
from app.server.config import Settings
from app.server.db.learner_cookie import signing_secret
from app.server.db.migrations import migrate
from app.server.db.people import ClassRow
from app.server.db.session import connect, open_session, open_writing_session


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """The database, and the secret that codes and variants follow from."""

    settings: Settings
    session: Session
    secret: str


@contextmanager
def open_database(*, writes: bool = False) -> Iterator[OpenDatabase]:
    """The database of the settings, migrated.

    On SQLite, no other program can store anything from the first query of one that *writes* to
    its commit: what may wait for a person or a file is done before or after.
    """
    settings = Settings()
    migrate(settings.database)
    engine = connect(settings.database)
    try:
        secret = signing_secret(engine, settings.secret)
        with (open_writing_session if writes else open_session)(engine) as session:
            yield OpenDatabase(settings, session, secret)
    finally:
        engine.dispose()


def class_called(session: Session, text: str) -> ClassRow:
    """The class with that number or name.

    Raises:
        InputError: several classes have the name.
        NotFoundError: the class does not exist; the message offers the closest name.
    """
    rows = session.exec(select(ClassRow).order_by(col(ClassRow.id))).all()
    found = [row for row in rows if text == str(row.id)] or [r for r in rows if r.name == text]
    if len(found) > 1:
        numbers = ", ".join(str(row.id) for row in found)
        raise InputError(f"several classes are called {text!r}: give the number, of {numbers}")
    if not found:
        known = [row.name for row in rows]
        says = nearest(text, known) or "; `wallclock class list` lists all"
        raise NotFoundError(f"no class {text[:60]!r} was found{says}")
    return found[0]


def print_json(value: object) -> None:
    """Print *value* as JSON."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def public_address(settings: Settings, path: str) -> str:
    """*path* on the public site, or on this machine if no address is set."""
    return f"{settings.url or f'http://{settings.host}:{settings.port}{settings.prefix}'}{path}"
