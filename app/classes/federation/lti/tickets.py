"""What may be used once: a launch is sealed into a ticket, which opens a window."""

import secrets
from dataclasses import asdict
from datetime import datetime, timedelta

from itsdangerous import BadData, URLSafeTimedSerializer
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col

from app.classes.federation.lti.launch_message import Launch, launch_of
from app.classes.people.codes import code_digest
from app.core.errors import RefusedError
from app.core.translation import translate
from app.server.db.platforms import NonceRow
from app.server.db.tables import now

TICKET_LIFE = timedelta(minutes=10)  # a page of a course is read before its link is opened
CHOICE_LIFE = timedelta(hours=2)  # a teacher may make an assignment first
_BYTES = 12
_SALT = "wallclock.lti.ticket"


def seal_ticket(secret: str, launch: Launch) -> str:
    """A ticket for *launch*: another one each time."""
    serial = secrets.token_urlsafe(_BYTES)
    return URLSafeTimedSerializer(secret, salt=_SALT).dumps([serial, asdict(launch)])


def unsealed(secret: str, ticket: str, life: timedelta = TICKET_LIFE) -> Launch:
    """The launch that a ticket was made for; the ticket is not used up.

    Raises:
        RefusedError: the ticket is not ours, or too old.
    """
    opener = URLSafeTimedSerializer(secret, salt=_SALT)
    try:
        _, values = opener.loads(ticket, max_age=round(life.total_seconds()))
        return launch_of(values)
    except (BadData, TypeError, ValueError):
        minutes = round(life.total_seconds() / 60)
        raise RefusedError(
            translate(
                "this page was opened more than {minutes} minutes ago; reload the page of the course and open it again",
                minutes=minutes,
            )
        ) from None


def use_once(session: Session, text: str, life: timedelta, at: datetime | None = None) -> None:
    """Note that *text* was used, for as long as it is valid. Commits.

    The database refuses a second row, so it holds between servers too.

    Raises:
        RefusedError: it was used before.
    """
    moment = at or now()
    session.connection().execute(delete(NonceRow).where(col(NonceRow.until) < moment))
    session.add(NonceRow(digest=code_digest(text), until=moment + life))
    try:
        session.commit()
    except IntegrityError:
        session.rollback()
        raise RefusedError(translate("this launch was used already; go back to the course and open it again")) from None
