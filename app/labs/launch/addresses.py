"""The addresses of this machine: the ranks of other nodes need one."""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fcntl import ioctl
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

LOOPBACK = "127.0.0.1"
_OUTSIDE = ("192.0.2.1", "2001:db8::1")  # for examples: nothing is sent there
_PORT = 9  # any will do
_ADDRESS_OF = 0x8915  # SIOCGIFADDR of netdevice(7)
_REQUEST = struct.Struct("16s4x4s232x")
_IPV6 = Path("/proc/net/if_inet6")


@dataclass(frozen=True, slots=True)
class Address:
    """An address of this machine, and its network interface."""

    interface: str
    ip: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return f"{self.ip} ({self.interface})"


def own_addresses() -> Sequence[Address]:
    """The addresses of this machine, but those that are valid on one link only."""
    return [one for one in (*_of_version_4(), *_of_version_6()) if not one.ip.is_link_local]


def address_on(network: str, known: Sequence[Address]) -> str:
    """The first of *known* on *network*: an interface, an address or a range of addresses.

    Raises:
        ValueError: none is.
    """
    found = next((str(one.ip) for one in known if _is_on(one, network)), "")
    if not found:
        there = ", ".join(map(str, known))
        raise ValueError(f"this node has no address on the network {network!r}; it has {there}")
    return found


def address_towards(*others: str) -> str:
    """The address that this machine sends from to the first of *others* that it has a route to.

    Without *others*, the address of its default route; the loopback address if it has no route.
    """
    for other in others or _OUTSIDE:
        with suppress(OSError), socket.socket(family_of(other), socket.SOCK_DGRAM) as probe:
            probe.connect((other, _PORT))
            return str(probe.getsockname()[0])
    return LOOPBACK


def interface_of(ip: str, known: Sequence[Address]) -> str:
    """The interface of *known* that has that address; empty if none has."""
    return next((one.interface for one in known if one.ip == ip_address(ip)), "")


def family_of(ip: str) -> socket.AddressFamily:
    """The version of the protocol to which an address belongs."""
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


def _is_on(one: Address, network: str) -> bool:
    if one.interface == network:
        return True
    try:
        return one.ip in ip_network(network, strict=False)
    except ValueError:  # it is the name of another interface
        return False


def _of_version_4() -> Iterator[Address]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it has none
                answer = ioctl(kernel, _ADDRESS_OF, _REQUEST.pack(name.encode(), b""))
                yield Address(name, IPv4Address(_REQUEST.unpack(answer)[1]))


def _of_version_6() -> Iterator[Address]:
    with suppress(OSError):  # this machine has none
        for line in _IPV6.read_text().splitlines():
            digits, *_, name = line.split()
            yield Address(name, IPv6Address(bytes.fromhex(digits)))
