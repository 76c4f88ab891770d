"""The configured ways to sign in, known without the packages of the extra `people`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

from app.classes.federation.addresses import target_of
from app.core.errors import InputError, RefusedError, UnavailableError
from app.server.config import Settings

PATIENCE = 600  # seconds between the two halves of a sign-in
_PACKAGES = ("httpx2", "joserfc")
_INSTALL = "pip install 'wallclock[people]'"
_FORM = "NAME=ISSUER,CLIENT_ID,SECRET"
_NAMED = re.compile(r"[^a-z0-9]+")
_TAKEN = frozenset({"back", "connect", "name", "proxy"})  # addresses of our own below /sign-in
_LONGEST_NAME = 60  # characters
_LONGEST_ISSUER = 255


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of identities; *slug* stands for it in addresses."""

    slug: str
    name: str
    issuer: str
    client: str
    secret: str = field(repr=False)


def providers_in(settings: Settings) -> Sequence[Provider]:
    """The providers in WALLCLOCK_OIDC, in their order.

    Raises:
        InputError: it cannot be read; the message has no secrets.
    """
    written = [entry for entry in map(str.strip, settings.oidc.split(";")) if entry]
    found = [_provider(entry, settings) for entry in written]
    for name in ("slug", "issuer"):
        values = [getattr(provider, name) for provider in found]
        for value in values:
            if values.count(value) > 1:
                raise InputError(f"WALLCLOCK_OIDC has two providers with the {name} {value!r}")
    return found


def missing_packages() -> Sequence[str]:
    """The packages that are not installed."""
    return [name for name in _PACKAGES if find_spec(name) is None]


def check_packages() -> None:
    """Say what to install.

    Raises:
        UnavailableError: a package is missing.
    """
    if missing := missing_packages():
        raise UnavailableError(
            f"this server needs {' and '.join(missing)} for that; its operator can install them with {_INSTALL}"
        )


def obstacles(settings: Settings) -> Sequence[str]:
    """What stands between the settings and a sign-in with a provider, as sentences."""
    if not settings.oidc:
        return ()
    found = []
    if missing := missing_packages():
        found.append(
            f"To sign in with a provider, this server needs {' and '.join(missing)}: {_INSTALL}, then restart it."
        )
    if not settings.url:
        found.append(
            "To sign in with a provider, this server must know its own address: set "
            "WALLCLOCK_URL, such as https://wallclock.example.org, then restart it."
        )
    return found


def _provider(entry: str, settings: Settings) -> Provider:
    name, equals, rest = entry.partition("=")
    name = " ".join(name.split())
    parts = [part.strip() for part in rest.split(",", 2)]  # a secret may have a comma
    if not equals or len(parts) < 2 or not all(parts[:2]):  # noqa: PLR2004  # issuer and client
        raise InputError(
            f"WALLCLOCK_OIDC must be {_FORM}, with a semicolon between two providers; the entry {name[:40]!r} is not"
        )
    slug = _NAMED.sub("-", name.lower()).strip("-")
    if not slug or slug in _TAKEN or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"WALLCLOCK_OIDC: a provider cannot be called {name[:40]!r}; choose a name of up to "
            f"{_LONGEST_NAME} characters with a letter in it"
        )
    issuer, client, secret = (*parts, "")[:3]
    _check_issuer(name, issuer, settings)
    return Provider(slug, name, issuer, client, secret)


def _check_issuer(name: str, issuer: str, settings: Settings) -> None:
    try:
        target_of(issuer, settings.private_hosts)
    except RefusedError as error:
        raise InputError(f"WALLCLOCK_OIDC: the issuer of {name}: {error}") from None
    if len(issuer) > _LONGEST_ISSUER or urlsplit(issuer).query or urlsplit(issuer).fragment:
        raise InputError(
            f"WALLCLOCK_OIDC: the issuer of {name} must have at most {_LONGEST_ISSUER} "
            "characters, and neither a query nor a fragment"
        )
