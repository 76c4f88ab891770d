"""Work beside the event loop: in threads, by turns, on the account of who asked for it.

The door opens an account for each request. What takes long is called with `aside`: it waits for a seat, of which a
payer has at most one while there are others to serve, and its processor time is added to the account.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time
from typing import Any, ParamSpec, TypeVar

from starlette.exceptions import HTTPException

from app.core.errors import UnavailableError
from app.core.translation import noted, translate
from app.server.aside.ceiling import CEILING, run_within
from app.server.aside.fair_queue import FairQueue, Lease
from app.server.aside.payer import NOBODY, Payer

_THREADS = 2  # more would only compete with each other and with the event loop
_WAITING = 400  # pieces of work of one payer that may wait: a class of strangers that looks at one page
_OWN = 40  # pieces of work of a person, or of a cookie, that may wait
_AGAIN = 2  # seconds after which to ask again
_BUSY = noted("too many of your requests are being answered; ask again in a moment")
_POOL = ThreadPoolExecutor(_THREADS, thread_name_prefix="aside")
P = ParamSpec("P")
T = TypeVar("T")


class Seats:
    """Seats for work of one sort, handed out fairly; nobody holds one while a client is slow.

    Of several payers that wait, the one that has used the least lately goes first. One seat is
    left for others: only where there are three or more does one payer hold two.
    """

    def __init__(self, busy: str = _BUSY, *, count: int = _THREADS, waiting: int = _WAITING) -> None:
        """At most *waiting* pieces of work of a payer may wait; others are told *busy*."""
        self._busy = busy
        self._waiting = waiting
        self._queue = FairQueue[int]()
        for number in range(count):
            self._queue.add(number)

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[Lease[int]]:
        """A seat for the payer of the request that is being handled, released on exit.

        Raises:
            HTTPException: 503, too much of the same payer waits.
        """
        account = _ACCOUNT.get()
        lane, purpose = (account.payer.lane, account.purpose) if account else (NOBODY.lane, "")
        limit = self._waiting if lane.shared else min(self._waiting, _OWN)
        client = replace(lane, name=f"{purpose} {lane.name}", shared=True, limit=limit)
        async with AsyncExitStack() as stack:
            try:
                lease = await stack.enter_async_context(self._queue.slot(client))
            except UnavailableError as error:
                headers = {"Retry-After": str(_AGAIN)}
                raise HTTPException(503, translate(self._busy), headers) from error
            yield lease


@dataclass(slots=True)
class RequestAccount:
    """Seconds of processor time *spent* for one request; for each *purpose*, its payer has a lane."""

    payer: Payer
    seats: Seats
    purpose: str = ""
    spent: float = 0.0
    ceiling: float = CEILING


_ACCOUNT: ContextVar[RequestAccount | None] = ContextVar("account", default=None)


def current_payer() -> Payer:
    """Who pays for the request that is being handled; nobody outside of requests."""
    found = _ACCOUNT.get()
    return found.payer if found else NOBODY


def pay_nothing(token: str) -> None:
    """Take nothing for the request that is being handled: its sender has shown *token*."""
    if found := _ACCOUNT.get():
        found.payer = replace(found.payer, token=token)


def charge(seconds: float) -> None:
    """Add *seconds* that another process has worked to the account of the request."""
    if found := _ACCOUNT.get():
        found.spent += seconds


def lift_ceiling() -> None:
    """Let the request that is being handled use more than others: only each piece of its work has a limit."""
    if found := _ACCOUNT.get():
        found.ceiling = math.inf


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of *work*, run in another thread, in the language of the request.

    Raises:
        HTTPException: 503, too much of the same payer waits.
    """
    run = partial(copy_context().run, work, *args, **kwargs)
    account = _ACCOUNT.get()
    if account is None:
        return await asyncio.to_thread(run)
    async with account.seats.seat() as lease:
        timed = _TimedCall(partial(run_within, min(CEILING, account.ceiling - account.spent), run))
        try:
            return await asyncio.get_running_loop().run_in_executor(_POOL, timed)
        finally:
            lease.used = timed.seconds
            account.spent += timed.seconds


class _TimedCall:
    """A call that knows afterwards how much processor time it took."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run
        self.seconds = 0.0

    def __call__(self) -> Any:
        begin = thread_time()
        try:
            return self._run()
        finally:
            self.seconds = thread_time() - begin


async def on_account(account: RequestAccount, work: Coroutine[Any, Any, T]) -> T:
    """The result of *work*, whose time in the event loop is added to *account*."""
    before = _ACCOUNT.set(account)
    try:
        found: T = await _MeteredCoroutine(work, account)
        return found
    finally:
        _ACCOUNT.reset(before)


class _MeteredCoroutine:
    """A coroutine that measures each of its steps in the event loop."""

    __slots__ = ("_account", "_inner")

    def __init__(self, inner: Coroutine[Any, Any, Any], account: RequestAccount) -> None:
        self._inner = inner
        self._account = account

    def send(self, value: Any) -> Any:
        """Take the next step."""
        begin = thread_time()
        try:
            return self._inner.send(value)
        finally:
            self._account.spent += thread_time() - begin

    def throw(self, *error: Any) -> Any:
        """Take the next step, which begins with *error*."""
        begin = thread_time()
        try:
            return self._inner.throw(*error)
        finally:
            self._account.spent += thread_time() - begin

    def close(self) -> None:
        """End it."""
        self._inner.close()

    def __await__(self) -> "_MeteredCoroutine":
        return self

    def __iter__(self) -> "_MeteredCoroutine":
        return self

    def __next__(self) -> Any:
        return self.send(None)


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """*work* is under way while the block runs, and canceled at its end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
