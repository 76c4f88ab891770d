"""Persons, their sessions, and the codes that people write down and type."""

import hashlib
import hmac
import secrets
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import BindParameter, Connection, Engine, bindparam, delete, event, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.core.errors import input_error, refused_error
from app.core.translation import noted, translate
from app.server.db.learner_cookie import new_learner, secret_of
from app.server.db.people import DIGEST_LENGTH, SUBJECT_LIMIT, IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.session import BatchedLookup, open_connection, open_writing_session, outage_of
from app.server.db.tables import NAME_LIMIT, now
from app.site.members import SignedIn

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1"})
LENGTH = 8  # 40 bits
_CODES_LONGEST = 64  # characters that are read
_JOIN_LENGTH = 10


def random_code() -> str:
    """A new random code, as `K7M2-9QXT`."""
    return group_code("".join(secrets.choice(_LETTERS) for _ in range(LENGTH)))


def read_code(text: str) -> str:
    """The characters of a typed code; case, spaces, hyphens and look-alikes do not matter.

    >>> read_code("k7m2 9qxt")
    'K7M29QXT'
    >>> read_code("K7MZ-O1lx")
    'K7MZ011X'
    """
    letters = text[:_CODES_LONGEST].upper().translate(_LOOKALIKES)
    return "".join(letter for letter in letters if letter in _LETTERS)


def group_code(code: str) -> str:
    """*code* in groups of four, which are easier to copy.

    >>> group_code("K7M29QXT")
    'K7M2-9QXT'
    """
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def code_digest(text: str) -> str:
    """What is stored of a code or a session."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def join_code(secret: str, class_id: int, number: int) -> str:
    """The code of a class's join link: it follows from the site's *secret*, so none is stored.

    Another *number* gives another code; 50 bits.
    """
    key = hmac.digest(secret.encode(), f"join:{class_id}:{number}".encode(), "sha256")
    bits = int.from_bytes(key[:8])
    return "".join(_LETTERS[bits >> 5 * place & 31] for place in range(_JOIN_LENGTH)).lower()


LIFETIME = timedelta(days=180)  # of a session
_BYTES = 32
# Between letters of Persian or of Indian scripts, they are part of how a name is written.
_JOINERS = {ord("\N{ZERO WIDTH NON-JOINER}"): "", ord("\N{ZERO WIDTH JOINER}"): ""}
_LONGEST = 100  # characters of a cookie
_CLOSED = "closed_browsers"  # noted at a connection, until it commits
_DOUBTED = noted(
    "since this account was connected, the person has entered another class: sign in another way, with a seat code or "
    "through your course, and confirm the account on your page, under your name in the menu"
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WayIn:
    """How someone is here now: in a *browser* that is signed in, or as *issuer* calls them.

    If it *trusts* who teaches all of their classes, accounts stay connected as they are.
    """

    browser: str = ""
    issuer: str = ""
    subject: str = ""
    trusts: bool = False


NO_WAY = WayIn()  # someone else acts


def clean_name(text: str) -> str:
    """*text* as a name of a person, a class or an assignment.

    Raises:
        InputError: it is empty, too long or unprintable.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not (0 < len(name) <= NAME_LIMIT and name.translate(_JOINERS).isprintable()):
        found = translate("not {text!r}", text=name[:40]) if name else translate("and nothing was entered")
        raise input_error(
            "a name must have 1 to {name_limit} printable characters, {found}", name_limit=NAME_LIMIT, found=found
        )
    return name


def clean_id(text: str) -> str:
    """*text* as an id of a person in other systems; it may be empty.

    Raises:
        InputError: it is too long or unprintable.
    """
    found = unicodedata.normalize("NFC", text.strip().removeprefix("#"))
    if len(found) > SUBJECT_LIMIT or not found.isprintable():
        raise input_error("an id has at most {subject_limit} printable characters", subject_limit=SUBJECT_LIMIT)
    return found


def new_person(session: Session, name: str = "") -> PersonRow:
    """A new person, flushed but not committed."""
    person = PersonRow(learner=new_learner(), name=name)
    session.add(person)
    session.flush()
    return person


def known_person(session: Session, issuer: str, subject: str) -> PersonRow | None:
    """The person whom *issuer* calls *subject*.

    Raises:
        RefusedError: the person has to confirm first that it is still theirs.
    """
    found = session.get(IdentityRow, (issuer, subject))
    if found is None:
        return None
    if found.doubted:
        raise refused_error(_DOUBTED)
    found.seen = now()
    return session.get(PersonRow, found.person)


def open_browser(session: Session, person: int, issuer: str = "", subject: str = "") -> str:
    """A new session of *person*, whom *issuer* calls so: the text of its cookie. Not committed."""
    cookie = secrets.token_urlsafe(_BYTES)
    until = now() + LIFETIME
    digest = code_digest(cookie)
    session.add(SessionRow(digest=digest, person=person, until=until, issuer=issuer, subject=subject))
    return cookie


def identity_of_browser(session: Session, browser: str) -> IdentityRow | None:
    """The identity that signed in the person of a browser; None if a code or a link did."""
    row = session.get(SessionRow, browser) if browser else None
    found = session.get(IdentityRow, (row.issuer, row.subject)) if row else None
    return found if row and found and found.person == row.person else None


def show_identity(session: Session, browser: str, person: int, issuer: str, subject: str) -> bool:
    """Whether *browser* is signed in as *person*; if so, it is by that identity from now on."""
    row = session.get(SessionRow, browser) if browser else None
    if row is None or row.person != person:
        return False
    row.issuer, row.subject = issuer, subject
    session.add(row)
    return True


def is_own_browser(session: Session, browser: str) -> bool:
    """Whether an account that is the person's own for certain has signed in *browser*."""
    here = identity_of_browser(session, browser)
    return here is not None and here.own


def speaks_for(session: Session, person: SignedIn) -> bool:
    """Whether a browser is that of the person, and not of someone who knows a code of theirs.

    Those who sign in by themselves do so; by an account that nobody else can have connected, if they have one.
    """
    rows = session.exec(select(IdentityRow).where(IdentityRow.person == person.person)).all()
    here = identity_of_browser(session, person.browser)
    return not rows or (here is not None and (here.own or not any(row.own for row in rows)))


def end_other_ways(session: Session, person: int, way: WayIn = NO_WAY) -> None:
    """Let *person* be here by *way* alone, and by identities of their own; not committed.

    Someone who enters a class may be known to the teachers of another one: these made seat codes,
    signed in with them, and connected accounts there. All browsers but this one are signed out,
    codes end, and what is not the person's own for certain has to be confirmed by them.
    """
    here = identity_of_browser(session, way.browser)
    session.exec(update(MemberRow).where(col(MemberRow.person) == person).values(code_digest=None))
    foreign = col(IdentityRow.person) == person, ~col(IdentityRow.own)
    if not way.trusts:
        session.exec(update(IdentityRow).where(*foreign).values(doubted=True))
    for issuer, subject in {(way.issuer, way.subject), *([(here.issuer, here.subject)] if here else [])}:
        if shown := session.get(IdentityRow, (issuer, subject)):
            shown.doubted = False
            session.add(shown)
    close_every_browser(session, person, way.browser)


def has_doubted(session: Session, person: int) -> bool:
    """Whether there are identities of *person* that have to be confirmed."""
    rows = select(IdentityRow.subject).where(IdentityRow.person == person, col(IdentityRow.doubted))
    return session.exec(rows.limit(1)).first() is not None


def confirm_identities(session: Session, person: int) -> None:
    """Let all identities of *person*, who says so, sign them in again; not committed."""
    session.exec(update(IdentityRow).where(col(IdentityRow.person) == person).values(doubted=False))


def close_browser(session: Session, cookie: str) -> None:
    """Sign out the browser with *cookie*."""
    session.connection().execute(delete(SessionRow).where(col(SessionRow.digest) == code_digest(cookie)))
    session.commit()


def close_every_browser(session: Session, person: int, browser: str = "") -> None:
    """Sign *person* out everywhere, but in *browser*; not committed."""
    session.exec(delete(SessionRow).where(col(SessionRow.person) == person, col(SessionRow.digest) != browser))
    session.connection().info[_CLOSED] = True


def browsers_of(session: Session, person: int) -> int:
    """The number of browsers in which *person* is signed in."""
    return len(session.exec(select(SessionRow.digest).where(SessionRow.person == person)).all())


class Sessions:
    """A cache of valid sessions: each is looked up at most once a second.

    A browser that was signed out by this server is signed out at once, by another one in a second.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._known: dict[str, tuple[SignedIn, float]] = {}
        self._persons: dict[str, SignedIn] = {}
        self._gathered = BatchedLookup(self._look_up, outage_of(engine))
        event.listen(engine, "commit", self._forget_closed)

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

    def _forget_closed(self, connection: Connection) -> None:
        """Look every browser up again once some were signed out."""
        if connection.info.pop(_CLOSED, False):
            self._known.clear()

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
        with open_connection(self._engine) as connection:
            rows = connection.execute(_FIND, {"digests": [*digests]}).all()
        found = {
            digest: SignedIn(person or 0, learner, name, made, digest)
            for digest, until, person, learner, name, made in rows
            if until >= moment
        }
        return [found.get(digest) for digest in digests]


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
