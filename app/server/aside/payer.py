"""Who pays for a request: its processor time, its turn in a queue, its bytes, and its wrong codes.

A person pays, or a learner's cookie that has earned it, or else the address: a stranger is no more than that.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

from app.server.aside.fair_queue import Client, anonymous, grader

NEW = 300.0  # seconds for which a person or a cookie is new
_EVERYBODY = 8.0  # times what one has: what persons and cookies of an address have together
_NEWCOMERS = 1.25  # the same for its strangers and new persons: a greedy stranger leaves a hall its first minutes
_NEW_PERSON = 0.125  # the same for one new person
_NEIGHBORS = 8.0  # the same for strangers and new persons of neighboring IPv4 addresses, which are dear
_ADDRESSES = 20_000  # whose network is remembered
_COOKIES = 20_000  # learners that are remembered
_LONGEST = 64  # characters of an address
_NETWORK = 64  # bits of an IPv6 address that name a network: one home may own all of its addresses
_SITE = 48  # bits that name a site, which may have 65,536 networks
_BLOCK = 24  # bits of an IPv4 address that its neighbors have, too

Purse = tuple[str, float]  # the name of a bucket, and how many times as large as an allowance says it is


@dataclass(frozen=True, slots=True)
class Payer:
    """A person, a learner's cookie, or a stranger at an *address*, which is a network of IPv6.

    *learner* is that of the person or of the cookie; a person *is_new* for some minutes. Who has shown a
    *token* pays nothing.
    """

    address: str = ""
    learner: str = ""
    is_person: bool = False
    is_new: bool = False
    token: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it is a person, or has shown a token."""
        return self.is_person or bool(self.token)

    @property
    def lane(self) -> Client:
        """Whose turn it is in a queue: strangers of an address share a lane."""
        if self.token:
            return grader(self.token)
        return Client(self.learner) if self.learner else anonymous(self.address)

    @property
    def purses(self) -> tuple[Purse, ...]:
        """What is drawn on: all of it must have enough.

        Many can be made of persons, cookies and networks. So all of an address draw on a purse that is larger, those
        of an IPv6 site on one, and what was just made on one with strangers.
        """
        if self.token:
            return ()
        if self.learner and not self.is_new:
            return (self.learner, 1.0), (f"everybody at {self.site}", _EVERYBODY)
        own = (self.learner, _NEW_PERSON) if self.learner else (self.address, 1.0)
        return own, *_newcomers(self.address)

    @property
    def site(self) -> str:
        """The address; of IPv6, all addresses that one party may own."""
        return neighborhood(self.address) if ":" in self.address else self.address


NOBODY = Payer()


@lru_cache(_ADDRESSES)
def _newcomers(address: str) -> tuple[Purse, ...]:
    nearby = neighborhood(address)
    if ":" in address:
        return ((f"newcomers at {nearby}", _NEWCOMERS),)
    near = (f"newcomers at {address}", _NEWCOMERS)
    return (near, (f"newcomers at {nearby}", _NEIGHBORS)) if nearby != address else (near,)


class EarnedCookies:
    """Learners' cookies that this process has known for some minutes: anyone can get a new one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: OrderedDict[str, float] = OrderedDict()  # when each was seen first, the one seen last at the end

    def has(self, learner: str) -> bool:
        """Whether *learner*, who has come with a cookie just now, came first some minutes ago."""
        now = self._clock()
        first = self._first.setdefault(learner, now)
        self._first.move_to_end(learner)
        if len(self._first) > _COOKIES:
            self._first.popitem(last=False)
        return now - first >= NEW


@lru_cache(_ADDRESSES)
def network(address: str) -> str:
    """The address itself, or the network of an IPv6 address.

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


def neighborhood(address: str) -> str:
    """The addresses around *address* that one party may have.

    >>> neighborhood("2001:db8:1:2:3:4:5:6"), neighborhood("192.0.2.7"), neighborhood("a socket")
    ('2001:db8:1::/48', '192.0.2.0/24', 'a socket')
    """
    name = network(address)
    try:
        if ":" in name:
            return str(IPv6Network((name, _SITE), strict=False))
        return str(IPv4Network((name, _BLOCK), strict=False))
    except ValueError:
        return name
