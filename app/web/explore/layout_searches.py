"""Searches over layouts: one at a time, beside the event loop, the latest remembered."""

from collections.abc import Callable
from time import thread_time

from app.aside import aside
from app.aside.jobs import BoundedJobs
from app.searching import SearchResult, Space, find_layouts
from app.translation import localized, noted, say

_LARGEST = 2_000_000  # layouts of a search
_SECONDS = 6.0  # of processor time, for one search
_REMEMBERED = 128  # results, of about 40 kB each
_WAITING = 5  # searches of one address
_TOP = 10
_BUSY = noted("other searches are running; ask again in a moment")

LayoutSearches = BoundedJobs[tuple[str, ...], SearchResult | str]


def layout_searches() -> LayoutSearches:
    """What runs searches, each once for the values of its form."""
    return LayoutSearches(_BUSY, at_once=1, waiting=_WAITING, room=_REMEMBERED)


async def search_layouts(
    space: Callable[[], Space], seconds: float = _SECONDS
) -> SearchResult | str:
    """What a search of *space* found, or why there is nothing to search."""
    return await aside(_searched, space, seconds)


def _searched(space: Callable[[], Space], seconds: float) -> SearchResult | str:
    end = thread_time() + seconds

    def hurry(seen: int, size: int) -> None:
        if thread_time() > end:
            raise ValueError(
                say(
                    "after {seconds} seconds, {seen} of {size} layouts had been searched; fix some"
                    " of the degrees",
                    seconds=f"{seconds:g}",
                    seen=f"{seen:,}",
                    size=f"{size:,}",
                )
            )

    try:
        return find_layouts(space(), top=_TOP, largest=_LARGEST, progress=hurry)
    except ValueError as error:
        return localized(str(error))
