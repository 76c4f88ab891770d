"""The learners for whom answers that came with a token are stored."""

from hashlib import sha256

from app.server.db.tables import LEARNER_LIMIT

_GRADER = "token:"
_ESCAPES = str.maketrans({"%": "%25", "/": "%2F", "#": "%23"})
_DIGEST = 40  # characters of a digest


def grader_named(token: str) -> str:
    """The learner for whom answers with a token are stored: token:NAME.

    >>> grader_named("course"), grader_named("course/1")
    ('token:course', 'token:course%2F1')
    """
    return _whole_or_digest(_GRADER + _escaped(token), "")


def labeled(token: str, label: str) -> str:
    """The learner for whom answers with a token are stored under a label: token:NAME/LABEL.

    No two tokens and labels have the same: where that is too long, it ends with a digest.

    >>> labeled("course", "1/2")
    'token:course/1/2'
    """
    return _whole_or_digest(_GRADER + _escaped(token), f"/{label}")


def _escaped(token: str) -> str:
    """A token's name without what separates it from a label or a digest."""
    return token.translate(_ESCAPES)


def _whole_or_digest(grader: str, label: str) -> str:
    whole = grader + label
    if len(whole) <= LEARNER_LIMIT and "\0" not in whole:
        return whole
    digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{grader[: LEARNER_LIMIT - _DIGEST - 1]}#{digest}"
