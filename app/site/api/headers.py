"""What a check's headers say: whose token it has, and whether it was sent before.

A check that is sent again with the same Idempotency-Key is one attempt.
"""

from hashlib import sha256
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from app.core.errors import UnavailableError
from app.server.db.learner_cookie import Grant
from app.server.db.replays import find_replay
from app.server.db.tables import KEY_LIMIT, LEARNER_LIMIT, Replay
from app.site import Here, Site
from app.site.grading.offline import CheckResult, Submission

_GRADER = "token:"
_GRANT = "grant"  # in the state of a request
_ESCAPES = str.maketrans({"%": "%25", "/": "%2F", "#": "%23"})
_DIGEST = 40  # characters of a digest


def grader_named(token: str) -> str:
    """The learner for whom answers with a token are stored: token:NAME.

    >>> grader_named("course"), grader_named("course/1")
    ('token:course', 'token:course%2F1')
    """
    return _learner_named(token, "")


def labeled_learner(token: str, label: str) -> str:
    """The learner for whom answers with a token are stored under a label: token:NAME/LABEL.

    No two tokens and labels have the same: where that is too long, it ends with a digest.

    >>> labeled_learner("course", "1/2")
    'token:course/1/2'
    """
    return _learner_named(token, f"/{label}")


def _learner_named(token: str, label: str) -> str:
    """The learner of a *token*, in whose name nothing separates it from a *label* or a digest."""
    grader = _GRADER + token.translate(_ESCAPES)
    whole = grader + label
    if len(whole) <= LEARNER_LIMIT and "\0" not in whole:
        return whole
    digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{grader[: LEARNER_LIMIT - _DIGEST - 1]}#{digest}"


IDEMPOTENCY = "Idempotency-Key"
_BEARER = HTTPBearer(auto_error=False, description="`wallclock token create NAME` creates one")
_TOKEN_LENGTH = 200  # characters of a token
_REQUIRED = "a valid token is required: Authorization: Bearer wc_... (wallclock token create NAME)"
_LATER = ("learner", "expect", "says")  # fields of a submission
_VISIBLE = range(0x21, 0x7F)  # of ASCII


def grant_of(request: Request, site: Site) -> Grant:
    """What the token of *request* allows.

    Raises:
        HTTPException: 401, there is no valid token.
    """
    found = _grant(request, site)
    if found is None:
        raise HTTPException(401, _REQUIRED, {"WWW-Authenticate": "Bearer"})
    return found


def token_name(request: Request, site: Site) -> str:
    """The name of the valid token that *request* has; empty if it has none."""
    found = _grant(request, site)
    return found.name if found else ""


def _grant(request: Request, site: Site) -> Grant | None:
    """What the token allows, which a request asks for twice: when it arrives, and when it is handled."""
    state = request.scope.setdefault("state", {})
    if _GRANT not in state:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        secret = secret.strip()
        is_token = scheme.lower() == "bearer" and 0 < len(secret) <= _TOKEN_LENGTH
        # A lookup by index takes less time here than a trip to another thread.
        state[_GRANT] = site.tokens.grant(secret) if is_token else None
    found: Grant | None = state[_GRANT]
    return found


def grader_of(grant: Grant) -> str:
    """The learner for whom attempts with a token are stored: token:NAME."""
    return grader_named(grant.name)


def answer_learner(site: Site, grant: Grant, submission: Submission) -> str:
    """The learner for whom the answer of *submission* is stored.

    Raises:
        InputError: it names a learner, and nobody in the class of the token is called so.
    """
    label = submission.learner
    if label is None:
        return grader_of(grant)
    if grant.scope == "check":
        return labeled_learner(grant.name, label)
    return site.members.learner_called(label, grant.class_id)


async def _granted(
    request: Request, site: Here, _: Annotated[object, Depends(_BEARER)]
) -> Grant:  # the result of _BEARER is not used: it is there for the OpenAPI description
    return grant_of(request, site)


Granted = Annotated[Grant, Depends(_granted)]


def idempotency_key(request: Request) -> str:
    """The Idempotency-Key of *request*, or an empty string.

    Raises:
        HTTPException: 400, it is not a valid key.
    """
    keys = request.headers.getlist(IDEMPOTENCY)
    if not keys:
        return ""
    key = keys[0]
    if len(keys) > 1 or not 0 < len(key) <= KEY_LIMIT or any(ord(c) not in _VISIBLE for c in key):
        raise HTTPException(400, f"{IDEMPOTENCY} must be given once, with 1 to {KEY_LIMIT} visible ASCII characters")
    return key


def sent_before(site: Site, learner: str, key: str, submission: Submission) -> str | None:
    """The result that was sent for *key*, as JSON; None if there is none yet.

    Raises:
        HTTPException: 422, the key was used for a different answer.
    """
    found = find_replay(site.engine, learner, key)
    if found and found.digest != _digest(submission):
        raise HTTPException(422, f"this {IDEMPOTENCY} was used for a different answer; use a new one")
    return found.verdict if found else None


def sent_first(site: Site, learner: str, key: str, submission: Submission) -> str:
    """The result of the check with the same *key* that was stored first."""
    before = sent_before(site, learner, key, submission)
    if before is None:
        raise UnavailableError("this key was used a moment ago; try again")
    return before


def replay_of(learner: str, key: str, submission: Submission, result: CheckResult) -> Replay:
    """The replay to store, so that *result* can be sent again."""
    text = result.model_dump_json(exclude_none=True)
    return Replay(learner=learner, key=key, digest=_digest(submission), verdict=text)


def _digest(submission: Submission) -> str:
    # As before there were these: what was sent by then stays the same request.
    unnamed = {name for name in _LATER if getattr(submission, name) is None}
    return sha256(submission.model_dump_json(exclude=unnamed).encode()).hexdigest()
