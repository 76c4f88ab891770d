"""An index of words in memory: which entries answer a query, the best ones first."""

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import Literal, NamedTuple

from app.core.translation import noted, translate
from app.course.kinds.base import ValueCache

_LETTERS = 40  # of a word
_SHORT = len("gas")  # words that keep their s

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_HYPHENATED = re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
# Words of a question, which say nothing of what it is about.
_OF_QUESTIONS = (
    "a", "about", "am", "an", "and", "any", "are", "as", "ask", "at", "be", "because", "been",
    "by", "calculate", "calculated", "calculation", "calculator", "can", "choose", "come",
    "computed", "could", "define", "definition", "did", "do", "does", "doing", "done",
    "equation", "estimate", "exactly", "example", "explain", "explained", "find", "for",
    "formula", "formulas", "from", "get", "give", "good", "happen", "happens", "has", "have",
    "help", "how", "i", "if", "in", "into", "is", "it", "its", "just", "know", "long", "many",
    "me", "mean", "meaning", "means", "much", "my", "need", "needed", "needs", "no", "not",
    "of", "off", "on", "one", "or", "our", "please", "probably", "really", "run", "say",
    "should", "so", "some", "take", "taken", "takes", "tell", "than", "that", "the", "them",
    "then", "there", "these", "they", "thing", "this", "to", "too", "understand", "use", "used",
    "using", "vs", "was", "we", "were", "what", "whats", "when", "where", "which", "who", "why",
    "will", "with", "work", "works", "would", "you", "your", "aber", "als", "auf", "aus", "bei",
    "berechnen", "berechnet", "bitte", "brauche", "brauchen", "braucht", "das", "dauert", "dem",
    "den", "der", "des", "die", "ein", "eine", "einem", "einen", "einer", "eines", "er",
    "erklären", "es", "formel", "für", "gibt", "hat", "ich", "im", "ist", "kann", "lange",
    "man", "mein", "meine", "meinem", "meinen", "meiner", "mit", "nicht", "oder", "sind", "sie",
    "über", "um", "und", "von", "vom", "wann", "warum", "welche", "welcher", "welches", "wenn",
    "wer", "werden", "wie", "wieso", "wieviel", "viel", "viele", "wird", "wo", "zu", "zum",
    "zur", "zwischen", "stand", "stands", "better", "al", "et", "show", "lot", "beim", "wofür",
    "gerade", "paper", "papers",
)  # fmt: skip
_HAN_STOP = re.compile(
    "是什么|什么是|为什么|什么|怎么样|怎么算|怎么|如何|怎样|多少|多大|多久|多长|哪个|哪些|几个"
    "|需要|计算|公式|一个|可以|吗|呢|的|了|和|与|在|我|是|会|要|用"
)
_ASKS_MEANING = re.compile(
    r"^\s*(?:what(?:'s| is| are| does)|define|meaning of|was (?:ist|sind|bedeutet|heißt)|什么是)\b"
    r"|\b(?:definition|meaning|bedeutung|means?|stands? for)\b|什么是|是什么|什么意思|定义"
)
_LONGEST_TERM = 3  # words of what a definition is asked of


def _singular(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")[:_LETTERS]
    ends = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _SHORT
    return (word[:-1] if ends else word)[:_LETTERS]


_STOP = frozenset(map(_singular, _OF_QUESTIONS))


def index_words(text: str) -> list[str]:
    """The words of *text*, as the index knows them: in lower case, and in the singular.

    Chinese has no spaces between words: any two adjacent characters count as one.

    >>> index_words("All-reduces of 14,336 bytes")
    ['all', 'reduce', 'of', '14336', 'byte']
    >>> index_words("GPU 显存带宽")
    ['gpu', '显存', '存带', '带宽']
    """
    return [word for found in _WORD.findall(_plain(text)) for word in _parts(found)]


def count_words(text: str) -> Mapping[str, int]:
    """How often each word is in *text*, and each with hyphens as one: allreduce for all-reduce."""
    counts = Counter(index_words(text))
    joined = (word.replace("-", "") for word in _HYPHENATED.findall(_plain(text)))
    counts.update(part for word in joined for part in _parts(word))
    return counts


def query_words(query: str) -> list[str]:
    """The words of *query* that say what it is about; all of them if none does."""
    every = list(dict.fromkeys(index_words(_without_question(query))))
    return [word for word in every if word not in _STOP] or every


def phrase_words(phrase: str) -> frozenset[str]:
    """The words of *phrase*, of which those with hyphens are both one word and their parts."""
    return frozenset(count_words(_without_question(phrase)))


def asks_meaning(query: str) -> bool:
    """Whether *query* asks what a term means."""
    about = len(query_words(query))
    return about <= _LONGEST_TERM and bool(_ASKS_MEANING.search(_plain(query)))


def _without_question(text: str) -> str:
    """*text* without what makes it a question in Chinese, where no space is between words."""
    return " ".join(re.sub(_HAN_STOP, " ", _plain(text)).split()) or text


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _parts(word: str) -> Iterator[str]:
    """*word*, or the pairs of its Chinese characters and what is between them."""
    place = 0
    for han in _HAN.finditer(word):
        if before := word[place : han.start()]:
            yield _singular(before)
        run, place = han[0], han.end()
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    if rest := word[place:]:
        yield _singular(rest)


Kind = Literal["Chapter", "Term", "Exercise", "Explorer", "Formula", "Erratum", "Lab", "Hardware", "Page"]


class KindOfEntry(NamedTuple):
    """How entries of a kind are called, and how well they rank: what leads on comes before what is looked up."""

    plural: str
    singular: str
    rank: float


KINDS: Mapping[Kind, KindOfEntry] = {
    "Chapter": KindOfEntry(noted("Chapters"), noted("Chapter"), 1.5),
    "Term": KindOfEntry(noted("Terms"), noted("Term"), 1.35),
    "Exercise": KindOfEntry(noted("Exercises"), noted("Exercise"), 1.1),
    "Explorer": KindOfEntry(noted("Explorers"), noted("Explorer"), 1.1),
    "Formula": KindOfEntry(noted("Formulas"), noted("Formula"), 0.7),
    "Erratum": KindOfEntry(noted("Errata"), noted("Erratum"), 0.9),
    "Lab": KindOfEntry(noted("Labs"), noted("Lab"), 0.9),
    "Hardware": KindOfEntry(noted("Hardware and models"), noted("Hardware"), 0.8),
    "Page": KindOfEntry(noted("Documentation"), noted("Page"), 0.9),
}
# Words that name a kind of page: it is preferred.
_KIND_WORDS: Mapping[str, Kind] = {
    "formula": "Formula", "equation": "Formula", "formel": "Formula", "公式": "Formula", "lab": "Lab",
    "experiment": "Lab", "erratum": "Erratum", "errata": "Erratum", "exercise": "Exercise", "aufgabe": "Exercise",
    "chapter": "Chapter", "kapitel": "Chapter", "explorer": "Explorer", "slider": "Explorer", "term": "Term",
    "glossary": "Term", "begriff": "Term", "datasheet": "Hardware", "spec": "Hardware", "flop": "Hardware",
    "tflop": "Hardware",
}  # fmt: skip
_LEFT_OUT: frozenset[Kind | None] = frozenset(["Formula", "Lab", "Erratum", "Explorer"])
_PREFERRED = 4.0  # times as much for that kind, which an entry's own words do not reach
_MEANING = 3.0  # times as much for a term, where a meaning is asked for
_TITLE, _KEYWORD, _TEXT = 8.0, 4.0, 1.0  # what a word counts, by where it is
_AGAIN = 0.25  # what it counts more for each time that it is repeated in a text,
_OFTEN = 3  # up to that many times
_BEGUN = 0.6  # of a word whose beginning was typed
_WITHIN = 0.4  # of a word that has what was typed inside, as German ones do
_ALIAS = 0.8  # of a word that means the same
_LIKE = 32.0  # for a title or a question that is the query
_NAMED = 1.6  # times as much for a formula whose name is the query
_EMPTY = 0.5  # what a word tells that is in any question
_MASS = 0.6  # of what the words of a query weigh, in an entry that is found
_LEAST = 0.02  # of the rank of the best
_WORDS = 10  # of a query that are looked at
_ALIKE = 0.75  # of the letters of a word that may be meant
_INSIDE = 5  # letters of what is looked for inside of words


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """Something that can be found: its texts, from the most to the least telling.

    *questions* are what people ask where this answers.
    """

    kind: Kind
    title: str
    href: str
    says: str
    keywords: str = ""
    text: str = ""
    questions: tuple[str, ...] = ()

    @property
    def kind_title(self) -> str:
        """What kind of thing it is, in words."""
        return translate(KINDS[self.kind].singular)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The entries of a query, the best ones first.

    *instead* is the query that was answered, if words in it were misspelled; *partly*: no entry has all of its words.
    """

    entries: tuple[SearchEntry, ...]
    instead: str = ""
    partly: bool = False


@dataclass(frozen=True, slots=True)
class _SoughtWord:
    """A word that is looked for, or several that are one with hyphens, as all-reduce.

    *weight* is what it tells, and *scores* what it counts in each entry.
    """

    words: frozenset[str]
    weight: float
    scores: Mapping[int, float]


class Index:
    """The words of *entries*; *alike* has words that mean others."""

    def __init__(self, entries: Sequence[SearchEntry], alike: Mapping[str, str] | None = None) -> None:
        self._entries = tuple(entries)
        self._alike = alike or {}
        self._weights: dict[str, dict[int, float]] = defaultdict(dict)
        self._phrases: list[tuple[frozenset[str], ...]] = []
        for number, entry in enumerate(self._entries):
            for word, weight in _weighed(entry).items():
                self._weights[word][number] = weight
            self._phrases.append(tuple(map(phrase_words, (entry.title, *entry.questions))))
        self._sorted = sorted(self._weights)
        formulas = [one for one in self._entries if one.kind == "Formula"]
        self._formulas = {name: one for one in formulas for name in (one.title, f"{one.keywords}.{one.title}")}
        self._found = ValueCache[str, SearchResults]()
        self._terms = frozenset(
            word for one in self._entries if one.kind == "Term" for word in index_words(f"{one.title} {one.keywords}")
        )

    def find(self, query: str) -> SearchResults:
        """The entries that have *query*, or the most telling of its words."""
        return self._found.of(query, lambda: self._find(query))

    def _find(self, query: str) -> SearchResults:
        asked = query_words(query)[:_WORDS]
        kind = "Term" if asks_meaning(query) else kind_asked(query)
        if kind in _LEFT_OUT:
            asked = [word for word in asked if word not in _KIND_WORDS]
        meant = [known for word in asked for known in self._meant(word)]
        sought = self._all_sought(list(dict.fromkeys(meant)))
        empty = [word for word in phrase_words(query) if word in _STOP]
        ranks = self._ranks(sought, frozenset(empty), kind)
        least = _LEAST * max(ranks.values(), default=0.0)
        found = sorted((n for n in ranks if ranks[n] >= least), key=lambda n: (-ranks[n], n))
        entries = tuple(self._entries[number] for number in found)
        if formula := self._formulas.get(query.strip().casefold()):
            return SearchResults((formula, *(one for one in entries if one is not formula)))
        partly = not any(all(n in one.scores for one in sought) for n in found[:1])
        instead = " ".join(meant) if meant != asked and found else ""
        return SearchResults(entries, instead, partly and bool(found))

    def _all_sought(self, words: list[str]) -> list[_SoughtWord]:
        """*words*, of which two that are also written with a hyphen are one."""
        found, rest = [], list(words)
        while rest:
            word = rest.pop(0)
            parts = [word]
            if rest and word + rest[0] in self._weights:
                parts.append(rest.pop(0))
            found.append(self._sought(parts))
        return found

    def _ranks(self, sought: Sequence[_SoughtWord], empty: frozenset[str], kind: Kind | None) -> dict[int, float]:
        """How well each entry answers that has enough of the words."""
        found: dict[int, float] = defaultdict(float)
        scores: dict[int, float] = defaultdict(float)
        for one in sought:
            for number, score in one.scores.items():
                found[number] += one.weight
                scores[number] += score
        every = sum(one.weight for one in sought)
        enough = min(_MASS * sum(o.weight for o in sought if o.scores), max(found.values(), default=0))
        return {
            number: self._first(number, sought, kind)
            * (found[number] / every)
            * (score + _LIKE * every * self._likeness(number, sought, empty))
            for number, score in scores.items()
            if found[number] >= enough
        }

    def _first(self, number: int, sought: Sequence[_SoughtWord], asked: Kind | None) -> float:
        kind, title = self._entries[number].kind, self._phrases[number][0]
        if kind == asked:
            return _MEANING * KINDS[kind].rank if kind == "Term" else _PREFERRED
        if kind == "Formula" and title == frozenset().union(*(one.words for one in sought)):
            return KINDS[kind].rank * _NAMED
        return KINDS[kind].rank

    def _likeness(self, number: int, sought: Sequence[_SoughtWord], empty: frozenset[str]) -> float:
        """How much the query is like the title of an entry, or a question that it answers."""
        query = sum(one.weight for one in sought) + _EMPTY * len(empty)
        best = 0.0
        for phrase in self._phrases[number]:
            shared = [one for one in sought if one.words & phrase]
            if shared:
                covered = empty.union(*(one.words for one in shared))
                common = sum(one.weight for one in shared) + _EMPTY * len(empty & phrase)
                whole = common + sum(math.sqrt(self._rare(word)) for word in phrase - covered)
                best = max(best, common**2 / (whole * query))
        return best

    def _meant(self, word: str) -> tuple[str, ...]:
        """*word* if known words begin with it; otherwise, the known ones that are meant."""
        if word in self._alike or word in self._terms or next(self._beginning(word), None) or not word.isalpha():
            return (word,)
        for place in range(_INSIDE, len(word) - _INSIDE + 1):
            if word[:place] in self._weights and word[place:] in self._weights:
                return word[:place], word[place:]
        near = get_close_matches(word, self._sorted, 1, _ALIKE) if word.isascii() else []
        return (near[0] if near else self._longest_part(word),)

    def _longest_part(self, word: str) -> str:
        """The longest known word that *word* begins or ends with, as German ones do."""
        parts = [word[:end] for end in range(len(word) - 1, _INSIDE - 1, -1)]
        parts += [word[start:] for start in range(1, len(word) - _INSIDE + 1)]
        return max((part for part in parts if part in self._weights), key=len, default=word)

    def _beginning(self, word: str) -> Iterator[str]:
        """The known words that begin with *word*."""
        place = bisect_left(self._sorted, word)
        rest = (self._sorted[n] for n in range(place, len(self._sorted)))
        return takewhile(lambda known: known.startswith(word), rest)

    def _sought(self, parts: Sequence[str]) -> _SoughtWord:
        """*parts* as one word, with what it counts in each entry that has it, or its parts."""
        word = "".join(parts)
        found = dict(self._scored(word))
        if len(parts) > 1:
            _raise_scores(found, [self._scored(part) for part in parts], 1.0)
        if word in self._alike:
            _raise_scores(found, [*map(self._scored, index_words(self._alike[word]))], _ALIAS)
        others = index_words(self._alike.get(word, ""))
        return _SoughtWord(frozenset({word, *parts, *others}), math.sqrt(self._rare(word)), found)

    def _scored(self, word: str) -> Mapping[int, float]:
        """What *word* counts in each entry that has it, or a word that it is part of."""
        found: dict[int, float] = {}
        for known, near in self._near(word):
            rare = self._rare(known) * near
            for number, weight in self._weights[known].items():
                found[number] = max(found.get(number, 0.0), weight * rare)
        return found

    def _near(self, word: str) -> Iterator[tuple[str, float]]:
        """The known words that *word* may stand for, and how much they count."""
        for known in self._beginning(word):
            yield known, 1.0 if known == word else _BEGUN * len(word) / len(known)
        if len(word) >= _INSIDE and word not in self._terms:
            for known in self._sorted:
                if word in known[1:]:
                    yield known, _WITHIN * len(word) / len(known)

    def _rare(self, word: str) -> float:
        """What *word* tells: the more, the fewer entries have it."""
        if word in _STOP:
            return _EMPTY
        return math.log(1 + len(self._entries) / max(1, len(self._weights.get(word, ()))))


def kind_asked(query: str) -> Kind | None:
    """The kind of page that a word of *query* names beside what it is about."""
    every = index_words(query)
    named = [_KIND_WORDS[word] for word in every if word in _KIND_WORDS]
    return named[-1] if named and set(query_words(query)) - set(_KIND_WORDS) else None


def _raise_scores(found: dict[int, float], parts: Sequence[Mapping[int, float]], share: float) -> None:
    """Raise what is *found* to the sum of *parts* where an entry has all of them."""
    for number in set.intersection(*map(set, parts)):
        found[number] = max(found.get(number, 0.0), share * sum(part[number] for part in parts))


def _weighed(entry: SearchEntry) -> Mapping[str, float]:
    """What each word counts in *entry*."""
    found: dict[str, float] = {}
    body = f"{entry.says} {entry.text} {' '.join(entry.questions)}"
    for text, weight in ((body, _TEXT), (entry.keywords, _KEYWORD), (entry.title, _TITLE)):
        for word, count in count_words(text).items():
            found[word] = weight * (1 + _AGAIN * (min(count, _OFTEN) - 1))
    return found
