"""The errata, the glossary, and what people ask for in words that no page has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from markupsafe import Markup
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from app.core.errors import NotFoundError, nearest
from app.core.expressions import fill
from app.core.translation import SOURCE, Numeral, language, noted, speaking, translate
from app.core.yaml_file import read_document
from app.course.kinds.schema_errors import refuse_faults

_FILE = Path(__file__).parent / "data" / "questions.yaml"


class QuestionFile(BaseModel):
    """The *pages* that answer, with what is asked in each language, and *words* that are alike."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    words: Mapping[str, str]
    pages: Mapping[str, Mapping[str, tuple[str, ...]]]


@cache
def question_file() -> QuestionFile:
    """The questions of all pages.

    Raises:
        ContentError: the file is not valid.
    """
    document = read_document(_FILE)
    with refuse_faults(document, document.values, QuestionFile):
        return QuestionFile.model_validate(document.values)


def questions_of(page: str) -> tuple[str, ...]:
    """What people ask, in English and in the current language, where *page* answers."""
    asked = question_file().pages.get(page, {})
    return tuple(text for code in dict.fromkeys((SOURCE, language())) for text in asked.get(code, ()))


Severity = Literal["A", "B", "C"]
_HERE = Path(__file__).parent / "data" / "errata"
_FILES: dict[Severity, str] = {"A": "answer_keys.yaml", "B": "claims.yaml", "C": "conventions.yaml"}
_ROW = re.compile(r"\A(?>(?P<says>.+?): )(?P<expression>[^|]+?) \|(?: (?P<form>.*))?")
_FORMULA = re.compile(r"\b(?:[a-z_]+)\.(?:[a-z0-9_]+)(?=\()")


Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]


@dataclass(frozen=True, slots=True)
class DerivationLine:
    """A line of a derivation: a description, an expression, and its value."""

    says: str
    expression: str
    value: str

    @property
    def formulas(self) -> tuple[str, ...]:
        """The formulas that the expression calls."""
        return tuple(dict.fromkeys(_FORMULA.findall(self.expression)))


def _read_line(row: object) -> DerivationLine:
    """The line that a file has as a *row* of a description, an expression and a unit."""
    match = _ROW.fullmatch(str(row))
    if match is None:
        raise ValueError(f"{row!r} must have the form: description, colon, expression, bar, unit")
    form = match["form"] or ""
    slot = f"{{{match['expression']} | {form}}}" if form else f"{{{match['expression']}}}"
    with speaking(SOURCE):  # it is read once, for every language
        return DerivationLine(match["says"], match["expression"], Numeral(fill(slot, {}, {})))


class Erratum(BaseModel):
    """A wrong or misleading claim in circulation, its words in short, and the correction."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: str
    severity: Severity
    title: str
    said: str = Field(min_length=2, max_length=40)
    claim: Stripped
    right: Stripped
    worked: tuple[Annotated[DerivationLine, BeforeValidator(_read_line)], ...]
    source: str
    exercises: tuple[str, ...] = ()


@cache
def errata() -> tuple[Erratum, ...]:
    """All errata, the most severe first.

    Raises:
        ContentError: a file cannot be read, or a derivation cannot be evaluated.
    """
    found = []
    for severity, name in _FILES.items():
        document = read_document(_HERE / name)
        for key, written in document.values.items():
            given = {**written, "id": key, "severity": severity} if isinstance(written, Mapping) else written
            with refuse_faults(document, written, Erratum, (key,)):
                found.append(Erratum.model_validate(given))
    return tuple(found)


def erratum_called(name: str) -> Erratum:
    """The erratum with the id *name*, such as E-01.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = {erratum.id: erratum for erratum in errata()}
    found = known.get(name.upper())
    if found is None:
        raise NotFoundError(
            translate("no erratum is called {name!r}{near}", name=name[:40], near=nearest(name[:40].upper(), known))
        )
    return found


def errata_of(exercise: str) -> tuple[Erratum, ...]:
    """The errata that concern the exercise with this id."""
    return tuple(erratum for erratum in errata() if exercise in erratum.exercises)


FILE = Path(__file__).parent / "data" / "terms.yaml"
# Names of terms that the search shows in the language of the page, and that no other page says.
_TRANSLATED = (noted("activation memory"), noted("sequence parallelism"), noted("zero bubble"))
_TAG = re.compile(r"(<[^>]+>)")
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
# Text in one of these elements is not prose, or is a link already.
_CLOSED = {"a", "code", "pre", "math", "svg", "h1", "h2", "h3", "th", "button", "label"}


class Term(BaseModel):
    """A term, its meaning, other spellings and its chapter; a *quiet* one is an everyday word, not marked in texts."""

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
        with refuse_faults(document, values, Term, (key,)):
            found[key] = Term.model_validate(values)
    ordered = sorted(found.items(), key=lambda pair: pair[1].term.removeprefix("the ").casefold())
    return dict(ordered)


def mark(html: Markup, unmarked: tuple[str, ...] = ()) -> Markup:
    """*html* with a link to the glossary, and the meaning, on the first occurrence of each term not in *unmarked*."""
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
