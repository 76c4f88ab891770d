"""Sentences that have no translation yet, on a page in another language: marked as English."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_FIELD = re.compile(r"%%|%\(\w+\)s|\{\w*[^{}]*\}")
_WORD = re.compile(r"[A-Za-z]{3}")
_REMEMBERED = 5_000  # sentences
_PLAIN = re.compile(r"[\w ,.;:-]+")
# What becomes of a character of a sentence in HTML: it is escaped, or it was Markdown.
_AS_HTML = {
    "'": "(?:'|&#39;)", '"': '(?:"|&#34;|&quot;)', "&": "&(?:amp;)?", "<": "(?:<|&lt;)",
    ">": "(?:>|&gt;)", "`": "(?:`|</?code[^<>]*>)", "*": r"(?:\*|</?(?:em|strong)>)?", " ": r"\s+",
}  # fmt: skip
_VALUE = r'(?:[^<>"]|</?(?:a|abbr|b|code|em|span|strong)\b[^<>]*>){0,400}?'
_VALUE_AT_AN_END = r'[^\s<>"]*'
# Stands for a sentence that was found and is held aside; a page that has one is left alone.
_SIGN = "\ue000"
_HELD = re.compile(rf"{_SIGN}(\d+){_SIGN}")
_READ = re.compile(rf'\s(?:alt|aria-label|data-says|placeholder|title)="[^"]*{_SIGN}')
_PARTS = re.compile(
    rf"(?P<hidden><(?P<block>script|style|textarea)\b.*?</(?P=block)>|<!--.*?-->)|{_HELD.pattern}"
    "|<[^>]*>",
    re.DOTALL,
)
_START = re.compile(r"<([a-z][\w-]*)")
_BARE = {"desc", "option", "title"}  # elements that hold text alone
_OF_DRAWINGS = {"text", "tspan"}


def english_marked(html: str, missing: Iterable[str]) -> str:
    """*html*, in which the *missing* sentences, which are not translated, say `lang="en"`."""
    here = [one for one in missing if _anchor(one) and _anchor(one) in html]
    if not here or _SIGN in html:
        return html
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"{_SIGN}{len(held) - 1}{_SIGN}"

    for one in sorted(here, key=lambda said: (-len(_FIELD.sub("", said)), said)):
        html = _pattern(one).sub(hold, html)
    return _resolved(html, held)


def _resolved(html: str, held: Sequence[str]) -> str:
    """*html* with what is *held* aside in its places again, marked where it is read."""
    out: list[str] = []
    end, start, element = 0, 0, ""  # of the latest element: its place in *out*, and its name
    for found in _PARTS.finditer(html):
        out.append(html[end : found.start()])
        end = found.end()
        text = _whole(found[0], held)
        if found[0].startswith(_SIGN):
            if element in _BARE:
                out[start] = _in_english(out[start])
            else:
                text = _wrapped(text, "tspan" if element in _OF_DRAWINGS else "span")
        elif name := not found["hidden"] and _START.match(text):
            start, element = len(out), name[1]
            text = _in_english(text) if _READ.search(found[0]) else text
        out.append(text)
    return "".join((*out, html[end:]))


def _whole(text: str, held: Sequence[str]) -> str:
    """*text* with the sentences that it stands for, and those in them."""
    while _SIGN in text:
        text = _HELD.sub(lambda found: held[int(found[1])], text)
    return text


def _wrapped(text: str, element: str) -> str:
    return f'<{element} lang="en">{text}</{element}>'


def _in_english(tag: str) -> str:
    """The start *tag* of an element whose texts are English."""
    return tag if " lang=" in tag else _START.sub(r'\g<0> lang="en"', tag, count=1)


@lru_cache(_REMEMBERED)
def _pattern(sentence: str) -> re.Pattern[str]:
    """What matches *sentence* in HTML, whatever its values are."""
    literal = [_literal(run) for run in _FIELD.sub("\0", sentence).strip().split("\0")]
    body = _VALUE.join([_either_case(literal[0]), *literal[1:]])
    if not literal[0]:
        body = _VALUE_AT_AN_END + body.removeprefix(_VALUE)
    if not literal[-1]:
        body = body.removesuffix(_VALUE) + _VALUE_AT_AN_END
    return re.compile(rf"(?<![A-Za-z\d]){body}(?![A-Za-z\d]|[\w-]*=\")")


def _literal(text: str) -> str:
    return "".join(_AS_HTML.get(char, re.escape(char)) for char in text)


def _either_case(literal: str) -> str:
    """*literal*, whose first letter may be a capital where it begins a sentence."""
    first = literal[:1]
    return f"[{first.lower()}{first.upper()}]{literal[1:]}" if first.isalpha() else literal


@lru_cache(_REMEMBERED)
def _anchor(sentence: str) -> str:
    """Words that are in a page which says *sentence*; none if it has hardly any."""
    if not _WORD.search(_FIELD.sub("", sentence)):
        return ""
    runs = _PLAIN.finditer(_FIELD.sub("\0", sentence))
    return max((run[0][1:] for run in runs), key=len)
