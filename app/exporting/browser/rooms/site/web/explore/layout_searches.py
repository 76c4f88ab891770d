"""In place of a server's searches over layouts, in a browser: one at a time."""

from collections.abc import Callable
from time import monotonic

from app.core.searching import SearchResult, Space, search_in_time
from app.server.aside.jobs import BoundedJobs

_SECONDS = 60.0  # for one search: a browser takes several times as long as a server
_REMEMBERED = 16

LayoutSearches = BoundedJobs[tuple[str, ...], SearchResult | str]


def layout_searches() -> LayoutSearches:
    """What runs searches, each once for the values of its form."""
    return LayoutSearches("", room=_REMEMBERED)


async def search_layouts(space: Callable[[], Space]) -> SearchResult | str:
    """What a search of *space* found, or why there is no result."""
    return search_in_time(space, _SECONDS, monotonic)
