"""The hits of a search as plain values."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from app.core.translation import translate
from app.site.web.frame.renderer import Hyperlink, ListFilter
from app.site.web.search.index import KINDS, SINGULAR, Index, Kind, SearchEntry

_TRY = ("ring all-reduce", "bubble fraction", "ZeRO stage 3", "checkpoint interval", "375 %")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found, and what kind of thing it is, in words."""

    title: str
    href: str
    says: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The hits of a query; *count* is the number of all of them."""

    query: str
    hits: tuple[Hit, ...]
    count: int
    filters: tuple[ListFilter, ...]
    instead: str
    partly: bool
    all_hits: str
    examples: tuple[Hyperlink, ...]


def search_page(index: Index, query: str, kind: str, most: int) -> SearchPage:
    """At most *most* hits for *query*, of one *kind* if that is given."""
    found = index.find(query)
    counts = Counter(entry.kind for entry in found.entries)
    chosen = [entry for entry in found.entries if not kind or entry.kind == kind]
    filters = [_filter(query, "", translate("All"), len(found.entries), kind)]
    filters += [_filter(query, one, translate(KINDS[one]), counts[one], kind) for one in KINDS if counts[one]]
    return SearchPage(
        query=query,
        hits=tuple(map(_hit, chosen[:most])),
        count=len(chosen),
        filters=tuple(filters) if found.entries else (),
        instead=found.instead,
        partly=found.partly,
        all_hits=_address(query),
        examples=tuple(Hyperlink(_address(text), text) for text in _TRY),
    )


def _hit(entry: SearchEntry) -> Hit:
    return Hit(entry.title, entry.href, entry.says, translate(SINGULAR[entry.kind]))


def _filter(query: str, kind: Kind | str, title: str, count: int, chosen: str) -> ListFilter:
    return ListFilter(Hyperlink(_address(query, kind), title), count, kind == chosen)


def _address(query: str, kind: str = "") -> str:
    return f"/search?{urlencode({'q': query} | ({'kind': kind} if kind else {}))}"
