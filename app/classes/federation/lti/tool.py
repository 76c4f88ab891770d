"""This site as learning platforms see it: how it registers, and what it sends and answers; needs the extra `people`."""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwk
from sqlalchemy import Engine

from app.classes.federation.http_client import Outgoing, host_in
from app.classes.federation.lti import launch_message
from app.classes.federation.lti.enrollment import Participant, participants
from app.classes.federation.lti.platforms import OPENING_LIFE, LaunchState, Platform, check_deployment, platform_with
from app.classes.federation.lti.scores import Services, key_set, sign_claims, signing_key, terms_of
from app.classes.federation.tokens import KeySets, verify_token
from app.classes.people.assignments import Assignment
from app.core.errors import RefusedError, UnavailableError
from app.server.config import Settings
from app.server.db.people import ADDRESS_LIMIT, ISSUER_LIMIT, SUBJECT_LIMIT
from app.server.db.session import open_session, open_writing_session
from app.server.network.response_policy import origin_of

_CANVAS_PREFIX = "https://canvas.instructure.com/lti/"
# Where graded assignments are made, the menu of all assignments, and modules.
PLACEMENTS = ("assignment_selection", "course_assignments_menu", "link_selection")
# Canvas tells the id of a registrar under this name alone, unless it tells e-mail addresses, too.
CUSTOM = {"sis_user_id": "$Canvas.user.sisSourceId", "group": "$com.instructure.User.sectionNames"}
_TITLE = "Wallclock"
_SAYS = "Exercises in the arithmetic of distributed training"
_OWN_DOMAINS = (".instructure.com", ".canvaslms.com")


def canvas_configuration(service: str) -> Mapping[str, Any]:
    """The JSON that an administrator of Canvas pastes, or whose address they enter."""
    launch = f"{service}{launch_message.LAUNCH}"
    placements = [
        {"placement": name, "message_type": launch_message.DEEP_LINK, "target_link_uri": launch, "text": _TITLE}
        for name in PLACEMENTS
    ]
    return {
        "title": _TITLE,
        "description": _SAYS,
        "oidc_initiation_url": f"{service}/lti/login",
        "target_link_uri": launch,
        "scopes": list(launch_message.SCOPES),
        "public_jwk_url": f"{service}/lti/jwks",
        "custom_fields": CUSTOM,
        "extensions": [
            {
                "domain": urlsplit(service).netloc,
                "tool_id": "wallclock",
                "platform": "canvas.instructure.com",
                "privacy_level": "name_only",
                "settings": {"text": _TITLE, "placements": placements},
            }
        ],
    }


def hosts_issuer(issuer: str, configuration: str) -> bool:
    """Whether Canvas describes *issuer* at the address *configuration*.

    All of its hosted sites have one issuer, and describe themselves at hosts of their own.
    """
    own, there = (urlsplit(url).hostname or "" for url in (issuer, configuration))
    is_canvas = own in {f"canvas{kind}.instructure.com" for kind in ("", ".beta", ".test")}
    https = configuration.startswith("https://")
    return is_canvas and https and there.endswith(_OWN_DOMAINS)


_TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
_PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"
_CREATED = (HTTPStatus.OK, HTTPStatus.CREATED)


async def register_at_platform(
    outgoing: Outgoing, name: str, configuration: str, token: str, service: str
) -> tuple[Platform, str]:
    """The platform whose OpenID configuration is at an address, which knows us then; its deployment, if it named one.

    It is inactive until an operator activates it: a platform may name any person and any role.

    Raises:
        RefusedError: the platform does not say what it must, or refuses.
        UnavailableError: it cannot be reached.
    """
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    about = (await outgoing.get(configuration, bearer)).fields()
    issuer = _text_field(about, "issuer", ISSUER_LIMIT)
    if origin_of(issuer) != origin_of(configuration) and not hosts_issuer(issuer, configuration):
        raise RefusedError(f"the configuration at {host_in(configuration)} is that of another issuer, {issuer!r}")
    platform = about.get(_PLATFORM)
    canvas = isinstance(platform, dict) and platform.get("product_family_code") == "canvas"
    answer = await outgoing.send(
        "POST",
        _text_field(about, "registration_endpoint", ADDRESS_LIMIT),
        headers={"Content-Type": "application/json", **bearer},
        body=json.dumps(_description(service, canvas=canvas)).encode(),
    )
    if answer.status not in _CREATED:
        raise RefusedError(f"{host_in(configuration)} refuses the registration: {answer.status} ({answer.said()})")
    given = answer.fields()
    platform = Platform(
        name=name,
        issuer=issuer,
        client_id=_text_field(given, "client_id", ISSUER_LIMIT),
        auth_url=_text_field(about, "authorization_endpoint", ADDRESS_LIMIT),
        token_url=_text_field(about, "token_endpoint", ADDRESS_LIMIT),
        token_audience=_optional(about, "authorization_server", ADDRESS_LIMIT),
        jwks_url=_text_field(about, "jwks_uri", ADDRESS_LIMIT),
        active=False,
    )
    for url in (platform.auth_url, platform.token_url, platform.jwks_url):
        await outgoing.check(url)
    tool = given.get(_TOOL)
    found = _optional(tool, "deployment_id", SUBJECT_LIMIT) if isinstance(tool, dict) else ""
    return platform, found


def _description(service: str, *, canvas: bool) -> Mapping[str, object]:
    """What a platform is told about us; Canvas shows a tool only where it says so."""
    launch = f"{service}{launch_message.LAUNCH}"
    choosing: dict[str, object] = {"type": launch_message.DEEP_LINK, "target_link_uri": launch}
    own: dict[str, object] = {}
    if canvas:
        choosing["placements"] = [_CANVAS_PREFIX + name for name in PLACEMENTS]
        own = {f"{_CANVAS_PREFIX}privacy_level": "name_only", "custom_parameters": CUSTOM}
    messages = [choosing, {"type": launch_message.RESOURCE_LINK}]
    return {
        "application_type": "web",
        "response_types": ["id_token"],
        "grant_types": ["implicit", "client_credentials"],
        "initiate_login_uri": f"{service}/lti/login",
        "redirect_uris": [launch],
        "client_name": "Wallclock",
        "jwks_uri": f"{service}/lti/jwks",
        "logo_uri": f"{service}/favicon.ico",
        "token_endpoint_auth_method": "private_key_jwt",
        "scope": " ".join(launch_message.SCOPES),
        _TOOL: {
            "domain": urlsplit(service).netloc,
            "target_link_uri": launch,
            "claims": ["iss", "sub", "name", "given_name", "family_name"],
            "messages": messages,
            "description": "Exercises in the arithmetic of distributed training",
            **own,
        },
    }


def _text_field(fields: Mapping[str, object], name: str, most: int) -> str:
    found = _optional(fields, name, most)
    if not found:
        raise RefusedError(f"the platform's answer has no {name}, of at most {most:,} characters")
    return found


def _optional(fields: Mapping[str, object], name: str, most: int) -> str:
    found = fields.get(name)
    plain = isinstance(found, str) and len(found) <= most and found.isprintable()
    return str(found) if plain else ""


def answer_with(
    key: jwk.RSAKey, platform: Platform, launch: launch_message.Launch, chosen: Sequence[Assignment], service: str
) -> str:
    """The signed message that adds links to *chosen* assignments to a course."""
    data = {launch_message.DEEP_LINKING + "data": launch.answer_data} if launch.answer_data else {}
    return sign_claims(
        key,
        {
            "iss": platform.client_id,
            "aud": [platform.issuer],
            "nonce": secrets.token_urlsafe(16),
            launch_message.CLAIM + "deployment_id": launch.deployment,
            launch_message.CLAIM + "message_type": launch_message.DEEP_LINK_ANSWER,
            launch_message.CLAIM + "version": launch_message.VERSION,
            launch_message.DEEP_LINKING + "content_items": [_item(one, service) for one in chosen],
            **data,
        },
    )


def _item(assignment: Assignment, service: str) -> Mapping[str, object]:
    """A link to an assignment, in a window of its own, with a column for its points and dates for a calendar."""
    dates = {name: date for name, date in terms_of(assignment).fields().items() if name.endswith("DateTime")}
    return {
        "type": "ltiResourceLink",
        "title": assignment.title,
        "url": f"{service}{launch_message.LAUNCH}",
        "custom": {"assignment": str(assignment.id)},
        "window": {"targetName": "_blank"},
        "lineItem": {
            "scoreMaximum": assignment.points or 1.0,
            "label": assignment.title,
            "resourceId": f"assignment-{assignment.id}",
            "tag": launch_message.TAG,
        },
        **({"submission": dates} if dates else {}),
    }


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

    async def launched(self, state: LaunchState, token: str) -> launch_message.Launch:
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
        launch = launch_message.read_launch(platform.id, claims, self.address)
        await asyncio.to_thread(self._use, platform, launch.deployment, state.nonce)
        return launch

    def _use(self, platform: Platform, deployment: str, nonce: str) -> None:
        with open_writing_session(self._engine) as session:
            check_deployment(session, platform, deployment)
            launch_message.use_once(session, f"launch:{nonce}", 2 * OPENING_LIFE)

    def choice(self, launch: launch_message.Launch, chosen: Sequence[Assignment]) -> str:
        """The signed answer with the assignments that a teacher chose.

        Raises:
            RefusedError: the platform is not active anymore.
        """
        with open_writing_session(self._engine) as session:
            platform = platform_with(session, launch.platform)
            key = signing_key(session)
        return answer_with(key, platform, launch, chosen, self.address)

    def canvas_configuration(self) -> Mapping[str, Any]:
        """The JSON that an administrator of Canvas pastes, or whose address they enter."""
        return canvas_configuration(self.address)

    async def register(self, name: str, configuration: str, token: str) -> tuple[Platform, str]:
        """The platform that registers as *name*, and its deployment. Raises as `register_at_platform` does."""
        return await register_at_platform(self.outgoing, name, configuration, token, self.address)

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
