"""What a server needs for identities of elsewhere, and one whose person is still asked for."""

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.classes.federation.providers import Provider, check_packages, obstacles, providers_in
from app.server.config import Settings

if TYPE_CHECKING:
    from app.classes.federation.http_client import Outgoing
    from app.classes.federation.oidc import SignIns
    from app.classes.federation.tokens import KeySets


class Federation:
    """The providers of a server, and the requests to other services.

    Its properties raise `UnavailableError` if the packages of the extra `people` are missing.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises InputError if WALLCLOCK_OIDC cannot be read."""
        self._settings = settings
        self.providers = {provider.slug: provider for provider in providers_in(settings)}

    def usable(self) -> tuple[Provider, ...]:
        """The providers with which a visitor can sign in now."""
        return () if obstacles(self._settings) else tuple(self.providers.values())

    @cached_property
    def outgoing(self) -> "Outgoing":
        """Requests to other services."""
        check_packages()
        from app.classes.federation.http_client import Outgoing

        return Outgoing(self._settings.private_hosts)

    @cached_property
    def keys(self) -> "KeySets":
        """The keys of other services."""
        check_packages()
        from app.classes.federation.tokens import KeySets

        return KeySets(self.outgoing)

    @cached_property
    def sign_ins(self) -> "SignIns":
        """Sign-ins with OpenID Connect."""
        check_packages()
        from app.classes.federation.oidc import SignIns

        return SignIns(self.outgoing, self.keys, self._settings.private_hosts)


PATIENCE = 600  # seconds


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
