"""Dynamic registration: a platform registers by a link that works once.

It is inactive until an operator activates it: a platform may name any person and any role.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from app.db.people import ISSUER_LIMIT, SUBJECT_LIMIT
from app.db.platforms import ADDRESS_LIMIT
from app.errors import RefusedError
from app.federation.http_client import Outgoing, host_in
from app.federation.lti.platforms import Platform
from app.federation.lti.vocabulary import DEEP_LINK, LAUNCH, RESOURCE_LINK, SCOPES
from app.network.response_policy import origin_of

_TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
_CREATED = (HTTPStatus.OK, HTTPStatus.CREATED)


@dataclass(frozen=True, slots=True)
class Registered:
    """A platform that has registered, and its deployment, if it named one."""

    platform: Platform
    deployment: str


async def register_at_platform(
    outgoing: Outgoing, name: str, configuration: str, token: str, service: str
) -> Registered:
    """Register at the platform whose OpenID configuration is at an address.

    Raises:
        RefusedError: the platform does not say what it must, or refuses.
        UnavailableError: it cannot be reached.
    """
    about = (await outgoing.get(configuration)).fields()
    issuer = _text(about, "issuer", ISSUER_LIMIT)
    if origin_of(issuer) != origin_of(configuration):
        raise RefusedError(
            f"the configuration at {host_in(configuration)} is that of another issuer, {issuer!r}"
        )
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    answer = await outgoing.send(
        "POST",
        _text(about, "registration_endpoint", ADDRESS_LIMIT),
        headers={"Content-Type": "application/json", **bearer},
        body=json.dumps(_description(service)).encode(),
    )
    if answer.status not in _CREATED:
        raise RefusedError(
            f"{host_in(configuration)} refuses the registration: {answer.status} ({answer.said()})"
        )
    given = answer.fields()
    platform = Platform(
        name=name,
        issuer=issuer,
        client_id=_text(given, "client_id", ISSUER_LIMIT),
        auth_url=_text(about, "authorization_endpoint", ADDRESS_LIMIT),
        token_url=_text(about, "token_endpoint", ADDRESS_LIMIT),
        token_audience=_optional(about, "authorization_server", ADDRESS_LIMIT),
        jwks_url=_text(about, "jwks_uri", ADDRESS_LIMIT),
        active=False,
    )
    for url in (platform.auth_url, platform.token_url, platform.jwks_url):
        await outgoing.check(url)
    tool = given.get(_TOOL)
    found = _optional(tool, "deployment_id", SUBJECT_LIMIT) if isinstance(tool, dict) else ""
    return Registered(platform, found)


def _description(service: str) -> Mapping[str, object]:
    """What a platform is told about us."""
    launch = f"{service}{LAUNCH}"
    messages = [{"type": DEEP_LINK, "target_link_uri": launch}, {"type": RESOURCE_LINK}]
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
        },
    }


def _text(fields: Mapping[str, object], name: str, most: int) -> str:
    found = _optional(fields, name, most)
    if not found:
        raise RefusedError(f"the platform's answer has no {name}, of at most {most:,} characters")
    return found


def _optional(fields: Mapping[str, object], name: str, most: int) -> str:
    found = fields.get(name)
    plain = isinstance(found, str) and len(found) <= most and found.isprintable()
    return str(found) if plain else ""
