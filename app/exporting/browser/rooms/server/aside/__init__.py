"""In place of threads, in a browser, which has none."""

from collections.abc import Callable
from typing import Any


async def aside(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """The result of *work*."""
    return work(*args, **kwargs)
