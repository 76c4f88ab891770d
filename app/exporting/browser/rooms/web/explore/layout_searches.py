"""In place of a server's searches over layouts, in a browser: one at a time."""

from collections.abc import Callable
from time import monotonic

from app.aside.jobs import BoundedJobs
from app.searching import SearchResult, Space, find_layouts
from app.translation import localized, say

_LARGEST = 2_000_000  # layouts of a search
_SECONDS = 60.0  # for one search: a browser takes several times as long as a server
_REMEMBERED = 16
_TOP = 10

LayoutSearches = BoundedJobs[tuple[str, ...], SearchResult | str]


def layout_searches() -> LayoutSearches:
    """What runs searches, each once for the values of its form."""
    return LayoutSearches("", room=_REMEMBERED)


async def search_layouts(space: Callable[[], Space]) -> SearchResult | str:
    """What a search of *space* found, or why there is nothing to search."""
    end = monotonic() + _SECONDS

    def hurry(seen: int, size: int) -> None:
        if monotonic() > end:
            raise ValueError(
                say(
                    "after {seconds} seconds, {seen} of {size} layouts had been searched; fix some"
                    " of the degrees",
                    seconds=f"{_SECONDS:g}",
                    seen=f"{seen:,}",
                    size=f"{size:,}",
                )
            )

    try:
        return find_layouts(space(), top=_TOP, largest=_LARGEST, progress=hurry)
    except ValueError as error:
        return localized(str(error))
