"""The keys that sign our messages to platforms.

Platforms keep our key set for hours, so the next key is published three months before it signs,
and one that has signed stays published for a week.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from joserfc import jwk, jwt
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.server.db.people import ToolKeyRow
from app.server.db.tables import now

SIGNS_FOR = timedelta(days=90)
SHOWN_FOR = timedelta(days=7)  # after another key signs
_BITS = 2048
_MINUTES_VALID = 5
_IMPORTED = 8  # keys in use: the one that signs, the next, and those that are still shown
_ALGORITHM = "RS256"  # the one that LTI requires


def signing_key(session: Session, at: datetime | None = None) -> jwk.RSAKey:
    """The key that signs at this moment; it is made the first time. Commits."""
    moment = at or now()
    return _key([row for row in _current(session, moment) if row.signs_from <= moment][-1])


def key_set(session: Session, at: datetime | None = None) -> Mapping[str, object]:
    """The public keys that platforms should know, as a JSON Web Key Set. Commits."""
    rows = _current(session, at or now())
    return {"keys": [_key(row).as_dict(private=False) for row in rows]}


def rotate(session: Session) -> None:
    """Let the next key sign from now on, and forget those before it. Commits."""
    moment = now()
    waiting = [row for row in _current(session, moment) if row.signs_from > moment][-1]
    waiting.signs_from = moment
    session.add(waiting)
    others = delete(ToolKeyRow).where(col(ToolKeyRow.id) != waiting.id)
    session.connection().execute(others)
    session.commit()
    _current(session, moment)


def sign_claims(key: jwk.RSAKey, claims: Mapping[str, object]) -> str:
    """A token with *claims* that is valid for some minutes."""
    moment = int(time.time())
    header = {"alg": _ALGORITHM, "kid": key.kid, "typ": "JWT"}
    times = {"iat": moment, "exp": moment + 60 * _MINUTES_VALID}
    return jwt.encode(header, {**claims, **times}, key)


def _current(session: Session, at: datetime) -> Sequence[ToolKeyRow]:
    """Our keys, in the order in which they sign; the last one does not sign yet."""
    rows = list(session.exec(select(ToolKeyRow).order_by(col(ToolKeyRow.signs_from))))
    if not any(row.signs_from <= at for row in rows):
        rows.insert(0, _new(session, at))
    if not any(row.signs_from > at for row in rows):
        rows.append(_new(session, at + SIGNS_FOR))
    *before, _ = [row for row in rows if row.signs_from <= at]
    for row in before:
        row.retired = row.retired or at
        session.add(row)
        if row.retired < at - SHOWN_FOR:
            session.delete(row)
            rows.remove(row)
    session.commit()
    return rows


def _new(session: Session, signs_from: datetime) -> ToolKeyRow:
    kid = secrets.token_hex(8)
    key = jwk.RSAKey.generate_key(_BITS, parameters={"kid": kid, "use": "sig", "alg": _ALGORITHM})
    row = ToolKeyRow(kid=kid, private=json.dumps(key.as_dict(private=True)), signs_from=signs_from)
    session.add(row)
    session.flush()
    return row


def _key(row: ToolKeyRow) -> jwk.RSAKey:
    return _imported(row.private)


@lru_cache(_IMPORTED)
def _imported(private: str) -> jwk.RSAKey:
    """The key that is written in *private*; its numbers are checked, which takes 30 ms."""
    return jwk.RSAKey.import_key(json.loads(private))
