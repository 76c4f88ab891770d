"""An index of words in memory: which entries have all words of a query, the best ones first."""

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import Literal

from app.translation import noted

Kind = Literal[
    "Chapter", "Exercise", "Explorer", "Formula", "Term", "Erratum", "Lab", "Hardware", "Page"
]
KINDS: Mapping[Kind, str] = {
    "Chapter": noted("Chapters"),
    "Exercise": noted("Exercises"),
    "Explorer": noted("Explorers"),
    "Formula": noted("Formulas"),
    "Term": noted("Terms"),
    "Erratum": noted("Errata"),
    "Lab": noted("Labs"),
    "Hardware": noted("Hardware and models"),
    "Page": noted("Documentation"),
}
SINGULAR: Mapping[Kind, str] = {
    "Chapter": noted("Chapter"),
    "Exercise": noted("Exercise"),
    "Explorer": noted("Explorer"),
    "Formula": noted("Formula"),
    "Term": noted("Term"),
    "Erratum": noted("Erratum"),
    "Lab": noted("Lab"),
    "Hardware": noted("Hardware"),
    "Page": noted("Page"),
}
# Of entries that are alike, those that lead on come before those that are looked up.
_FIRST: Mapping[Kind, float] = {"Chapter": 1.4, "Term": 1.2, "Explorer": 1.15, "Page": 0.8}
_TITLE, _KEYWORD, _TEXT = 8.0, 4.0, 1.0  # what a word counts, by where it is
_AGAIN = 0.25  # what it counts more for each time that it is repeated in a text,
_OFTEN = 3  # up to that many times
_BEGUN = 0.6  # of a word whose beginning was typed
_WHOLE, _START = 2.0, 1.3  # a title that is the query, or begins with it
_WORDS = 8  # of a query that are looked at
_LETTERS = 40  # of a word
_ALIKE = 0.75  # of the letters of a word that may be meant

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_HYPHENATED = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i",
    "if", "in", "is", "it", "its", "my", "of", "on", "or", "that", "the", "this", "to", "was",
    "what", "when", "where", "which", "who", "why", "will", "with", "you",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """Something that can be found: its texts, from the most to the least telling."""

    kind: Kind
    title: str
    href: str
    says: str
    keywords: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The entries of a query, the best ones first.

    *instead* is the query that was answered, if words in it were misspelled; *partly*: no entry
    has all of its words.
    """

    entries: tuple[SearchEntry, ...]
    instead: str = ""
    partly: bool = False


class Index:
    """The words of *entries*."""

    def __init__(self, entries: Sequence[SearchEntry]) -> None:
        self._entries = tuple(entries)
        self._titles = tuple(" ".join(index_words(entry.title)) for entry in entries)
        self._weights: dict[str, dict[int, float]] = {}
        for number, entry in enumerate(self._entries):
            for word, weight in _weighed(entry).items():
                self._weights.setdefault(word, {})[number] = weight
        self._sorted = sorted(self._weights)

    def find(self, query: str) -> SearchResults:
        """The entries with all words of *query*, or with most of them where none has all."""
        asked = _asked(query)
        meant = [self._meant(word) for word in asked]
        scores = [self._scored(word) for word in meant]
        everywhere = set.intersection(*map(set, scores)) if scores else set[int]()
        partly = not everywhere
        numbers = everywhere or self._best(scores)
        ranked = sorted(numbers, key=lambda n: (-self._rank(n, scores, meant), self._titles[n]))
        instead = " ".join(meant) if meant != asked and ranked else ""
        return SearchResults(
            tuple(self._entries[n] for n in ranked), instead, partly and bool(ranked)
        )

    def _meant(self, word: str) -> str:
        """*word*, or the known word that is most like it if none begins with it."""
        if next(self._beginning(word), None):
            return word
        return next(iter(get_close_matches(word, self._sorted, 1, _ALIKE)), word)

    def _beginning(self, word: str) -> Iterator[str]:
        """The known words that begin with *word*."""
        place = bisect_left(self._sorted, word)
        rest = (self._sorted[n] for n in range(place, len(self._sorted)))
        return takewhile(lambda known: known.startswith(word), rest)

    def _scored(self, word: str) -> Mapping[int, float]:
        """What *word* counts in each entry that has it, or a word that begins with it."""
        found: dict[int, float] = {}
        for known in self._beginning(word):
            weights = self._weights[known]
            rare = math.log(1 + len(self._entries) / len(weights))
            near = 1.0 if known == word else _BEGUN * len(word) / len(known)
            for number, weight in weights.items():
                found[number] = max(found.get(number, 0.0), weight * rare * near)
        return found

    def _best(self, scores: Sequence[Mapping[int, float]]) -> set[int]:
        """The entries with most of the words."""
        counts = Counter(number for score in scores for number in score)
        most = max(counts.values(), default=0)
        return {number for number, count in counts.items() if count == most}

    def _rank(self, number: int, scores: Sequence[Mapping[int, float]], meant: list[str]) -> float:
        title, query = self._titles[number], " ".join(meant)
        whole = _WHOLE if title == query else _START if title.startswith(query) else 1.0
        first = _FIRST.get(self._entries[number].kind, 1.0)
        return first * whole * sum(score.get(number, 0.0) for score in scores)


def index_words(text: str) -> list[str]:
    """The words of *text*, as the index knows them: in lower case, and in the singular.

    >>> index_words("All-reduces of 14,336 bytes")
    ['all', 'reduce', 'of', '14336', 'byte']
    """
    return [_singular(word) for word in _WORD.findall(_plain(text))]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _singular(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")[:_LETTERS]
    ends = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > len("gas")
    return (word[:-1] if ends else word)[:_LETTERS]


def _counted(text: str) -> Mapping[str, int]:
    """How often each word is in *text*, and each with hyphens as one: allreduce for all-reduce."""
    plain = _plain(text)
    found = Counter(_WORD.findall(plain))
    found.update(word.replace("-", "") for word in _HYPHENATED.findall(plain) if "-" in word)
    counts: dict[str, int] = {}
    for word, count in found.items():
        singular = _singular(word)
        counts[singular] = counts.get(singular, 0) + count
    return counts


def _weighed(entry: SearchEntry) -> Mapping[str, float]:
    """What each word counts in *entry*."""
    found: dict[str, float] = {}
    for text, weight in (
        (f"{entry.says} {entry.text}", _TEXT), (entry.keywords, _KEYWORD), (entry.title, _TITLE),
    ):  # fmt: skip
        for word, count in _counted(text).items():
            found[word] = weight * (1 + _AGAIN * (min(count, _OFTEN) - 1))
    return found


def _asked(query: str) -> list[str]:
    """The words that are looked for; words such as "the" only where there are no others."""
    every = list(dict.fromkeys(index_words(query)))
    return ([word for word in every if word not in _STOP] or every)[:_WORDS]
