"""Who asks: learners by a cookie without an account, and programs by a token."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from itsdangerous import BadSignature, Signer
from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, bindparam
from sqlalchemy import select as columns
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from app.core.errors import InputError, NotFoundError, UnavailableError, nearest
from app.server.db.session import BEGIN, connect_once, database_file, insert_missing, open_connection
from app.server.db.tables import NAME_LIMIT, SecretRow, TokenRow, now

_LEARNER_BYTES = 16
_SECRET_BYTES = 32
_SHORTEST = 16  # characters; a shorter secret is damaged
_OPTION = "wallclock_secret"  # of an engine
_ONLY = 1  # the number of the only row
_ANOTHER = (
    "WALLCLOCK_SECRET is not the secret that this database's cookies are signed with; unset it, "
    "or restore its earlier value (to sign everyone out instead, empty the table 'secret')"
)
_NOT_SET = (
    "this database's cookies are signed with a WALLCLOCK_SECRET that is not set here; set it to "
    "its earlier value (to sign everyone out instead, empty the table 'secret')"
)


def new_learner() -> str:
    """A new random learner."""
    return secrets.token_hex(_LEARNER_BYTES)


def sign(learner: str, secret: str) -> str:
    """*learner* as a signed cookie."""
    return _signer(secret).sign(learner).decode()


def unsign(cookie: str, secret: str) -> str | None:
    """The learner in *cookie*; None if its signature is not valid."""
    try:
        return _signer(secret).unsign(cookie).decode()
    except (BadSignature, UnicodeError):
        return None


def _signer(secret: str) -> Signer:
    return Signer(secret, salt="wallclock.learner")


def signing_secret(engine: Engine, given: str = "") -> str:
    """*given*, or the secret stored in the database, which is created the first time.

    Of a secret that was *given*, the database stores only a digest. Servers of one database that
    would sign with different secrets are refused, since each would invalidate the other's cookies.

    Raises:
        UnavailableError: the database has another secret, or cannot be used.
    """
    writing = {BEGIN: "BEGIN IMMEDIATE"}  # SQLite: serializes two servers that start at once
    with open_connection(engine) as connection, connection.execution_options(**writing).begin():
        found = _stored_or_made(connection, given)
    engine.update_execution_options(**{_OPTION: found})
    return found


def secret_of(session: Session) -> str:
    """The secret of the database of *session*, as `signing_secret` found it or as it is stored.

    Raises:
        UnavailableError: it is given by a setting, and `signing_secret` was not asked.
    """
    found = session.get_bind().get_execution_options().get(_OPTION)
    return str(found) if found else _stored_or_made(session.connection(), "")


def refuse_other_secret(database: str, given: str) -> None:
    """Raise an `UnavailableError` if *database* has a secret that is not the one *given*."""
    with connect_once(database) as connection:
        if (stored := _stored(connection)) is not None:
            _agreed(stored, given)


def _stored_or_made(connection: Connection, given: str) -> str:
    stored = _stored(connection)
    if stored is None:
        made = given or _secret_in_file(connection.engine) or secrets.token_urlsafe(_SECRET_BYTES)
        values = {"id": _ONLY, "value": "" if given else made, "digest": _digest(made)}
        connection.execute(insert_missing(connection, SecretRow), values)
        stored = _stored(connection)  # if another server was faster, its secret holds
    if stored is None:
        raise UnavailableError("the secret that signs cookies could not be stored; try again")
    return _agreed(stored, given)


def _agreed(stored: tuple[str, str], given: str) -> str:
    value, digest = stored
    if given and not hmac.compare_digest(_digest(given), digest):
        raise UnavailableError(_ANOTHER)
    if not (given or value):
        raise UnavailableError(_NOT_SET)
    return given or value


def _stored(connection: Connection) -> tuple[str, str] | None:
    row = connection.execute(columns(col(SecretRow.value), col(SecretRow.digest))).first()
    return (row[0], row[1]) if row else None


def _secret_in_file(engine: Engine) -> str:
    """The secret in the file that earlier versions wrote; empty if there is none.

    Raises:
        UnavailableError: the file cannot be read, or does not contain a secret.
    """
    file = database_file(engine.url.render_as_string(hide_password=False))
    data = user_data_path("wallclock", appauthor=False)
    path = file.with_name(f"{file.name}.secret") if file else data / "wallclock.secret"
    try:
        secret = path.read_text(encoding="ascii").strip() if path.is_file() else ""
    except OSError as error:
        raise UnavailableError(f"the secret {path} cannot be read: {error.strerror}; let this user read it") from error
    except UnicodeError:
        secret = "?"
    if secret and len(secret) < _SHORTEST:
        raise UnavailableError(f"the secret {path} is damaged; delete it (learners without an account start over)")
    return secret


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
        with open_connection(self._engine) as connection:
            row = connection.execute(_FIND, {"digest": digest}).first()
        if row is None or (row.until is not None and row.until <= now()):
            self._known.pop(digest, None)
            return None
        found = Grant(row.name, row.scope, row.class_id)
        self._known[digest] = found, moment + _FRESH
        return found


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
