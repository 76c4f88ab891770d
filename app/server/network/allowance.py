"""Rate limits and processor time for each payer: checked when a request arrives."""

import fcntl
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.core.translation import plural, translate
from app.server.aside import RequestAccount, Seats, on_account
from app.server.aside.payer import Payer, Purse, network
from app.server.config import Settings

_WAYS = 8  # places where one bucket may be
_GROUPS = 1 << 12  # of such places
_PLACE = struct.Struct("=Qd")  # the digest of a bucket's name, and when it is full
_GROUP = struct.Struct("=" + "Qd" * _WAYS)
_KEY = 16  # bytes, so that nobody can choose names that share their places
REMEMBERED = _GROUPS * _WAYS  # buckets
_SIZE = _KEY + REMEMBERED * _PLACE.size
_DIGESTS = 20_000  # names whose digest is remembered


class BucketTable:
    """For each bucket, the time at which it is full again.

    Its size is fixed. A bucket that finds all of its places taken replaces the one in them that is full soonest. Every
    change is made under a lock on a part of the file, which the kernel releases if the process is killed.
    """

    def __init__(self, file: Path | None = None) -> None:
        """In *file*, for all processes that name the same one; without it, for this process."""
        self._lock = threading.Lock()
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.ftruncate(self._file, _SIZE)
        self._memory = mmap.mmap(self._file, _SIZE)
        self._digest = lru_cache(_DIGESTS)(self._digested)
        with self._locked(0, _KEY):
            if not any(self._memory[:_KEY]):
                self._memory[:_KEY] = os.urandom(_KEY)
            self._key = bytes(self._memory[:_KEY])

    def change(self, name: str, now: float, changed: Callable[[float], float]) -> float:
        """The time at which the bucket *name* was full; from now on it is what *changed* returns.

        A bucket that is full by *now* needs no place.
        """
        digest = self._digest(name)
        start = _KEY + (digest % _GROUPS) * _GROUP.size
        with self._locked(start, _GROUP.size):
            places = _GROUP.unpack_from(self._memory, start)
            digests, times = places[::2], places[1::2]
            known = digest in digests
            place = digests.index(digest) if known else times.index(min(times))
            full_at: float = times[place] if known else 0.0
            later = changed(full_at)
            if later != full_at and (known or later > now):
                _PLACE.pack_into(self._memory, start + place * _PLACE.size, digest, later)
        return full_at

    def clear(self) -> None:
        """Forget every bucket."""
        with self._locked(_KEY, _SIZE - _KEY):
            self._memory[_KEY:] = bytes(_SIZE - _KEY)

    def _digested(self, name: str) -> int:
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        return int.from_bytes(digest.digest(), "little") or 1  # 0 stands for an empty place

    @contextmanager
    def _locked(self, start: int, size: int) -> Iterator[None]:
        with self._lock:
            if self._file < 0:
                yield
                return
            fcntl.lockf(self._file, fcntl.LOCK_EX, size, start)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, size, start)


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0  # seconds
_MONTH = 30 * _DAY
# A right code opens, whatever others at its address have typed: only the answers to wrong ones come late. So each
# address has wrong codes of its own, as many as a prank of an hour takes. Only from one who had more, codes are no
# longer looked at, except for those in the common bucket of the class: nobody who types wrong codes elsewhere locks
# out one who types the right one. With these limits, one of the 300 seat codes of a class, of 40 bits each, is
# guessed from a hundred addresses with a probability of 1e-3 in a year of trying, and from ten thousand with 7 %.
WRONG_CODES = 10  # per address and minute that are answered at once
OWN_WRONG_CODES = 2_000  # per address and month that count for it alone
WRONG_CODES_OF_CLASS = 100  # per class and hour
_SIGN_INS = 1_000  # with a provider: several classes may have one address
_DEBT = 0.25  # of a period: as long as one who owes more has to wait


class Allowance:
    """A token bucket for each purse: *most* tokens, refilled evenly within *period* seconds.

    A payer may draw on several purses at once, and some are a few times as large. Of each only the time is
    stored at which it is full again (the GCRA form of a token bucket), in a *table* that other allowances, and other
    processes, may share: buckets of the same *name* are the same.
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

    def wait(self, payer: Payer | str, cost: float = 1.0) -> float:
        """Spend *cost* tokens of *payer* and return 0, or return the seconds until they may be spent.

        In place of a payer, one purse may be named.
        """
        purses = self._purses(payer)
        if len(purses) > 1 and (wait := self.blocked(payer, cost)):
            return wait  # nothing is spent if one of them has too little
        now = self._clock()
        return max((self._spend(name, cost / times, now) for name, times in purses), default=0.0)

    def blocked(self, payer: Payer | str, cost: float = 1.0) -> float:
        """The seconds until *payer* may spend *cost* tokens; 0 if it may now. Spends nothing."""
        now = self._clock()
        purses = self._purses(payer)
        return max((self._delay(self._full_at(name), now, cost / times) for name, times in purses), default=0.0)

    def charge(self, payer: Payer | str, cost: float) -> None:
        """Take *cost* tokens from *payer*, who may owe a few; a negative cost gives back.

        What the first purse, which is one's own, did not have is owed by it alone: others are not to suffer for it.
        """
        now = self._clock()
        most = now + (1 + _DEBT) * self._period

        def owed(full_at: float, due: float) -> float:
            return min(max(full_at, now) + due, most)

        for number, (name, times) in enumerate(self._purses(payer)):
            full_at = self._full_at(name, partial(owed, due=cost / times * self._each))
            if number == 0:
                left = (self._period - max(0.0, full_at - now)) / self._each * times
                cost = min(cost, max(0.0, left))

    def _purses(self, payer: Payer | str) -> tuple[Purse, ...]:
        if not self._each:
            return ()
        return ((payer, 1.0),) if isinstance(payer, str) else payer.purses

    def _spend(self, name: str, cost: float, now: float) -> float:
        def spent(full_at: float) -> float:
            return full_at if self._delay(full_at, now, cost) else max(full_at, now) + self._due(cost)

        return self._delay(self._full_at(name, spent), now, cost)

    def _full_at(self, name: str, changed: Callable[[float], float] = lambda full_at: full_at) -> float:
        """When a purse was full; from now on it is what *changed* returns."""
        return self._table.change(f"{self._name} {name}", self._clock(), changed)

    def _delay(self, full_at: float, now: float, cost: float) -> float:
        """The seconds until *cost* may be spent; exactly 0 for all of a bucket that is full."""
        return max(0.0, max(0.0, full_at - now) + self._due(cost) - self._period)

    def _due(self, cost: float) -> float:
        return min(cost * self._each, self._period)


@dataclass(frozen=True, slots=True)
class Allowances:
    """One rate limit for each operation that is costly and open to anyone.

    *processor* is for all other requests: seconds of processor time. Ways in and *files* have as many of their own, so
    that nobody who asks for much closes them.
    """

    answers: Allowance
    runs: Allowance
    sent_runs: Allowance
    wrong_codes: Allowance
    wrong_codes_of_class: Allowance
    sign_ins: Allowance
    processor: Allowance
    ways_in: Allowance
    files: Allowance
    own_wrong_codes: Allowance
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
            allowance("ways in", settings.processor_allowed, _MINUTE),
            allowance("files", settings.processor_allowed, _MINUTE),
            allowance("own wrong codes", OWN_WRONG_CODES, _MONTH),
            allowance("storage", settings.storage_allowed, _DAY),
        )


ADVANCE = 0.02  # seconds that each request pays when it arrives: many at once are not for free
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BudgetItem:
    """What addresses may use for one *purpose*, apart from all else: for the paths that it *owns*."""

    purpose: str
    allowance: Allowance
    owns: Callable[[str], object]


class Budget:
    """Opens the accounts of requests, and closes them."""

    def __init__(
        self, allowance: Allowance, find_payer: Callable[[Scope], Awaitable[Payer]], items: Sequence[BudgetItem] = ()
    ) -> None:
        """*find_payer* is not asked for what *items* are for: who comes that way is not known yet."""
        self._pages = BudgetItem("", allowance, lambda path: True)
        self._find_payer = find_payer
        self._items = items
        self._seats = Seats()

    async def charged(self, scope: Scope, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of *work*, on the account of a request.

        Raises:
            HTTPException: 429, who pays for it has nothing left.
        """
        path: str = scope["path"]
        for item in self._items:
            if item.owns(path):
                payer = address_of(scope)
                break
        else:
            item, payer = self._pages, await self._find_payer(scope)
        if wait := item.allowance.wait(payer, ADVANCE):
            seconds = math.ceil(wait)
            says = translate(
                "your requests have used more processor time than the server gives to one visitor; try again {when}",
                when=plural("in a second", "in {number:,} seconds", seconds),
            )
            raise HTTPException(429, says, {"Retry-After": str(seconds)})
        account = RequestAccount(payer, self._seats, item.purpose)
        try:
            return await on_account(account, work())
        finally:
            free = account.payer is not payer  # a token that was shown later
            item.allowance.charge(payer, (0.0 if free else account.spent) - ADVANCE)


def address_of(scope: Scope) -> Payer:
    """The stranger who has sent a request."""
    client = scope.get("client")
    return Payer(network(client[0]) if client else "")
