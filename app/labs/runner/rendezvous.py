"""How ranks that no leader has forked find each other: in a store of torch, on an address that all can reach.

Where MASTER_ADDR and MASTER_PORT are set, as torchrun sets them, it is the store there. Otherwise it is on a port of
rank 0 that is free, so nobody has to choose one: rank 0 writes where it is into the folder of the run.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from fcntl import ioctl
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from app.labs.runner.job import Job, ranks_shown, write_whole

if TYPE_CHECKING:
    from torch.distributed import Store

_FILE = "rendezvous"  # in the folder of a run
_EACH = 5.0  # seconds to connect, until the file is read again: it may be of an earlier start
_SOON, _LATER = 0.05, 1.0  # seconds from one look at the file to the next, at first and at last
_SLOWER = 1.2  # by how much that grows from look to look: a thousand ranks share the file system
_LONGER = 30.0  # seconds that the others wait longer than rank 0, which can say who is missing
_COUNT, _ALL, _CLOCK = "how many are here", "all are here", "the clock of rank 0"
_PREFIX = "wallclock"  # of what is stored beside what torchrun stores
_POD, _AGENT = "JOB_COMPLETION_INDEX", "TORCHELASTIC_USE_AGENT_STORE"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OFFSETS = Path("/proc/self/timens_offsets")
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


@dataclass(frozen=True, slots=True)
class _Notice:
    """The file: where the store of rank 0 is."""

    address: str
    port: int


_NOTICE: TypeAdapter[_Notice] = TypeAdapter(_Notice)


def shared_store(folder: Path, job: Job, rank: int, nodes: int | None) -> "Store":
    """The store in which the ranks of *job* find each other, once all have joined it.

    Chooses the network interfaces of gloo and NCCL, unless the environment has them.
    """
    known = own_addresses()
    own = address_on(job.network, known) if job.network else ""  # else it depends on where rank 0 is
    own = LOOPBACK if nodes == 1 else own
    # A pod's own torchrun has a store of its own.
    if os.environ.get("MASTER_ADDR") and os.environ.get("MASTER_PORT") and _POD not in os.environ:
        store, others = promised_store(rank, job.starting), [os.environ["MASTER_ADDR"]]
    elif rank:
        notice, store = joined_store(folder, job.starting)
        others = [notice.address]
    else:
        others = []
        store = hosted_store(folder, own or address_towards())
    if rank == 0:
        store.set(_CLOCK, own_clock())
    elif job.links == "emulated" and store.get(_CLOCK).decode() != own_clock():
        raise ValueError(
            "this rank and rank 0 have two clocks, and an emulated link requires one: start all ranks on one machine"
        )
    await_all(store, rank, job.ranks, job.starting)
    if name := interface_of(own or address_towards(*others), known):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        if job.network:  # it was chosen, for NCCL too
            os.environ.setdefault("NCCL_SOCKET_IFNAME", f"={name}")
    return store


def promised_store(rank: int, patience: float) -> "Store":
    """The store at MASTER_ADDR and MASTER_PORT: that of torchrun, or one that rank 0 has there."""
    from torch.distributed import DistNetworkError, PrefixStore, TCPStore

    host, port, most = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timedelta(seconds=patience)
    is_master = rank == 0 and os.environ.get(_AGENT) != "True"
    try:
        store = TCPStore(host, port, is_master=is_master, wait_for_workers=False, timeout=most)
    except DistNetworkError as error:
        raise TimeoutError(f"the store at {host}:{port} cannot be used: {error}") from error
    return PrefixStore(_PREFIX, store)


def hosted_store(folder: Path, address: str) -> "Store":
    """A store at *address* alone, which *folder* then names."""
    from torch.distributed import TCPStore

    line = socket.create_server((address, 0), family=family_of(address), backlog=socket.SOMAXCONN)
    port = line.getsockname()[1]
    store = TCPStore(address, port, is_master=True, wait_for_workers=False, master_listen_fd=line.detach())
    write_whole(folder / _FILE, _NOTICE.dump_json(_Notice(address, port)))
    return store


def joined_store(folder: Path, patience: float, each: float = _EACH) -> tuple[_Notice, "Store"]:
    """What rank 0 of the run in *folder* has written there, and its store."""
    from torch.distributed import DistNetworkError, TCPStore

    end, pause, notice = time.monotonic() + patience, _SOON, None
    while time.monotonic() < end:
        with suppress(FileNotFoundError, DistNetworkError):
            notice = _NOTICE.validate_json((folder / _FILE).read_bytes())
            most = timedelta(seconds=each)
            store = TCPStore(notice.address, notice.port, wait_for_workers=False, timeout=most)
            store.set_timeout(timedelta(seconds=patience))
            return notice, store
        time.sleep(pause)
        pause = min(_LATER, pause * _SLOWER)
    if notice is None:
        raise TimeoutError(f"rank 0 did not start within {patience:g} s")
    raise TimeoutError(
        f"rank 0 could not be reached within {patience:g} s at {notice.address}; if the nodes "
        "share another network, name it in WALLCLOCK_LAB_NETWORK"
    )


def await_all(store: "Store", rank: int, ranks: int, seconds: float) -> None:
    """Wait until all *ranks* have called this, for up to *seconds*."""
    store.set(f"rank {rank}", "")
    if store.add(_COUNT, 1) == ranks:
        store.set(_ALL, "")
    try:
        store.wait([_ALL], timedelta(seconds=seconds + (_LONGER if rank else 0)))
    except RuntimeError:
        if rank:
            raise
        missing = [one for one in range(ranks) if not store.check([f"rank {one}"])]
        late = f"{ranks_shown(missing)} did not start within {seconds:g} s of rank 0"
        raise TimeoutError(late) from None


def own_clock() -> str:
    """What tells the clock of this process from all others: a machine, since it was started.

    A container may have a clock of its own, which is ahead of that of its machine.
    """
    try:
        machine = _BOOT.read_text()
    except OSError:
        machine = socket.gethostname()
    offsets = _OFFSETS.read_text() if _OFFSETS.exists() else ""
    return " ".join(f"{machine} {offsets}".split())


def own_addresses() -> Sequence[Address]:
    """The addresses of this machine, but those that are valid on one link only."""
    return [one for one in (*_of_version_4(), *_of_version_6()) if not one.ip.is_link_local]


def address_on(network: str, known: Sequence[Address]) -> str:
    """The first of *known* on *network*: an interface, an address or a range of addresses."""
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
