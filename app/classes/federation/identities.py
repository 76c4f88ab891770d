"""The person of an identity of elsewhere, known by issuer and subject, and what a server needs to know them."""

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from app.classes.federation.providers import PATIENCE, Provider, check_packages, obstacles, providers_in
from app.classes.people.classes import number_of
from app.classes.people.persons import known_person, new_person
from app.core.errors import UnavailableError
from app.server.config import Settings
from app.server.db.people import IdentityRow, PersonRow

if TYPE_CHECKING:
    from app.classes.federation.lti.tool import Tool
    from app.classes.federation.oidc import SignIns

_NO_PLATFORMS = (
    "learning platforms need packages that are not installed here: install wallclock[people], then restart the server"
)


class Federation:
    """The providers of a server, and the requests to other services.

    Its properties raise `UnavailableError` if the packages of the extra `people` are missing.
    """

    def __init__(self, settings: Settings, engine: Engine) -> None:
        """Raises InputError if WALLCLOCK_OIDC cannot be read."""
        self._settings, self._engine = settings, engine
        self.providers = {provider.slug: provider for provider in providers_in(settings)}

    def usable(self) -> tuple[Provider, ...]:
        """The providers with which a visitor can sign in now."""
        return () if obstacles(self._settings) else tuple(self.providers.values())

    @cached_property
    def sign_ins(self) -> "SignIns":
        """Sign-ins with OpenID Connect."""
        check_packages()
        from app.classes.federation.http_client import Outgoing
        from app.classes.federation.oidc import SignIns
        from app.classes.federation.tokens import KeySets

        outgoing = Outgoing(self._settings.private_hosts)
        return SignIns(outgoing, KeySets(outgoing), self._settings.private_hosts)

    @cached_property
    def tool(self) -> "Tool":
        """This site as learning platforms see it.

        Its packages take 20 MB and half a second, which a server without platforms does not pay.
        """
        try:
            from app.classes.federation.lti.tool import Tool
        except ModuleNotFoundError as error:
            raise UnavailableError(_NO_PLATFORMS, str(error)) from error
        return Tool(self._settings, self._engine)


@dataclass(frozen=True, slots=True)
class Pending:
    """A proven identity, and where its person goes next; *person*: who was signed in before."""

    issuer: str
    subject: str
    next: str
    person: int = 0

    def signed(self, secret: str, person: int) -> str:
        """Itself as a cookie of a browser in which *person* is signed in."""
        return _signer(secret).dumps((*astuple(self)[:3], person))

    @classmethod
    def read(cls, cookie: str, secret: str) -> "Pending | None":
        """What a cookie holds; None if it is not valid or too old."""
        try:
            return cls(*_signer(secret).loads(cookie, max_age=PATIENCE))
        except (BadSignature, TypeError):
            return None


def _signer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="wallclock.identity")


def person_of(session: Session, issuer: str, subject: str, name: str = "") -> PersonRow:
    """The person whom *issuer* calls *subject*, made if there is none. Commits."""
    found = known_person(session, issuer, subject)
    if found is None:
        found = new_person(session, name)
        session.add(IdentityRow(issuer=issuer, subject=subject, person=number_of(found)))
    return _stored_person(session, issuer, subject, found)


def connect_identity(
    session: Session, issuer: str, subject: str, person: int, *, own: bool = False
) -> PersonRow | None:
    """Let *subject* of *issuer* sign in as *person*, whose it is, from now on. Commits.

    An identity that another person has stays theirs. It is the person's *own* for certain if such a
    one has signed in the browser that says so.
    """
    found = known_person(session, issuer, subject)
    if found is None:
        found = session.get(PersonRow, person)
        if found is None or found.deleted:
            return None
        session.add(IdentityRow(issuer=issuer, subject=subject, person=person, own=own))
    return _stored_person(session, issuer, subject, found)


def may_connect(session: Session, issuer: str, subject: str, person: int) -> bool:
    """Whether an identity is new, and *person* has none of the same issuer."""
    if session.get(IdentityRow, (issuer, subject)) is not None:
        return False
    other = select(IdentityRow).where(IdentityRow.issuer == issuer, IdentityRow.person == person)
    return session.exec(other.limit(1)).first() is None


def issuers_of(session: Session, person: int) -> list[str]:
    """The issuers with which *person* can sign in."""
    rows = select(IdentityRow.issuer).where(IdentityRow.person == person)
    return list(session.exec(rows.order_by(col(IdentityRow.issuer))).all())


def _stored_person(session: Session, issuer: str, subject: str, person: PersonRow) -> PersonRow:
    """*person*, or the one whom another request stored for this identity at the same moment."""
    try:
        session.commit()
    except IntegrityError:
        session.rollback()
        first = known_person(session, issuer, subject)
        if first is None:
            raise
        return first
    return person
