"""The most processor time of a request, and of one piece of its work beside the event loop.

A thread cannot be killed, but Python can raise an error in it between two instructions. What stays
in C for long (`re`, `int`, `json`, `sort`) does not get there: it is for `child_process`.
"""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import TypeVar

from starlette.exceptions import HTTPException

from app.core.translation import translate

CEILING = 10.0  # seconds of processor time
_AGAIN = 60  # seconds after which to ask again, on a machine with less to do
T = TypeVar("T")


class OvertimeError(BaseException):
    """Raised in a thread whose work has reached its ceiling; no handler of errors is to catch it."""


@dataclass(slots=True)
class _TimedThread:
    """The work of a thread: its clock, and when it has used too much."""

    clock: int
    end: float
    is_told: bool = False


_LOCK = Lock()
_AT_WORK: dict[int, _TimedThread] = {}  # by the thread


def run_within(seconds: float, work: Callable[[], T]) -> T:
    """The result of *work*, which `end_overtime` ends when it has used more *seconds* of processor time.

    Raises:
        HTTPException: 503, it was ended, or there are no seconds left.
    """
    if seconds <= 0:
        raise _overtime_refusal()
    thread = get_ident()
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    clock = clock_of(thread) if clock_of else time.CLOCK_MONOTONIC  # where threads have none, one that always runs
    try:
        try:
            with _LOCK:
                _AT_WORK[thread] = _TimedThread(clock, time.clock_gettime(clock) + seconds)
            return work()
        finally:
            _leave(thread)
    except OvertimeError:
        _leave(thread)  # the error may have come while it left
        raise _overtime_refusal() from None


def end_overtime() -> None:
    """Raise an error in every thread whose work has used too much; something calls this now and then."""
    if not _AT_WORK:
        return
    with _LOCK:
        for thread, work in _AT_WORK.items():
            if not work.is_told and time.clock_gettime(work.clock) > work.end:
                work.is_told = True
                error = ctypes.py_object(OvertimeError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)


def _overtime_refusal() -> HTTPException:
    says = translate(
        "the request was ended: it has used {seconds:g} s of processor time, the most that one may; ask for less",
        seconds=CEILING,
    )
    return HTTPException(503, says, {"Retry-After": str(_AGAIN)})


def _leave(thread: int) -> None:
    """Leave, after an error that is on its way has arrived.

    (To take it back with a null pointer would have CPython 3.11 look for errors at each call from then on.)
    """
    with _LOCK:
        _AT_WORK.pop(thread, None)
    for _ in range(2):  # Python looks for errors where a loop turns back
        pass
