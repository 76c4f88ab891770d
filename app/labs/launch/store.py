"""The store of the ranks that another launcher starts, once all of them have joined it."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from app.labs.evidence.stacks import ranks_shown
from app.labs.launch.addresses import Address, interface_of, own_addresses, usable_addresses
from app.labs.launch.position import Position
from app.labs.launch.rendezvous import LOOPBACK, Reached, Rendezvous, listening, reach
from app.labs.run import JobRecord

_LONGER = 30.0  # seconds that the others wait longer than rank 0, which can say who is missing
_COUNT, _ALL = "how many are here", "all are here"
_AT, _NEAR = "rank 0 is at", "rank 0 is here at"  # for other machines, and for its own


class Store(Protocol):
    """What is used of torch's stores."""

    def set(self, key: str, value: str) -> None:
        """Store *value*."""

    def get(self, key: str) -> bytes:
        """What is stored, once it is."""

    def add(self, key: str, amount: int) -> int:
        """The number that is stored, after *amount* is added."""

    def check(self, keys: list[str]) -> bool:
        """Whether all are stored."""

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        """Wait until all are stored; a `RuntimeError` says that it took too long."""


def shared_store(folder: Path, job: JobRecord, position: Position) -> Store:
    """The store in which the ranks of *job* find each other, once all have joined it.

    Chooses the network interfaces of gloo and NCCL, unless the environment has them.

    Raises:
        TimeoutError: rank 0 cannot be reached, or ranks are missing.
        ValueError: this rank has no address on the network of the run, or not the clock of rank 0.
    """
    known: Sequence[Address] = ()
    with suppress(OSError):  # a container may forbid to ask: the name of the host has to do
        known = own_addresses()
    is_alone = position.nodes == 1
    if position.rank:
        store, own = _joined(folder, job, known, position.rank)
    else:
        store, own = _hosted(folder, job, known, LOOPBACK if is_alone else "")
    if is_alone:
        _prefer("lo")  # which the rank tells NCCL as well
    elif job.network:
        name = usable_addresses(known, job.network)[0].interface
        _prefer(name, f"={name}")
    else:
        _prefer(interface_of(own, known))
    return store


def await_all(store: Store, rank: int, ranks: int, seconds: float) -> None:
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


def note_way(store: Store, known: Sequence[Address], reached: Reached) -> None:
    """Tell the others at which address this rank, with the addresses *known*, reaches rank 0."""
    store.set(_NEAR if interface_of(reached.address, known) else _AT, reached.address)


def address_of_own(store: Store, known: Sequence[Address], reached: Reached | None = None) -> str:
    """The address at which others reach this rank, once all have noted their ways to rank 0.

    Rank 0 has not *reached* itself. On its machine every address of it seems to be reachable, so
    there the one counts at which another machine has reached it.
    """
    if reached and not interface_of(reached.address, known):
        return reached.own
    return next((store.get(key).decode() for key in (_AT, _NEAR) if store.check([key])), LOOPBACK)


def _hosted(folder: Path, job: JobRecord, known: Sequence[Address], host: str) -> tuple[Store, str]:
    """A store on *host*, or on all addresses, and the one at which other ranks reach it."""
    from torch.distributed import TCPStore

    line = listening(host)
    port = line.getsockname()[1]
    store = TCPStore(
        LOOPBACK, port, job.ranks, is_master=True, timeout=timedelta(seconds=job.starting),
        wait_for_workers=False, master_listen_fd=line.detach(),
    )  # fmt: skip
    addresses = [host] if host else list(_published(known, job.network))
    with Rendezvous(host) as rendezvous:
        rendezvous.announce(folder, addresses, port)
        await_all(store, 0, job.ranks, job.starting)
    return store, address_of_own(store, known)


def _joined(folder: Path, job: JobRecord, known: Sequence[Address], rank: int) -> tuple[Store, str]:
    """The store of rank 0, and the address at which others reach this rank."""
    from torch.distributed import TCPStore

    reached = reach(folder, job.starting)
    if job.links == "emulated":
        reached.require_one_clock()
    patience = timedelta(seconds=job.starting)
    store = TCPStore(reached.address, reached.port, job.ranks, is_master=False, timeout=patience)
    note_way(store, known, reached)
    await_all(store, rank, job.ranks, job.starting)
    return store, address_of_own(store, known, reached)


def _published(known: Sequence[Address], network: str) -> Iterator[str]:
    """The addresses at which ranks of other nodes, and then of this one, may reach rank 0."""
    yield from (str(one.ip) for one in usable_addresses(known, network))
    if not network:
        yield socket.gethostname()
    yield LOOPBACK


def _prefer(gloo: str, nccl: str = "") -> None:
    """Have the libraries use these interfaces, unless the environment says otherwise."""
    for name, interface in (("GLOO_SOCKET_IFNAME", gloo), ("NCCL_SOCKET_IFNAME", nccl)):
        if interface:
            os.environ.setdefault(name, interface)
