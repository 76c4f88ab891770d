"""Dynamic registration: a platform registers by a link that works once.

It is inactive until an operator activates it: a platform may name any person and any role.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from app.classes.federation.http_client import Outgoing, host_in
from app.classes.federation.lti.canvas import CUSTOM, PLACEMENTS, PREFIX, hosts_issuer
from app.classes.federation.lti.launch_message import DEEP_LINK, LAUNCH, RESOURCE_LINK, SCOPES
from app.classes.federation.lti.platforms import Platform
from app.core.errors import RefusedError
from app.server.db.people import ADDRESS_LIMIT, ISSUER_LIMIT, SUBJECT_LIMIT
from app.server.network.response_policy import origin_of

_TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
_PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"
_CREATED = (HTTPStatus.OK, HTTPStatus.CREATED)


@dataclass(frozen=True, slots=True)
class PlatformRegistration:
    """A platform that has registered, and its deployment, if it named one."""

    platform: Platform
    deployment: str


async def register_at_platform(
    outgoing: Outgoing, name: str, configuration: str, token: str, service: str
) -> PlatformRegistration:
    """Register at the platform whose OpenID configuration is at an address.

    Raises:
        RefusedError: the platform does not say what it must, or refuses.
        UnavailableError: it cannot be reached.
    """
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    about = (await outgoing.get(configuration, bearer)).fields()
    issuer = _text_field(about, "issuer", ISSUER_LIMIT)
    if origin_of(issuer) != origin_of(configuration) and not hosts_issuer(issuer, configuration):
        raise RefusedError(f"the configuration at {host_in(configuration)} is that of another issuer, {issuer!r}")
    answer = await outgoing.send(
        "POST",
        _text_field(about, "registration_endpoint", ADDRESS_LIMIT),
        headers={"Content-Type": "application/json", **bearer},
        body=json.dumps(_description(service, canvas=_is_canvas(about))).encode(),
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
    return PlatformRegistration(platform, found)


def _is_canvas(about: Mapping[str, object]) -> bool:
    platform = about.get(_PLATFORM)
    return isinstance(platform, dict) and platform.get("product_family_code") == "canvas"


def _description(service: str, *, canvas: bool) -> Mapping[str, object]:
    """What a platform is told about us; Canvas shows a tool only where it says so."""
    launch = f"{service}{LAUNCH}"
    choosing: dict[str, object] = {"type": DEEP_LINK, "target_link_uri": launch}
    own: dict[str, object] = {}
    if canvas:
        choosing["placements"] = [PREFIX + name for name in PLACEMENTS]
        own = {f"{PREFIX}privacy_level": "name_only", "custom_parameters": CUSTOM}
    messages = [choosing, {"type": RESOURCE_LINK}]
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
        "scope": " ".join(SCOPES),
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
