"""Which other services may be asked: their addresses, and the providers in the settings; no extra is needed."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from app.core.errors import InputError, RefusedError, UnavailableError
from app.server.config import Settings

_LONGEST = 2_000  # characters of an address
_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_PLAIN = re.compile(r"[!-~]+")
_PROTOCOLS = IPv4Network("192.0.0.0/24")  # of the IETF, which Python calls global in part
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))  # the last 32 bits are IPv4


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes; *private*: its host may have a private address."""

    parts: SplitResult
    host: str
    port: int
    private: bool


def target_of(url: str, private: Collection[str] = ()) -> Target:
    """Where *url* leads; only hosts in *private* may use http.

    Raises:
        RefusedError: it is not an address to ask.
    """
    shown = f"the address {url[:100]!r}"
    if len(url) > _LONGEST or not _PLAIN.fullmatch(url):
        raise RefusedError(f"{shown} is longer than {_LONGEST:,} characters or not plain ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise RefusedError(f"{shown} cannot be read") from None
    if "@" in parts.netloc:
        raise RefusedError(f"{shown} has a user name in it")
    host = parts.hostname or ""
    named = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc
    if parts.scheme not in _PORTS or not _HOST.fullmatch(named.rstrip(":")):
        raise RefusedError(f"{shown} does not begin with https:// and the name of a host")
    known = host in private or f"{host}:{port}" in private
    if parts.scheme != "https" and not known:
        raise RefusedError(f"{shown} must begin with https://")
    return Target(parts, host, port, known)


def is_public(text: str) -> bool:
    """Whether an address is of the public Internet, also by way of an IPv6 address around it.

    >>> [is_public(a) for a in ("93.184.215.14", "10.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1")]
    [True, False, False, False]
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(_is_global(one) for one in (address, *_within(address)))


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None or address.sixtofour is not None:
            return True  # the address within decides
        if address.is_site_local:
            return False
    special = address.is_multicast or address.is_reserved or address in _PROTOCOLS
    translated = isinstance(address, IPv6Address) and address in _TRANSLATED[0]
    return address.is_global and (translated or not special)


def _within(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if any(address in network for network in _TRANSLATED):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


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
    try:
        target_of(issuer, settings.private_hosts)
    except RefusedError as error:
        raise InputError(f"WALLCLOCK_OIDC: the issuer of {name}: {error}") from None
    if len(issuer) > _LONGEST_ISSUER or urlsplit(issuer).query or urlsplit(issuer).fragment:
        raise InputError(
            f"WALLCLOCK_OIDC: the issuer of {name} must have at most {_LONGEST_ISSUER} "
            "characters, and neither a query nor a fragment"
        )
    return Provider(slug, name, issuer, client, secret)
