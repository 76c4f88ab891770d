"""How long, and how many, connections may be: one guard for all of a process."""

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Protocol, Self

from app.config import Settings

GUARD = "guard"  # where the app leaves its guard for connections, in the state of its lifespan
LOOK = 0.5  # seconds from one look at the connections to the next
_FILES = 65_536  # open files that are enough
_SPARE = 256  # of them for the database, the sandbox and the labs


def raise_files() -> None:
    """Let this process, and those that it starts, open as many files as they may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a connection may take; seconds, bytes a second, and connections."""

    patience: float  # for a whole head, and for a body that does not come
    still: float = 60.0  # for an answer that is not read, or a stream that stands still
    pace: float = 1000.0  # at which a body is slow, but comes
    each: int  # connections of one address
    all: int  # connections of everybody
    proxies: str = ""  # addresses, or networks, that have as many as they like

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of *settings*, as far as this process may open files."""
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
    """A connection, as its guard sees it."""

    address: str

    def look(self, now: float) -> None:
        """Close where the visitor keeps the server waiting."""


class Guard:
    """All connections of a process, looked at again and again."""

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
        """Whether there is room for one more; it is counted until it leaves."""
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(LOOK, self._look)
        self._open.add(connection)
        self._by_address[connection.address] += 1
        crowded = self._by_address[connection.address] > self.limits.each
        return len(self._open) <= self.limits.all and not (
            crowded and not self._is_proxy(connection.address)
        )

    def leave(self, connection: Guarded) -> None:
        """It is closed."""
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

    def _is_proxy(self, address: str) -> bool:
        if self.limits.proxies.strip() == "*":
            return True
        try:
            known = ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self._proxies)
