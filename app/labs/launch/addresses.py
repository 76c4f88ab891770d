"""The addresses of this machine, as the kernel lists them: the ranks of other nodes need one."""

import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_OUTSIDE = ("192.0.2.1", 9)  # an address for examples: nothing is sent there
# Of rtnetlink(7): list addresses, an address, the end of the list.
_LIST, _LISTED, _END, _REQUEST_ALL = 22, 20, 3, 0x301
_HEADER, _ADDRESS, _ATTRIBUTE = (
    struct.Struct("=IHHII"),
    struct.Struct("=BBBBI"),
    struct.Struct("=HH"),
)
_FAR_END, _OWN = 1, 2  # on a point-to-point link, the first is that of the other machine
_PATIENCE, _LARGE = 2.0, 65_536  # seconds, bytes


@dataclass(frozen=True, slots=True)
class Address:
    """An address of this machine, and its network interface."""

    interface: str
    ip: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return f"{self.ip} ({self.interface})"


def own_addresses() -> Sequence[Address]:
    """Every address of this machine, loopback included, but those that are valid on one link only.

    Raises:
        OSError: the kernel does not list them.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as kernel:
        kernel.settimeout(_PATIENCE)
        request = _ADDRESS.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        length = _HEADER.size + len(request)
        kernel.send(_HEADER.pack(length, _LIST, _REQUEST_ALL, 1, 0) + request)
        return [one for one in _listed(kernel) if not one.ip.is_link_local]


def usable_addresses(known: Sequence[Address], network: str = "") -> Sequence[Address]:
    """Those of *known* at which other nodes may reach this one, the likeliest first.

    With a *network*, which is the name of an interface, an address or a range of addresses, only
    those on it.

    Raises:
        ValueError: none is on the *network*.
    """
    if not network:
        likely = _address_of_default_route()
        outer = [one for one in known if not one.ip.is_loopback]
        return sorted(outer, key=lambda one: (str(one.ip) != likely, one.ip.version))
    found = [one for one in known if _is_on(one, network)]
    if not found:
        there = ", ".join(map(str, known))
        raise ValueError(f"this node has no address on the network {network!r}; it has {there}")
    return found


def interface_of(ip: str, known: Sequence[Address]) -> str:
    """The interface of *known* that has that address; empty if none has."""
    plain = ip_address(ip.partition("%")[0])
    if isinstance(plain, IPv6Address):
        plain = plain.ipv4_mapped or plain
    return next((one.interface for one in known if one.ip == plain), "")


def _is_on(one: Address, network: str) -> bool:
    if one.interface == network:
        return True
    try:
        return one.ip in ip_network(network, strict=False)
    except ValueError:  # it is the name of another interface
        return False


def _address_of_default_route() -> str:
    """The address that this machine would send from; empty without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_OUTSIDE)
            return str(probe.getsockname()[0])
        except OSError:
            return ""


def _listed(kernel: socket.socket) -> Iterator[Address]:
    names = dict(socket.if_nameindex())
    while True:
        data = kernel.recv(_LARGE)
        while data:
            length, kind, *_ = _HEADER.unpack_from(data)
            if kind == _END:
                return
            if kind != _LISTED:
                raise OSError(f"the kernel answers {kind} where it should list addresses")
            message, data = data[_HEADER.size : length], data[_padded(length) :]
            *_, index = _ADDRESS.unpack_from(message)
            attributes = dict(_attributes(message[_ADDRESS.size :]))
            if ip := attributes.get(_OWN) or attributes.get(_FAR_END):
                yield Address(names.get(index, str(index)), ip_address(ip))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind, data[_ATTRIBUTE.size : length]
        data = data[_padded(length) :]


def _padded(length: int) -> int:
    """*length* rounded up to four bytes."""
    return (length + 3) & ~3
