"""Learners without accounts: a random number, signed, in a cookie."""

import os
import secrets
from pathlib import Path

from itsdangerous import BadSignature, Signer
from platformdirs import user_data_path

from app.db.session import database_file
from app.errors import UnavailableError

_BYTES = 32
_LEARNER_BYTES = 16
_SHORTEST = 16  # characters of a secret worth the name


def signing_secret(database: str, given: str = "") -> str:
    """*given*, or the secret kept beside *database*, which is made the first time.

    Raises:
        UnavailableError: the secret cannot be read or made.
    """
    if given:
        return given
    file = database_file(database)
    folder = file.parent if file else user_data_path("wallclock", appauthor=False)
    path = folder / (f"{file.name}.secret" if file else "wallclock.secret")
    try:
        return _read(path) or _make(path)
    except OSError as error:
        raise UnavailableError(
            f"the secret {path} cannot be used: {error.strerror}; set WALLCLOCK_SECRET"
        ) from error


def new_learner() -> str:
    """A number that nobody has had before."""
    return secrets.token_hex(_LEARNER_BYTES)


def sign(learner: str, secret: str) -> str:
    """*learner* as the cookie carries it."""
    return _signer(secret).sign(learner).decode()


def unsign(cookie: str, secret: str) -> str | None:
    """The learner that *cookie* carries; None where it was not signed here."""
    try:
        return _signer(secret).unsign(cookie).decode()
    except (BadSignature, UnicodeError):
        return None


def _signer(secret: str) -> Signer:
    return Signer(secret, salt="wallclock.learner")


def _read(path: Path) -> str:
    try:
        secret = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except UnicodeError:
        secret = ""
    if len(secret) < _SHORTEST:
        raise UnavailableError(f"the secret {path} is damaged; delete it (learners start anew)")
    return secret


def _make(path: Path) -> str:
    """Write a new secret whole; where another server was faster, its secret holds."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(own, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES))
        os.link(own, path)
    except FileExistsError:
        pass
    finally:
        own.unlink()
    return _read(path)
