"""Keys to the grading API: shown once, stored as digests."""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence

from sqlalchemy import Engine
from sqlalchemy import text as sql
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from app.db.errors import connected
from app.db.tables import NAME_LIMIT, TokenRow, now
from app.errors import InputError, NotFoundError, nearest

_PREFIX = "wc_"  # lets secret scanners recognize a leaked token
_BYTES = 32
_FRESH = 1.0  # seconds that a token is cached as valid
_NAME = sql("SELECT name FROM token WHERE digest = :digest AND revoked IS NULL")


def create_token(session: Session, name: str) -> str:
    """The secret of a new token called *name*; it cannot be read again.

    Raises:
        InputError: the name is taken, empty, too long or unprintable.
    """
    if not (0 < len(name) <= NAME_LIMIT and name.isprintable() and name.strip() == name):
        raise InputError(
            f"a token's name must have 1 to {NAME_LIMIT} printable characters, and no space at "
            f"either end, not {name[:40]!r}"
        )
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    session.add(TokenRow(name=name, digest=_digest(secret)))
    try:
        session.commit()
    except IntegrityError as error:
        session.rollback()
        raise InputError(f"a token called {name!r} already exists; choose another name") from error
    return secret


def list_tokens(session: Session) -> Sequence[TokenRow]:
    """Every token, oldest first, including revoked ones."""
    return session.exec(select(TokenRow).order_by(col(TokenRow.id))).all()


def revoke_token(session: Session, name: str) -> None:
    """Revoke the token called *name*.

    Raises:
        NotFoundError: there is no such token; the message offers the closest name.
    """
    token = session.exec(select(TokenRow).where(TokenRow.name == name)).first()
    if token is None:
        known = [token.name for token in list_tokens(session)]
        raise NotFoundError(f"no token is called {name!r}{nearest(name, known)}")
    if token.revoked is None:
        token.revoked = now()
        session.add(token)
        session.commit()


class Tokens:
    """A cache of valid tokens: each is looked up at most once a second.

    A revoked token stops working within a second.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._known: dict[str, tuple[str, float]] = {}

    def name(self, secret: str) -> str | None:
        """The name of the token with this *secret*; None if there is no valid one.

        Raises:
            UnavailableError: the database cannot be read.
        """
        digest, now = _digest(secret), self._clock()
        name, until = self._known.get(digest, ("", 0.0))
        if now < until:
            return name
        found = name_of_digest(self._engine, digest)
        if found is None:
            self._known.pop(digest, None)
        else:
            self._known[digest] = found, now + _FRESH
        return found


def name_of_digest(engine: Engine, digest: str) -> str | None:
    """The name of the token that has *digest*; None if there is none."""
    with connected(engine) as connection:
        return connection.execute(_NAME, {"digest": digest}).scalar()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
