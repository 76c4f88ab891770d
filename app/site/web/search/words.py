"""The words of texts and of queries, as the index knows them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

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


def is_empty_word(word: str) -> bool:
    """Whether *word* says nothing of what a question is about."""
    return word in _STOP


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
