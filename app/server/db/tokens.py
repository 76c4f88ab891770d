"""Keys to the grading API: shown once, stored as digests."""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, bindparam
from sqlalchemy import select as columns
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from app.core.errors import InputError, NotFoundError, nearest
from app.server.db.errors import connected
from app.server.db.tables import NAME_LIMIT, TokenRow, now

_PREFIX = "wc_"  # lets secret scanners recognize a leaked token
_BYTES = 32
_FIND = columns(col(TokenRow.name), col(TokenRow.scope), col(TokenRow.class_id), col(TokenRow.until)).where(
    col(TokenRow.digest) == bindparam("digest"), col(TokenRow.revoked).is_(None)
)
_FRESH = 1.0  # seconds that a token is cached as valid
SCOPES = ("check", "class", "admin")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows: to check answers; and all of a class, or of the site.

    *class_id* is that of a token of scope class.
    """

    name: str
    scope: str = "check"
    class_id: int | None = None

    def allows(self, class_id: int) -> bool:
        """Whether it opens everything of a class."""
        return self.scope == "admin" or (self.scope == "class" and self.class_id == class_id)


def create_token(
    session: Session, name: str, scope: str = "check", class_id: int | None = None, until: datetime | None = None
) -> str:
    """The secret of a new token called *name*, valid until *until*; it cannot be read again.

    Raises:
        InputError: the name is taken, empty, too long or unprintable, or the scope is not valid.
    """
    if scope not in SCOPES or (scope == "class") != (class_id is not None):
        raise InputError("a token of scope class needs a class, and no other token has one")
    if until is not None and until <= now():
        raise InputError(f"a token that ends on {until:%Y-%m-%d} would never be valid")
    if not (0 < len(name) <= NAME_LIMIT and name.isprintable() and name.strip() == name):
        raise InputError(
            f"a token's name must have 1 to {NAME_LIMIT} printable characters, and no space at "
            f"either end, not {name[:40]!r}"
        )
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    row = TokenRow(name=name, digest=_digest(secret), scope=scope, class_id=class_id, until=until)
    session.add(row)
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
        NotFoundError: the token does not exist; the message offers the closest name.
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

    A revoked token stops working within a second, and so does one that ends.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._known: dict[str, tuple[Grant, float]] = {}

    def grant(self, secret: str) -> Grant | None:
        """What the token with this *secret* allows; None if there is no valid one.

        Raises:
            UnavailableError: the database cannot be read.
        """
        digest, moment = _digest(secret), self._clock()
        known = self._known.get(digest)
        if known and moment < known[1]:
            return known[0]
        found = grant_of_digest(self._engine, digest)
        if found is None:
            self._known.pop(digest, None)
        else:
            self._known[digest] = found, moment + _FRESH
        return found


def grant_of_digest(engine: Engine, digest: str) -> Grant | None:
    """What the token that has *digest* allows; None if there is none that is valid."""
    with connected(engine) as connection:
        row = connection.execute(_FIND, {"digest": digest}).first()
    if row is None or (row.until is not None and row.until <= now()):
        return None
    return Grant(row.name, row.scope, row.class_id)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
