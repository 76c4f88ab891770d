"""Rate limits per address: a token bucket allows a burst, then a steady rate."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Self

from app.config import Settings
from app.network.bucket_table import BucketTable

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
_NETWORKS = 20_000  # addresses whose network is remembered
_ADDRESS_LENGTH = 64  # characters of an address
_NETWORK = 64  # bits of an IPv6 address that name a network: one home may own all of its addresses
_SITE = 48  # bits that name a site, which may have 65,536 networks


class Allowance:
    """A token bucket for each address: *most* tokens, refilled evenly within *period* seconds.

    For each address only the time is stored at which its bucket is full again (the GCRA form of a
    token bucket), in a *table* that other allowances, and other processes, may share: buckets of
    the same *name* are the same.
    """

    def __init__(
        self,
        most: float,
        period: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        table: BucketTable | None = None,
        name: str = "",
    ) -> None:
        """No limit if *most* is 0."""
        self._each = period / most if most else 0.0
        self._period = period
        self._clock = clock
        self._name = name
        self._table = table or BucketTable()

    def wait(self, address: str, cost: float = 1.0) -> float:
        """Spend *cost* tokens of *address* and return 0, or return the seconds until it may."""
        if not self._each:
            return 0.0
        now, due = self._clock(), self._due(cost)

        def spent(full_at: float) -> float:
            return full_at if self._delay(full_at, now, due) else max(full_at, now) + due

        full_at = self._table.change(self._key(address), now, spent)
        return self._delay(full_at, now, due)

    def blocked(self, address: str, cost: float = 1.0) -> float:
        """The seconds until *address* may spend *cost* tokens; 0 if it may now. Spends nothing."""
        if not self._each:
            return 0.0
        now = self._clock()
        full_at = self._table.change(self._key(address), now, lambda full_at: full_at)
        return self._delay(full_at, now, self._due(cost))

    def charge(self, address: str, cost: float) -> None:
        """Take *cost* tokens from *address*, which may owe them; a negative cost gives back."""
        if not self._each or not cost:
            return
        now = self._clock()
        self._table.change(self._key(address), now, lambda full_at: max(full_at, now) + cost * self._each)

    def _delay(self, full_at: float, now: float, due: float) -> float:
        """The seconds until *due* may be spent; exactly 0 for all of a bucket that is full."""
        return max(0.0, max(0.0, full_at - now) + due - self._period)

    def _due(self, cost: float) -> float:
        return min(cost * self._each, self._period)

    def _key(self, address: str) -> str:
        return f"{self._name} {network(address)}"


@dataclass(frozen=True, slots=True)
class Allowances:
    """One rate limit for each operation that is costly and open to anyone.

    *processor* is for all of them: seconds of processor time, per address or person.
    """

    answers: Allowance
    runs: Allowance
    sent_runs: Allowance
    wrong_codes: Allowance
    wrong_codes_of_class: Allowance
    sign_ins: Allowance
    processor: Allowance
    own_wrong_codes: Allowance
    nearby_wrong_codes: Allowance
    storage: Allowance

    @classmethod
    def of(cls, settings: Settings, file: Path | None = None) -> Self:
        """The rate limits in *settings*, for all processes that name the same *file*."""
        table = BucketTable(file)

        def allowance(name: str, most: float, period: float) -> Allowance:
            return Allowance(most, period, table=table, name=name)

        return cls(
            allowance("answers", settings.answers_allowed, _MINUTE),
            allowance("runs", settings.runs_allowed, _HOUR),
            allowance("sent runs", settings.sent_runs_allowed, _HOUR),
            allowance("wrong codes", WRONG_CODES, _MINUTE),
            allowance("wrong codes of a class", WRONG_CODES_OF_CLASS, _HOUR),
            allowance("sign-ins", _SIGN_INS, _MINUTE),
            allowance("processor", settings.processor_allowed, _MINUTE),
            allowance("own wrong codes", OWN_WRONG_CODES, _DAY),
            allowance("nearby wrong codes", NEARBY_WRONG_CODES, _DAY),
            allowance("storage", settings.storage_allowed, _DAY),
        )


@lru_cache(_NETWORKS)
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
