"""A check that is sent again with the same Idempotency-Key is one attempt."""

import hashlib

from fastapi import Request
from starlette.exceptions import HTTPException

from app.db.replays import Replayed, replayed
from app.db.tables import KEY_LIMIT, Replay
from app.errors import UnavailableError
from app.grading.verdicts import Judged, Submission
from app.site import Site

HEADER = "Idempotency-Key"
_VISIBLE = range(0x21, 0x7F)  # of ASCII


def key_of(request: Request) -> str:
    """The key that *request* was sent with, or nothing.

    Raises:
        HTTPException: 400, it is no key.
    """
    keys = request.headers.getlist(HEADER)
    if not keys:
        return ""
    key = keys[0]
    if len(keys) > 1 or not 0 < len(key) <= KEY_LIMIT or any(ord(c) not in _VISIBLE for c in key):
        raise HTTPException(
            400, f"{HEADER} must be given once, with 1 to {KEY_LIMIT} visible ASCII characters"
        )
    return key


def sent_before(site: Site, learner: str, key: str, submission: Submission) -> str | None:
    """The verdict that was sent for *key*, as JSON; None where there is none yet.

    Raises:
        HTTPException: 422, the key belongs to another answer.
    """
    found = replayed(site.engine, learner, key)
    return _same(found, submission) if found else None


def sent_first(site: Site, learner: str, key: str, submission: Submission) -> str:
    """The verdict of the check with the same *key* that was stored first."""
    before = sent_before(site, learner, key, submission)
    if before is None:
        raise UnavailableError("this key was used a moment ago; try again")
    return before


def replay_of(learner: str, key: str, submission: Submission, verdict: Judged) -> Replay:
    """What is stored, to be sent again."""
    text = verdict.model_dump_json(exclude_none=True)
    return Replay(learner=learner, key=key, digest=_digest(submission), verdict=text)


def _same(found: Replayed, submission: Submission) -> str:
    if found.digest != _digest(submission):
        raise HTTPException(422, f"this {HEADER} was used for another answer; use a new one")
    return found.verdict


def _digest(submission: Submission) -> str:
    return hashlib.sha256(submission.model_dump_json().encode()).hexdigest()
