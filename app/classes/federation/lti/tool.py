"""Everything of LTI that needs the packages of the extra `people`: one per process."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from joserfc import jwk
from sqlalchemy import Engine

from app.classes.federation.http_client import Outgoing, host_in
from app.classes.federation.lti.enrollment import Participant, participants
from app.classes.federation.lti.launch_message import (
    CLAIM,
    DEEP_LINK_ANSWER,
    DEEP_LINKING,
    LAUNCH,
    TAG,
    VERSION,
    Launch,
    read_launch,
    use_once,
)
from app.classes.federation.lti.platforms import OPENING_LIFE, LaunchState, Platform, check_deployment, platform_with
from app.classes.federation.lti.scores import Services, key_set, sign_claims, signing_key, terms_of
from app.classes.federation.tokens import KeySets, verify_token
from app.classes.people.assignments import Assignment
from app.core.errors import UnavailableError
from app.server.config import Settings
from app.server.db.session import open_session, open_writing_session


def answer_with(key: jwk.RSAKey, platform: Platform, launch: Launch, chosen: Sequence[Assignment], service: str) -> str:
    """The signed message that adds links to *chosen* assignments to a course."""
    data = {DEEP_LINKING + "data": launch.answer_data} if launch.answer_data else {}
    return sign_claims(
        key,
        {
            "iss": platform.client_id,
            "aud": [platform.issuer],
            "nonce": secrets.token_urlsafe(16),
            CLAIM + "deployment_id": launch.deployment,
            CLAIM + "message_type": DEEP_LINK_ANSWER,
            CLAIM + "version": VERSION,
            DEEP_LINKING + "content_items": [_item(one, service) for one in chosen],
            **data,
        },
    )


def _item(assignment: Assignment, service: str) -> Mapping[str, object]:
    """A link to an assignment, in a window of its own, with a column for its points."""
    return {
        "type": "ltiResourceLink",
        "title": assignment.title,
        "url": f"{service}{LAUNCH}",
        "custom": {"assignment": str(assignment.id)},
        "window": {"targetName": "_blank"},
        "lineItem": {
            "scoreMaximum": assignment.points or 1.0,
            "label": assignment.title,
            "resourceId": f"assignment-{assignment.id}",
            "tag": TAG,
        },
        **_submission(assignment),
    }


def _submission(assignment: Assignment) -> Mapping[str, object]:
    """The dates of an assignment, where it has some, as the platform's calendar takes them."""
    terms = terms_of(assignment).fields()
    dates = {name: date for name, date in terms.items() if name.endswith("DateTime")}
    return {"submission": dates} if dates else {}


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

    async def launched(self, state: LaunchState, token: str) -> Launch:
        """The launch that *token* is the message of; it can be used once.

        Raises:
            RefusedError: it is not accepted; the message says why.
            UnavailableError: the keys of the platform cannot be read.
        """
        with open_session(self._engine) as session:
            platform = platform_with(session, state.platform)
        claims = await verify_token(
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
