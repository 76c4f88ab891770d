"""Rate limits per payer: a token bucket allows a burst, then a steady rate."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from app.server.aside.payer import Payer, Purse
from app.server.config import Settings
from app.server.network.bucket_table import BucketTable

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
        for number, (name, times) in enumerate(self._purses(payer)):
            full_at = self._full_at(name, partial(_owed, now=now, due=cost / times * self._each, most=most))
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


def _owed(full_at: float, now: float, due: float, most: float) -> float:
    """When a purse is full again that *due* is taken from: not later than *most*, unless it was already."""
    return min(max(full_at, now) + due, max(full_at, most))


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
