"""The glossary: the terms in `terms.yaml`, and links to them in a text, one per term."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, ValidationError

from app.core.translation import language, noted, translate
from app.core.yaml_file import read_document
from app.course.content.refusals import refusal_of

FILE = Path(__file__).parent / "data" / "terms.yaml"
# Names of terms that the search shows in the language of the page, and that no other page says.
_TRANSLATED = (noted("activation memory"), noted("sequence parallelism"), noted("zero bubble"))
_TAG = re.compile(r"(<[^>]+>)")
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
_LINK = re.compile(r'<a class="term" href="/glossary#([^"]+)"')
# Text in one of these elements is not prose, or is a link already.
_CLOSED = {"a", "code", "pre", "math", "svg", "h1", "h2", "h3", "th", "button", "label"}


class Term(BaseModel):
    """A term, its meaning, and the chapter that covers it.

    *also* are other spellings; a *quiet* term is an everyday word, which is not marked in texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    term: str
    also: tuple[str, ...] = ()
    says: str
    chapter: str
    quiet: bool = False


@cache
def terms() -> Mapping[str, Term]:
    """Every term by its key, in alphabetical order.

    Raises:
        ContentError: the file is not valid.
    """
    document = read_document(FILE)
    found = {}
    for key, values in document.values.items():
        try:
            found[key] = Term.model_validate(values)
        except ValidationError as error:
            raise refusal_of(document, error, Term, (key,)) from error
    ordered = sorted(found.items(), key=lambda pair: pair[1].term.removeprefix("the ").casefold())
    return dict(ordered)


def mark(html: Markup, unmarked: tuple[str, ...] = ()) -> Markup:
    """*html* with a link to the glossary, and the meaning, on the first occurrence of each term.

    Terms in *unmarked*, in any of their spellings, are left alone. Meanings are in the current
    language.
    """
    return _mark(html, unmarked, language())


@lru_cache(maxsize=2048)
def _mark(html: Markup, unmarked: tuple[str, ...], _language: str) -> Markup:
    known = _spellings()
    seen = {known[name.casefold()][0] for name in unmarked if name.casefold() in known}
    closed: list[str] = []
    parts = []
    for part in _TAG.split(html):
        if part.startswith("<"):
            _enter_or_leave(part, closed)
            parts.append(part)
        else:
            parts.append(part if closed else _marked(part, seen))
    return Markup("".join(parts))  # consists of the same markup, and of escaped terms


def meaning(term: Term) -> str:
    """What *term* means, in the current language."""
    return translate(term.says.strip()) + term.says[len(term.says.rstrip()) :]


def marked(html: Markup) -> list[str]:
    """The keys of the terms that are marked in *html*."""
    return _LINK.findall(html)


def _enter_or_leave(tag: str, closed: list[str]) -> None:
    found = _NAME.match(tag)
    name = found[1].lower() if found else ""
    if name not in _CLOSED or tag.endswith("/>"):
        return
    if tag.startswith("</"):
        if closed and closed[-1] == name:
            closed.pop()
    else:
        closed.append(name)


def _marked(text: str, seen: set[str]) -> str:
    def one(match: re.Match[str]) -> str:
        key, term = _spellings()[match[0].casefold()]
        if key in seen:
            return match[0]
        seen.add(key)
        says = meaning(term)
        return Markup('<a class="term" href="/glossary#{}" data-says="{}" aria-description="{}">{}</a>').format(
            key, says, says, Markup(match[0])
        )

    return _pattern().sub(one, text)


@cache
def _spellings() -> Mapping[str, tuple[str, Term]]:
    return {
        spelling.casefold(): (key, term)
        for key, term in terms().items()
        if not term.quiet
        for spelling in (term.term, *term.also)
    }


@cache
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(_spellings(), key=len, reverse=True)
    words = "|".join(re.escape(spelling) for spelling in longest_first)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
