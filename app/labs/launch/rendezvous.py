"""The rendezvous of ranks: rank 0 listens, and writes its addresses into the folder of the run.

The others try the addresses in turn. At some of them there is nothing, or another machine that has
the same address on another network: only rank 0 knows the token of the run. It also tells the time
on its clock, since an emulated link requires one clock for all ranks.
"""

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from app.labs.run import write_whole
from app.units import SECOND, show

LOOPBACK = "127.0.0.1"
_FILE = "rendezvous"  # in the folder of a run
_EACH = 2.0  # seconds for an address
_SOON, _LATER = 0.05, 1.0  # seconds from one look at the file to the next, at first and at last
_SLOWER = 1.2  # by how much that grows from look to look: a thousand ranks share the file system
_LONGEST = 1024  # bytes of a greeting
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_ONE_CLOCK = "an emulated link requires one clock: start all ranks on one machine"
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Notice:
    """The file: the *addresses* of rank 0, likeliest first, and its *port* for the rendezvous.

    The ranks' *store* has another port. *token* tells runs apart, *boot* machines.
    """

    addresses: tuple[str, ...]
    port: int
    store: int
    token: str
    boot: str


@dataclass(frozen=True, slots=True)
class _Greeting:
    """What rank 0 sends to every other rank: the token of the run, and the time on its clock."""

    token: str
    clock: float


_NOTICE: TypeAdapter[_Notice] = TypeAdapter(_Notice)
_GREETING: TypeAdapter[_Greeting] = TypeAdapter(_Greeting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Rank 0 as another rank reaches it: at *address*, from *own*; the *port* is the store's.

    *ahead* is by how many seconds its clock is ahead of this rank's, at the least; zero if it may
    be the same clock, since its time is then between the moments of question and answer.
    """

    address: str
    own: str
    port: int
    is_same_machine: bool
    ahead: float

    def require_one_clock(self) -> None:
        """Refuse to emulate a link between clocks that differ.

        Raises:
            ValueError: this rank has another clock than rank 0.
        """
        if not self.is_same_machine:
            raise ValueError(f"this rank and rank 0 run on two machines, and {_ONE_CLOCK}")
        if self.ahead:
            difference = show(abs(self.ahead), SECOND)
            raise ValueError(
                f"the clocks of this rank and of rank 0 differ by {difference}, and {_ONE_CLOCK}"
            )


class Rendezvous:
    """Rank 0's side: it greets every other rank, until it is closed."""

    def __init__(self, host: str = "", clock: Clock = time.monotonic) -> None:
        self._socket = listening(host)
        self._clock = clock
        self._token = secrets.token_hex(16)
        threading.Thread(target=self._greet, name="rendezvous", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # which wakes the thread
        self._socket.close()

    def announce(self, folder: Path, addresses: Sequence[str], store: int) -> None:
        """Write the *addresses* and the port of the *store* into the *folder* of the run."""
        port = self._socket.getsockname()[1]
        notice = _Notice(tuple(addresses), port, store, self._token, _boot())
        write_whole(folder / _FILE, _NOTICE.dump_json(notice))

    def _greet(self) -> None:
        while True:
            try:
                rank, _ = self._socket.accept()
            except OSError:  # it is closed
                return
            with rank, suppress(OSError):
                rank.sendall(_GREETING.dump_json(_Greeting(self._token, self._clock())))


def listening(host: str = "") -> socket.socket:
    """A socket that listens on any free port of *host*, or of all addresses, of both versions."""
    if not host and socket.has_dualstack_ipv6():
        return socket.create_server(
            (host, 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=socket.SOMAXCONN
        )
    return socket.create_server((host, 0), backlog=socket.SOMAXCONN)


def reach(
    folder: Path, patience: float, each: float = _EACH, clock: Clock = time.monotonic
) -> Reached:
    """Rank 0 of the run in *folder*; its addresses are tried for *each* seconds in turn.

    Raises:
        TimeoutError: it cannot be reached within *patience* seconds.
    """
    end, pause, notice = time.monotonic() + patience, _SOON, None
    while time.monotonic() < end:
        with suppress(FileNotFoundError):
            notice = _NOTICE.validate_json((folder / _FILE).read_bytes())
            for address in _worth_trying(notice):
                if found := _reached(notice, address, each, clock):
                    return found
        time.sleep(pause)
        pause = min(_LATER, pause * _SLOWER)
    if notice is None:
        raise TimeoutError(f"rank 0 did not start within {patience:g} s")
    tried = ", ".join(notice.addresses)
    raise TimeoutError(
        f"rank 0 could not be reached within {patience:g} s at {tried}; if the nodes share another "
        "network, name it in WALLCLOCK_LAB_NETWORK"
    )


def _worth_trying(notice: _Notice) -> Iterator[str]:
    """The addresses at which rank 0 may be: loopback leads to this machine only."""
    is_same = notice.boot == _boot()
    for address in notice.addresses:
        with suppress(ValueError):
            if ip_address(address).is_loopback and not is_same:
                continue
        yield address


def _reached(notice: _Notice, address: str, seconds: float, clock: Clock) -> Reached | None:
    """Rank 0, if it is the one that answers at *address*."""
    asked = clock()
    try:
        with socket.create_connection((address, notice.port), seconds) as line:
            line.settimeout(seconds)
            with line.makefile("rb") as said:
                greeting = _GREETING.validate_json(said.read(_LONGEST))
            own, reached = line.getsockname()[0], line.getpeername()[0]
    except (OSError, ValidationError):
        return None
    if greeting.token != notice.token:
        return None
    return Reached(
        address=reached,
        own=own,
        port=notice.store,
        is_same_machine=notice.boot == _boot(),
        ahead=min(0.0, greeting.clock - asked) or max(0.0, greeting.clock - clock()),
    )


def _boot() -> str:
    """What tells this machine, since it was started, from all others; empty if it is not known."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
