"""What may be used once: a launch is sealed into a ticket, which opens a window."""

from dataclasses import asdict
from datetime import datetime, timedelta

from itsdangerous import BadData, URLSafeTimedSerializer
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col

from app.db.platforms import NonceRow
from app.db.tables import now
from app.errors import RefusedError
from app.federation.lti.launching import Launch, launch_of
from app.people.codes import digest_of

TICKET_LIFE = timedelta(minutes=10)
_SALT = "wallclock.lti.ticket"


def sealed(secret: str, launch: Launch) -> str:
    """A ticket for *launch*."""
    return URLSafeTimedSerializer(secret, salt=_SALT).dumps(asdict(launch))


def unsealed(secret: str, ticket: str) -> Launch:
    """The launch that a ticket was made for; the ticket is not used up.

    Raises:
        RefusedError: the ticket is not ours, or too old.
    """
    opener = URLSafeTimedSerializer(secret, salt=_SALT)
    try:
        return launch_of(opener.loads(ticket, max_age=round(TICKET_LIFE.total_seconds())))
    except (BadData, TypeError, ValueError):
        minutes = round(TICKET_LIFE.total_seconds() / 60)
        raise RefusedError(
            f"this page was opened more than {minutes} minutes ago; reload the page of the course "
            "and open it again"
        ) from None


def use_once(session: Session, text: str, life: timedelta, at: datetime | None = None) -> None:
    """Note that *text* was used, for as long as it is valid. Commits.

    The database refuses a second row, so it holds between servers too.

    Raises:
        RefusedError: it was used before.
    """
    moment = at or now()
    session.connection().execute(delete(NonceRow).where(col(NonceRow.until) < moment))
    session.add(NonceRow(digest=digest_of(text), until=moment + life))
    try:
        session.commit()
    except IntegrityError:
        session.rollback()
        raise RefusedError(
            "this launch was used already; go back to the course and open it again"
        ) from None
