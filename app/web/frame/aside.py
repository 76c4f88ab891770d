"""Work that would block the event loop, run in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

_THREADS = 2  # more would only compete with each other and with the event loop
_POOL = ThreadPoolExecutor(_THREADS, thread_name_prefix="aside")
P = ParamSpec("P")
T = TypeVar("T")


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of *work*, run in another thread in the language of the request."""
    told = partial(copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_POOL, told)
