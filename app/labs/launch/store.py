"""The store of the ranks that another launcher starts, once all of them have joined it.

It is PyTorch's own, on a port of rank 0 that is free, so nobody has to choose one: rank 0 writes
where it is into the folder of the run.
"""

import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from app.labs.evidence.stacks import ranks_shown
from app.labs.launch.addresses import (
    LOOPBACK,
    Address,
    address_on,
    address_towards,
    family_of,
    interface_of,
    own_addresses,
)
from app.labs.launch.position import Position
from app.labs.run import JobRecord, write_whole

if TYPE_CHECKING:
    from torch.distributed import Store

_FILE = "rendezvous"  # in the folder of a run
_EACH = 5.0  # seconds to connect, until the file is read again: it may be of an earlier start
_SOON, _LATER = 0.05, 1.0  # seconds from one look at the file to the next, at first and at last
_SLOWER = 1.2  # by how much that grows from look to look: a thousand ranks share the file system
_LONGER = 30.0  # seconds that the others wait longer than rank 0, which can say who is missing
_COUNT, _ALL = "how many are here", "all are here"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OFFSETS = Path("/proc/self/timens_offsets")


@dataclass(frozen=True, slots=True)
class _Notice:
    """The file: where the store of rank 0 is, and which *clock* rank 0 has."""

    address: str
    port: int
    clock: str


_NOTICE: TypeAdapter[_Notice] = TypeAdapter(_Notice)


def shared_store(folder: Path, job: JobRecord, position: Position) -> "Store":
    """The store in which the ranks of *job* find each other, once all have joined it.

    Chooses the network interfaces of gloo and NCCL, unless the environment has them.

    Raises:
        TimeoutError: rank 0 cannot be reached, or ranks are missing.
        ValueError: this rank has no address on the network of the run, or not the clock of rank 0.
    """
    known = own_addresses()
    own = _own_address(job, position, known)
    if position.rank:
        notice, store = joined_store(folder, job.starting)
        if job.links == "emulated" and notice.clock != own_clock():
            raise ValueError(
                "this rank and rank 0 have two clocks, and an emulated link requires one: start "
                "all ranks on one machine"
            )
        own = own or address_towards(notice.address)
    else:
        own = own or address_towards()
        store = hosted_store(folder, own)
    await_all(store, position.rank, job.ranks, job.starting)
    _choose_interface(interface_of(own, known), job.network)
    return store


def hosted_store(folder: Path, address: str) -> "Store":
    """A store at *address* alone, which *folder* then names."""
    from torch.distributed import TCPStore

    line = socket.create_server((address, 0), family=family_of(address), backlog=socket.SOMAXCONN)
    port = line.getsockname()[1]
    store = TCPStore(address, port, is_master=True, wait_for_workers=False, master_listen_fd=line.detach())
    write_whole(folder / _FILE, _NOTICE.dump_json(_Notice(address, port, own_clock())))
    return store


def joined_store(folder: Path, patience: float, each: float = _EACH) -> tuple[_Notice, "Store"]:
    """What rank 0 of the run in *folder* has written there, and its store.

    Raises:
        TimeoutError: it cannot be reached within *patience* seconds.
    """
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
    """Wait until all *ranks* have called this, for up to *seconds*.

    Raises:
        TimeoutError: some ranks are missing; rank 0 says which.
        RuntimeError: rank 0 has given up.
    """
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


def _own_address(job: JobRecord, position: Position, known: Sequence[Address]) -> str:
    """The address at which others reach this rank; empty if that depends on where rank 0 is."""
    if position.nodes == 1:
        return LOOPBACK
    return address_on(job.network, known) if job.network else ""


def _choose_interface(name: str, network: str) -> None:
    """Have gloo use this interface, and NCCL if the network was chosen, as far as none is set."""
    if name:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        if network:
            os.environ.setdefault("NCCL_SOCKET_IFNAME", f"={name}")
