"""Learners without accounts: a random number in a cookie, and the secret that signs it.

The secret is stored with the data, so that both are restored together from a backup.
"""

import hashlib
import hmac
import secrets

from itsdangerous import BadSignature, Signer
from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col

from app.core.errors import UnavailableError
from app.server.db.errors import connected
from app.server.db.session import BEGIN, connect, database_file
from app.server.db.tables import SecretRow

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
    with connected(engine) as connection, connection.execution_options(**writing).begin():
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
    engine = connect(database)
    try:
        with connected(engine) as connection:
            if (stored := _stored(connection)) is not None:
                _agreed(stored, given)
    finally:
        engine.dispose()


def _stored_or_made(connection: Connection, given: str) -> str:
    stored = _stored(connection)
    if stored is None:
        made = given or _secret_in_file(connection.engine) or secrets.token_urlsafe(_SECRET_BYTES)
        _store(connection, given, made)
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
    row = connection.execute(select(col(SecretRow.value), col(SecretRow.digest))).first()
    return (row[0], row[1]) if row else None


def _store(connection: Connection, given: str, secret: str) -> None:
    values = {"id": _ONLY, "value": "" if given else secret, "digest": _digest(secret)}
    if connection.dialect.name == "sqlite":
        connection.execute(sqlite.insert(SecretRow).on_conflict_do_nothing(), values)
    else:
        connection.execute(postgresql.insert(SecretRow).on_conflict_do_nothing(), values)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


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
