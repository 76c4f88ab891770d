"""Which addresses of other services may be asked."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from app.core.errors import RefusedError

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
