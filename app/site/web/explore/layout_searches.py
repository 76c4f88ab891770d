"""Searches over layouts: one at a time, beside the event loop, the latest remembered."""

import time
from collections.abc import Callable

from app.core.searching import SearchResult, Space, search_in_time
from app.core.translation import noted
from app.server.aside import aside
from app.server.aside.jobs import BoundedJobs

_SECONDS = 6.0  # of processor time, for one search
_REMEMBERED = 128  # results, of about 40 kB each
_WAITING = 5  # searches of one address
_BUSY = noted("other searches are running; ask again in a moment")

LayoutSearches = BoundedJobs[tuple[str, ...], SearchResult | str]


def layout_searches() -> LayoutSearches:
    """What runs searches, each once for the values of its form."""
    return LayoutSearches(_BUSY, at_once=1, waiting=_WAITING, room=_REMEMBERED)


async def search_layouts(space: Callable[[], Space], seconds: float = _SECONDS) -> SearchResult | str:
    """What a search of *space* found, or why there is no result."""
    return await aside(search_in_time, space, seconds, time.thread_time)
