"""Persons and their sessions."""

import secrets
import time
import unicodedata
from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import BindParameter, Engine, bindparam, delete
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.codes import code_digest
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.batched_reads import Gathered
from app.server.db.errors import connected
from app.server.db.learner_cookie import new_learner
from app.server.db.outage import outage_of
from app.server.db.people import IdentityRow, PersonRow, SessionRow
from app.server.db.tables import NAME_LIMIT, now
from app.site.members import SignedIn

LIFETIME = timedelta(days=180)  # of a session
_BYTES = 32
# Between letters of Persian or of Indian scripts, they are part of how a name is written.
_JOINERS = {ord("\N{ZERO WIDTH NON-JOINER}"): "", ord("\N{ZERO WIDTH JOINER}"): ""}
_LONGEST = 100  # characters of a cookie
_FRESH = 1.0  # seconds that a session is cached as valid
_CACHED = 20_000  # sessions
_DIGESTS: BindParameter[str] = bindparam("digests", expanding=True)
_FIND = (
    columns(
        col(SessionRow.digest),
        col(SessionRow.until),
        col(PersonRow.id),
        col(PersonRow.learner),
        col(PersonRow.name),
        col(PersonRow.made),
    )
    .join_from(SessionRow, PersonRow, col(PersonRow.id) == col(SessionRow.person))
    .where(col(SessionRow.digest).in_(_DIGESTS))
)


def clean_name(text: str) -> str:
    """*text* as a name of a person, a class or an assignment.

    Raises:
        InputError: it is empty, too long or unprintable.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not (0 < len(name) <= NAME_LIMIT and name.translate(_JOINERS).isprintable()):
        found = translate("not {text!r}", text=name[:40]) if name else translate("and nothing was entered")
        raise InputError(
            translate(
                "a name must have 1 to {name_limit} printable characters, {found}", name_limit=NAME_LIMIT, found=found
            )
        )
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
    session.add(SessionRow(digest=code_digest(cookie), person=person, until=until))
    return cookie


def close_browser(session: Session, cookie: str) -> None:
    """Sign out the browser with *cookie*."""
    session.connection().execute(delete(SessionRow).where(col(SessionRow.digest) == code_digest(cookie)))
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
        self._gathered = Gathered(self._look_up, outage_of(engine))

    async def sought(self, cookie: str) -> SignedIn | None:
        """Who is signed in with *cookie*, looked up together with those of other requests.

        Raises:
            UnavailableError: the database cannot be read.
        """
        if not 0 < len(cookie) <= _LONGEST:
            return None
        digest = code_digest(cookie)
        return self._cached(digest) or self._kept(digest, await self._gathered.of(digest))

    def find(self, cookie: str) -> SignedIn | None:
        """Who is signed in with *cookie*; None if nobody is.

        Raises:
            UnavailableError: the database cannot be read.
        """
        if not 0 < len(cookie) <= _LONGEST:
            return None
        digest = code_digest(cookie)
        return self._cached(digest) or self._kept(digest, self._look_up([digest])[0])

    def person_of(self, learner: str) -> SignedIn | None:
        """The person whose learner it is, of those who sent a request lately; asks no database."""
        return self._persons.get(learner)

    def forget(self, cookie: str) -> None:
        """Look *cookie* up again the next time: its session has changed."""
        self._known.pop(code_digest(cookie), None)

    def _cached(self, digest: str) -> SignedIn | None:
        known = self._known.get(digest)
        return known[0] if known and self._clock() < known[1] else None

    def _kept(self, digest: str, found: SignedIn | None) -> SignedIn | None:
        if len(self._known) >= _CACHED or len(self._persons) >= _CACHED:
            self._known.clear()
            self._persons.clear()
        if found is None:
            self._known.pop(digest, None)
        else:
            self._known[digest] = found, self._clock() + _FRESH
            self._persons[found.learner] = found
        return found

    def _look_up(self, digests: Sequence[str]) -> Sequence[SignedIn | None]:
        moment = now()
        with connected(self._engine) as connection:
            rows = connection.execute(_FIND, {"digests": [*digests]}).all()
        found = {
            digest: SignedIn(person or 0, learner, name, made)
            for digest, until, person, learner, name, made in rows
            if until >= moment
        }
        return [found.get(digest) for digest in digests]
