"""Rate limits per address: a token bucket allows a burst, then a steady rate."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Self

from app.config import Settings

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0  # seconds
# Wrong codes that are read. The common bucket of a class is drawn on by those alone who had more
# than their own: nobody who types wrong codes elsewhere locks out one who types the right one. With
# these limits, one of the 300 seat codes of a class, of 40 bits each, is guessed from a hundred
# addresses with a probability of 4e-4 in a year of trying, and from ten thousand with 2 %.
WRONG_CODES = 10  # per address and minute
OWN_WRONG_CODES = 20  # per address and day that count for it alone: a lecture hall mistypes, too
NEARBY_WRONG_CODES = 1_000  # the same, per day and all addresses of an IPv6 site, which has 65,536
WRONG_CODES_OF_CLASS = 100  # per class and hour
_SIGN_INS = 1_000  # with a provider: several classes may have one address
_REMEMBERED = 20_000  # addresses that are remembered, about 3 MB
_ADDRESS_LENGTH = 64  # characters of an address
_NETWORK = 64  # bits of an IPv6 address that name a network: one home may own all of its addresses
_SITE = 48  # bits that name a site, which may have 65,536 networks


class Allowance:
    """A token bucket for each address: *most* tokens, refilled evenly within *period* seconds.

    It lives in the memory of one process. For each address only the time is stored at which its
    bucket is full again (the GCRA form of a token bucket); if there are too many addresses, those
    whose buckets are full soonest are forgotten.
    """

    def __init__(
        self, most: int, period: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """No limit if *most* is 0."""
        self._each = period / most if most else 0.0
        self._period = period
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, address: str, cost: float = 1.0) -> float:
        """Spend *cost* tokens of *address* and return 0, or return the seconds until it may."""
        now = self._clock()
        name = network(address)
        owed = max(0.0, self._full_at.get(name, 0.0) - now)
        due = owed + min(cost * self._each, self._period)
        if due > self._period:
            return due - self._period
        if due:
            self._remember(name, now + due)
        return 0.0

    def blocked(self, address: str, cost: float = 1.0) -> float:
        """The seconds until *address* may spend *cost* tokens; 0 if it may now. Spends nothing."""
        owed = max(0.0, self._full_at.get(network(address), 0.0) - self._clock())
        return max(0.0, owed + min(cost * self._each, self._period) - self._period)

    def _remember(self, name: str, full_at: float) -> None:
        self._full_at[name] = full_at
        if len(self._full_at) > _REMEMBERED:
            latest = sorted(self._full_at.items(), key=lambda entry: entry[1])[_REMEMBERED // 2 :]
            self._full_at = dict(latest)


@dataclass(frozen=True, slots=True)
class Allowances:
    """One rate limit for each operation that is costly and open to anyone."""

    answers: Allowance
    runs: Allowance
    sent_runs: Allowance
    pictures: Allowance
    wrong_codes: Allowance
    wrong_codes_of_class: Allowance
    sign_ins: Allowance
    own_wrong_codes: Allowance
    nearby_wrong_codes: Allowance
    storage: Allowance

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The rate limits in *settings*."""
        return cls(
            Allowance(settings.answers_allowed, _MINUTE),
            Allowance(settings.runs_allowed, _HOUR),
            Allowance(settings.sent_runs_allowed, _HOUR),
            Allowance(settings.pictures_allowed, _MINUTE),
            Allowance(WRONG_CODES, _MINUTE),
            Allowance(WRONG_CODES_OF_CLASS, _HOUR),
            Allowance(_SIGN_INS, _MINUTE),
            Allowance(OWN_WRONG_CODES, _DAY),
            Allowance(NEARBY_WRONG_CODES, _DAY),
            Allowance(settings.storage_allowed, _DAY),
        )


def network(address: str) -> str:
    """The key of the bucket of *address*: the address itself, or the network of an IPv6 address.

    >>> network("192.0.2.7"), network("2001:db8:1:2:3:4:5:6"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::', '192.0.2.7')
    """
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_ADDRESS_LENGTH]
    if not isinstance(known, IPv6Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(IPv6Address(int(known) >> _NETWORK << _NETWORK))


def neighborhood(address: str) -> str:
    """What is beyond the network of *address* that one party may own; an IPv4 network is dear.

    >>> neighborhood("2001:db8:1:2:3:4:5:6"), neighborhood("192.0.2.7")
    ('2001:db8:1::/48', '192.0.2.7')
    """
    name = network(address)
    if ":" not in name:
        return name
    return str(IPv6Network((name, _SITE), strict=False))
