"""Limits on connections, in time and number: one guard for all connections of a process.

A proxy does this, too. But where a process may open 1,024 files, 900 idle connections of one address to a server
without a proxy would leave none to others, if they were not counted.
"""

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Protocol, Self

from app.server.config import Settings

GUARD = "guard"  # the key of the app's guard, in the state of its lifespan
PEER = "peer"  # in the state of a request: the address of its connection, perhaps a proxy
LOOK = 0.5  # seconds between checks of the connections
_FILES = 65_536  # open files that are enough
_SPARE = 256  # of them reserved for the database, the sandbox and the labs


def raise_files() -> None:
    """Raise the limit on open files of this process, and of those it starts, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on connections."""

    patience: float  # seconds for a complete head, and for a body that does not arrive
    still: float = 60.0  # seconds for a response that is not read, or a stream that stalls
    pace: float = 1000.0  # bytes per second at which a body is slow, but acceptable
    each: int  # connections of one address
    all: int  # connections in total
    proxies: str = ""  # addresses, or networks, without a limit of their own

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The limits in *settings*, as far as this process may open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _FILES if soft == resource.RLIM_INFINITY else soft
        most = max(files - _SPARE, files // 2)
        return cls(
            patience=settings.patience,
            each=min(settings.connections_allowed, most // 2 + 1),
            all=most,
            proxies=settings.proxies,
        )


class Guarded(Protocol):
    """A connection, as the guard sees it."""

    address: str

    def look(self, now: float) -> None:
        """Close the connection if the client keeps the server waiting."""


class Guard:
    """Counts the connections of a process, and checks each of them at intervals."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[Guarded] = set()
        self._looks = False
        self._by_address: Counter[str] = Counter()
        self._proxies = [
            ip_network(name, strict=False)
            for name in map(str.strip, limits.proxies.split(","))
            if name not in {"", "*"}
        ]

    def admits(self, connection: Guarded) -> bool:
        """Count *connection* until it leaves; whether it is within the limits."""
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(LOOK, self._look)
        self._open.add(connection)
        self._by_address[connection.address] += 1
        crowded = self._by_address[connection.address] > self.limits.each
        return len(self._open) <= self.limits.all and not (crowded and not self.is_proxy(connection.address))

    def leave(self, connection: Guarded) -> None:
        """Stop counting *connection*, which is closed."""
        self._open.discard(connection)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in tuple(self._open):
            connection.look(now)
        self._looks = bool(self._open)
        if self._looks:
            loop.call_later(LOOK, self._look)

    def is_proxy(self, address: str) -> bool:
        """Whether *address* is that of a trusted proxy."""
        if self.limits.proxies.strip() == "*":
            return True
        try:
            known = ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self._proxies)
