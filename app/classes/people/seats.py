"""What is stored of a seat code: a hash with the site's secret as its key.

A code has 40 bits, so all are tried against a plain hash in minutes; without the secret,
which may be kept apart from the database, nobody can.
"""

import hmac

from sqlalchemy import Engine
from sqlmodel import Session, col, select, update

from app.classes.people.codes import code_digest, read_code
from app.server.db.learner_cookie import secret_of
from app.server.db.people import DIGEST_LENGTH, MemberRow
from app.server.db.session import open_writing_session

_KEYED = "k"  # at its start; a plain hash, as earlier versions stored it, has hexadecimal digits
_PURPOSE = "seat"


def seat_digest(session: Session, code: str) -> str:
    """What is stored of *code* in the database of *session*."""
    return _keyed(secret_of(session), code_digest(read_code(code)))


def seat_of_code(session: Session, code: str) -> MemberRow | None:
    """The row with the seat code *code*, which a server of an earlier version may have stored."""
    stored = (seat_digest(session, code), code_digest(read_code(code)))
    return session.exec(select(MemberRow).where(col(MemberRow.code_digest).in_(stored))).first()


def key_seat_codes(engine: Engine) -> int:
    """Store the seat codes of earlier versions with the secret, and return how many there were."""
    plain = (col(MemberRow.code_digest).is_not(None), col(MemberRow.code_digest).not_like(f"{_KEYED}%"))
    with open_writing_session(engine) as session:
        digests = session.exec(select(MemberRow.code_digest).where(*plain)).all()
        secret = secret_of(session)
        for digest in filter(None, digests):
            same = update(MemberRow).where(col(MemberRow.code_digest) == digest)
            session.exec(same.values(code_digest=_keyed(secret, digest)))
        session.commit()
    return len(digests)


def _keyed(secret: str, digest: str) -> str:
    mac = hmac.digest(secret.encode(), f"{_PURPOSE}:{digest}".encode(), "sha256")
    return f"{_KEYED}{mac.hex()}"[:DIGEST_LENGTH]
