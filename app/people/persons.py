"""Persons and their sessions."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine, bindparam, delete
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.errors import connected
from app.db.people import IdentityRow, PersonRow, SessionRow
from app.db.signing import new_learner
from app.db.tables import NAME_LIMIT, now
from app.errors import InputError
from app.people.codes import digest_of

LIFETIME = timedelta(days=180)  # of a session
_BYTES = 32
_LONGEST = 100  # characters of a cookie
_FRESH = 1.0  # seconds that a session is cached as valid
_CACHED = 20_000  # sessions
_FIND = (
    columns(col(PersonRow.id), col(PersonRow.learner), col(PersonRow.name), col(SessionRow.until))
    .join_from(SessionRow, PersonRow, col(PersonRow.id) == col(SessionRow.person))
    .where(col(SessionRow.digest) == bindparam("digest"))
)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The person of a session; answers are stored under *learner*."""

    person: int
    learner: str
    name: str


def clean_name(text: str) -> str:
    """*text* as a name of a person, a class or an assignment.

    Raises:
        InputError: it is empty, too long or unprintable.
    """
    name = " ".join(text.split())
    if not (0 < len(name) <= NAME_LIMIT and name.isprintable()):
        found = f"not {name[:40]!r}" if name else "and nothing was entered"
        raise InputError(f"a name must have 1 to {NAME_LIMIT} printable characters, {found}")
    return name


def new_person(session: Session, name: str = "") -> PersonRow:
    """A new person, flushed but not committed."""
    person = PersonRow(learner=new_learner(), name=name)
    session.add(person)
    session.flush()
    return person


def known_person(session: Session, issuer: str, subject: str) -> PersonRow | None:
    """The person whom *issuer* calls *subject*."""
    found = session.get(IdentityRow, (issuer, subject))
    if found is None:
        return None
    found.seen = now()
    return session.get(PersonRow, found.person)


def open_browser(session: Session, person: int) -> str:
    """A new session of *person*: the text of its cookie. Not committed."""
    cookie = secrets.token_urlsafe(_BYTES)
    until = now() + LIFETIME
    session.add(SessionRow(digest=digest_of(cookie), person=person, until=until))
    return cookie


def close_browser(session: Session, cookie: str) -> None:
    """Sign out the browser with *cookie*."""
    session.connection().execute(
        delete(SessionRow).where(col(SessionRow.digest) == digest_of(cookie))
    )
    session.commit()


def close_every_browser(session: Session, person: int) -> None:
    """Sign *person* out everywhere."""
    session.connection().execute(delete(SessionRow).where(col(SessionRow.person) == person))
    session.commit()


def browsers_of(session: Session, person: int) -> int:
    """The number of browsers in which *person* is signed in."""
    return len(session.exec(select(SessionRow.digest).where(SessionRow.person == person)).all())


class Sessions:
    """A cache of valid sessions: each is looked up at most once a second.

    A browser that was signed out elsewhere is signed out within a second.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._known: dict[str, tuple[SignedIn, float]] = {}
        self._persons: dict[str, SignedIn] = {}

    def find(self, cookie: str) -> SignedIn | None:
        """Who is signed in with *cookie*; None if nobody is.

        Raises:
            UnavailableError: the database cannot be read.
        """
        if not 0 < len(cookie) <= _LONGEST:
            return None
        digest, moment = digest_of(cookie), self._clock()
        known = self._known.get(digest)
        if known and moment < known[1]:
            return known[0]
        found = self._look_up(digest)
        if len(self._known) >= _CACHED or len(self._persons) >= _CACHED:
            self._known.clear()
            self._persons.clear()
        if found is None:
            self._known.pop(digest, None)
        else:
            self._known[digest] = found, moment + _FRESH
            self._persons[found.learner] = found
        return found

    def person_of(self, learner: str) -> SignedIn | None:
        """The person whose learner it is, of those who sent a request lately; asks no database."""
        return self._persons.get(learner)

    def forget(self, cookie: str) -> None:
        """Look *cookie* up again the next time: its session has changed."""
        self._known.pop(digest_of(cookie), None)

    def _look_up(self, digest: str) -> SignedIn | None:
        with connected(self._engine) as connection:
            row = connection.execute(_FIND, {"digest": digest}).first()
        if row is None or row[3] < now():
            return None
        return SignedIn(int(row[0] or 0), row[1], row[2])
