"""The secret that signs cookies: it lives with the data, so that both are restored together."""

import hashlib
import hmac
import secrets

from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from app.db.errors import connected
from app.db.session import BEGIN, database_file
from app.db.tables import SecretRow
from app.errors import UnavailableError

_BYTES = 32
_SHORTEST = 16  # characters of a secret worth the name
_ONLY = 1  # the number of the row
_ANOTHER = (
    "WALLCLOCK_SECRET is not the secret that this database's cookies are signed with; unset it, "
    "or set it as it was (to sign everybody out instead, empty the table 'secret')"
)
_NOT_SET = (
    "this database's cookies are signed with a WALLCLOCK_SECRET that is not set here; set it as it "
    "was (to sign everybody out instead, empty the table 'secret')"
)


def signing_secret(engine: Engine, given: str = "") -> str:
    """*given*, or the secret that the database keeps, which is made the first time.

    Of a secret that was *given* the database keeps a digest alone; servers of one database that
    would sign with different ones are refused, since each would void the cookies of the other.

    Raises:
        UnavailableError: the database knows another secret, or cannot be used.
    """
    writing = {BEGIN: "BEGIN IMMEDIATE"}  # SQLite: two that start at once take turns
    with connected(engine) as connection, connection.execution_options(**writing).begin():
        kept = _kept(connection)
        if kept is None:
            _keep(connection, given, given or _beside(engine) or secrets.token_urlsafe(_BYTES))
            kept = _kept(connection)  # where another server was faster, its secret holds
    if kept is None:
        raise UnavailableError("the secret that signs cookies could not be stored; try again")
    value, digest = kept
    if given and not hmac.compare_digest(_digest(given), digest):
        raise UnavailableError(_ANOTHER)
    if not (given or value):
        raise UnavailableError(_NOT_SET)
    return given or value


def _kept(connection: Connection) -> tuple[str, str] | None:
    row = connection.execute(select(col(SecretRow.value), col(SecretRow.digest))).first()
    return (row[0], row[1]) if row else None


def _keep(connection: Connection, given: str, secret: str) -> None:
    values = {"id": _ONLY, "value": "" if given else secret, "digest": _digest(secret)}
    if connection.dialect.name == "sqlite":
        connection.execute(sqlite.insert(SecretRow).on_conflict_do_nothing(), values)
    else:
        connection.execute(postgresql.insert(SecretRow).on_conflict_do_nothing(), values)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _beside(engine: Engine) -> str:
    """The secret in the file that earlier versions kept, where there is one.

    Raises:
        UnavailableError: the file cannot be read, or holds no secret.
    """
    file = database_file(engine.url.render_as_string(hide_password=False))
    data = user_data_path("wallclock", appauthor=False)
    path = file.with_name(f"{file.name}.secret") if file else data / "wallclock.secret"
    try:
        secret = path.read_text(encoding="ascii").strip() if path.is_file() else ""
    except OSError as error:
        raise UnavailableError(
            f"the secret {path} cannot be read: {error.strerror}; let this user read it"
        ) from error
    except UnicodeError:
        secret = "?"
    if secret and len(secret) < _SHORTEST:
        raise UnavailableError(
            f"the secret {path} is damaged; delete it (learners without an account start over)"
        )
    return secret
