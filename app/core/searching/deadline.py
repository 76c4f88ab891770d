"""A search over layouts that ends in time."""

from collections.abc import Callable

from app.core.searching.search import SearchResult, find_layouts
from app.core.searching.space import Space
from app.core.translation import localized, say

_LARGEST = 2_000_000  # layouts of a search
_TOP = 10


def search_in_time(space: Callable[[], Space], seconds: float, clock: Callable[[], float]) -> SearchResult | str:
    """What a search of *space* found in *seconds* of the *clock*, or why there is no result."""
    end = clock() + seconds

    def hurry(seen: int, size: int) -> None:
        if clock() > end:
            raise ValueError(
                say(
                    "after {seconds} seconds, {seen} of {size} layouts had been searched; fix some of the degrees",
                    seconds=f"{seconds:g}",
                    seen=f"{seen:,}",
                    size=f"{size:,}",
                )
            )

    try:
        return find_layouts(space(), top=_TOP, largest=_LARGEST, progress=hurry)
    except ValueError as error:
        return localized(str(error))
