"""Learners without accounts: a random number, signed, in a cookie."""

import secrets

from itsdangerous import BadSignature, Signer

_LEARNER_BYTES = 16


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
