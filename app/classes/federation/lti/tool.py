"""Everything of LTI that needs the packages of the extra `people`: one per process."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import Engine

from app.classes.federation.http_client import Outgoing, host_in
from app.classes.federation.lti.deep_link import answer_with
from app.classes.federation.lti.keys import key_set, signing_key
from app.classes.federation.lti.launch_message import Launch, read_launch
from app.classes.federation.lti.login_state import OPENING_LIFE, Begun
from app.classes.federation.lti.platforms import Platform, check_deployment, platform_with
from app.classes.federation.lti.roster import Participant, participants
from app.classes.federation.lti.services import Services
from app.classes.federation.lti.tickets import use_once
from app.classes.federation.tokens import KeySets, verified
from app.classes.people.assignments import Assignment
from app.core.errors import UnavailableError
from app.server.config import Settings
from app.server.db.session import open_session, open_writing_session

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Tool:
    """This site, as learning platforms see it."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._address = settings.url
        self._engine = engine
        self.outgoing = Outgoing(private=settings.private_hosts)
        self._keys = KeySets(self.outgoing)
        self.services = Services(self.outgoing, engine)

    @property
    def address(self) -> str:
        """Our own address, which platforms know.

        Raises:
            UnavailableError: it is not configured, or not https.
        """
        return tool_address(self._address)

    def key_set(self) -> object:
        """Our public keys, as a JSON Web Key Set."""
        with open_writing_session(self._engine) as session:
            return key_set(session)

    async def launched(self, state: Begun, token: str) -> Launch:
        """The launch that *token* is the message of; it can be used once.

        Raises:
            RefusedError: it is not accepted; the message says why.
            UnavailableError: the keys of the platform cannot be read.
        """
        with open_session(self._engine) as session:
            platform = platform_with(session, state.platform)
        claims = await verified(
            token, self._keys, platform.jwks_url, issuer=platform.issuer, audience=platform.client_id, nonce=state.nonce
        )
        launch = read_launch(platform.id, claims, self.address)
        await asyncio.to_thread(self._use, platform, launch.deployment, state.nonce)
        return launch

    def _use(self, platform: Platform, deployment: str, nonce: str) -> None:
        with open_writing_session(self._engine) as session:
            check_deployment(session, platform, deployment)
            use_once(session, f"launch:{nonce}", 2 * OPENING_LIFE)

    def choice(self, launch: Launch, chosen: Sequence[Assignment]) -> str:
        """The signed answer with the assignments that a teacher chose.

        Raises:
            RefusedError: the platform is not active anymore.
        """
        with open_writing_session(self._engine) as session:
            platform = platform_with(session, launch.platform)
            key = signing_key(session)
        return answer_with(key, platform, launch, chosen, self.address)

    async def people(self, platform: Platform, memberships: str) -> Sequence[Participant]:
        """The people of a course. Raises as `participants` does."""
        return await participants(self.services, platform, memberships)


def tool_address(address: str) -> str:
    """Our own address, if platforms can use it.

    Browsers trust the loopback like https, so that LTI can be tried out on one machine.

    Raises:
        UnavailableError: it is not configured, or not https.
    """
    if not address:
        raise UnavailableError(
            "LTI needs the public address of this site; set WALLCLOCK_URL, such as https://wallclock.example.org"
        )
    loopback = f"[{host_in(address)}]" if ":" in host_in(address) else host_in(address)
    if not address.startswith("https://") and loopback not in _LOOPBACK:
        raise UnavailableError(
            f"LTI needs https: browsers send no cookies from frames otherwise; WALLCLOCK_URL is {address}"
        )
    return address
