"""How much each address may do: a little at once, and then at a steady pace."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Self

from app.config import Settings

_MINUTE, _HOUR = 60.0, 3600.0  # seconds
_MOST = 20_000  # addresses that are remembered, about 3 MB
_LONGEST = 64  # characters of an address
_NETWORK = 64  # bits of an IPv6 address that name a network: one house may have all the others


class Allowance:
    """*most* things at once for each address, which come back within *period* seconds.

    It lives in the memory of one process. Of an address only the moment is remembered at which its
    allowance is whole again; where there are too many, those that are whole soonest are forgotten.
    """

    def __init__(
        self, most: int, period: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """No limit where *most* is 0."""
        self._each = period / most if most else 0.0
        self._period = period
        self._clock = clock
        self._whole: dict[str, float] = {}

    def wait(self, address: str, cost: float = 1.0) -> float:
        """Seconds until *address* may spend *cost*; 0 where it just did."""
        now = self._clock()
        name = network(address)
        owed = max(0.0, self._whole.get(name, 0.0) - now)
        due = owed + min(cost * self._each, self._period)
        if due > self._period:
            return due - self._period
        if due:
            self._remember(name, now + due)
        return 0.0

    def _remember(self, name: str, whole: float) -> None:
        self._whole[name] = whole
        if len(self._whole) > _MOST:
            latest = sorted(self._whole.items(), key=lambda entry: entry[1])[_MOST // 2 :]
            self._whole = dict(latest)


@dataclass(frozen=True, slots=True)
class Allowances:
    """One for each thing that costs the server something and that anybody may do."""

    answers: Allowance
    runs: Allowance
    sent_runs: Allowance

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of *settings*."""
        return cls(
            Allowance(settings.answers_allowed, _MINUTE),
            Allowance(settings.runs_allowed, _HOUR),
            Allowance(settings.sent_runs_allowed, _HOUR),
        )


def network(address: str) -> str:
    """What shares an allowance with *address*: itself, or the network of an IPv6 address.

    >>> network("192.0.2.7"), network("2001:db8:1:2:3:4:5:6"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::', '192.0.2.7')
    """
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST]
    if not isinstance(known, IPv6Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(IPv6Address(int(known) >> _NETWORK << _NETWORK))
