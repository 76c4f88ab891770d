"""Faults in the text of an exercise: hidden characters, lost structure, unsuitable sentences."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from app.authoring.texts import Script
from app.core.expressions import BLANK, blanked
from app.course.kinds import Finding, Where

_USUAL = "\n\t"
_HIDDEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0"
_FENCED = re.compile(r"^[ \t]*+(?P<fence>```|~~~)[^\n]*+\n(?:[^\n]*+\n)*?[ \t]*+(?P=fence)[ \t]*+$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)|\$[^$]+\$")
_RULE = re.compile(r"^(?=.*[^\W_]).*\|\s*:?-{2,}:?\s*\|", re.MULTILINE)
_FOLDED = {
    "a code block": re.compile(r"```|~~~"),
    "a table": _RULE,
    "a list": re.compile(r"(?:^|: )(?:- [^\n]+? - \S|\* [^\n]+? \* \S|1[.)] [^\n]+ 2[.)] \S)", re.MULTILINE),
    "a drawing": re.compile(
        r"^(?>[^\n]*?([-#=._|*░▒▓█─])\1{2})(?>[^\n]*?[ |])[^\n]*?([-#=._|*░▒▓█─])\2{2}", re.MULTILINE
    ),
}
_KEEP = "begin the text with `|` instead of `>`, which keeps its lines"
_FENCE = "put it in a ``` block, in a text that begins with `|`"
_BRACE = "a drawn value is {size}, and {{size}} only inside $...$; a brace for students is \\{"
_QUOTED = re.compile(r"[“„«](?P<inside>[^“”„«»]*)[”“»]", re.DOTALL)
_QUOTES = 'delete them, or write straight ones: "..."'
_DOLLAR = re.compile(r"(?<!\\)\$(?!\d)")  # $5 is a price
_PRICE = "mathematics is between two $ signs; a price is written \\$5"
_OTHER = r"(?:exercise|question|problem|task)"
_LEANS = re.compile(
    r"\A\W*(?:and|but|then|again|so|also|once more|the same|likewise)\b"
    rf"|\b(?:previous|preceding|last|earlier) {_OTHER}\b|\b{_OTHER}\s+(?:before|above)\b"
    r"|\bas (?:before|above)\b|\bthe one before\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:first|second|third|last|other|default) (?:variants?|numbers|drawings?|cases?|draws?)\b"
    r"|\bthe first (?:two|three|four) are\b|\bvariant \d",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:(?:paper|page|report|card|tutorial|blog|post|article|survey|data ?sheet|documentation)\b"
    r"[^.{}]{0,40}\b(?:says?|writes?|reports?|counts?|gives?|claims?|finds|looks|states)|reports)\b"
    r"(?P<said>.*?)(?:[.;?](?=\s)|\Z)",
    re.DOTALL,
)


def prove_characters(values: object, where: Where = ()) -> Iterator[Finding]:
    """Control characters, and invisible or direction-changing ones, anywhere in *values*."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from prove_characters(str(key), (*where, key))
            yield from prove_characters(value, (*where, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from prove_characters(value, (*where, index))
    elif isinstance(values, str):
        for character in sorted(set(filter(_is_hidden, values))):
            name = unicodedata.name(character, "a control character")
            says = f"contains U+{ord(character):04X} ({name.lower()}), which is invisible"
            yield Finding(where, says, "delete it; retype the word if you cannot find it")


def _is_hidden(character: str) -> bool:
    """Whether *character* is a control or a format character: NUL, bidi marks, zero width."""
    kind = unicodedata.category(character)
    return character in _HIDDEN or (kind in ("Cc", "Cf", "Co", "Cn") and character not in _USUAL)


def prove_shape(script: Script) -> Iterator[Finding]:
    """Texts that are not displayed as their author intended."""
    for where, text in script.texts:
        yield from prove_shape_of(where, text)


def prove_shape_of(where: Where, text: str) -> Iterator[Finding]:
    """The structure that the *text* at *where* loses on its way to the page."""
    if what := folded_structure(text):
        yield Finding(where, f"folds {what} into one line", _FENCE if "draw" in what else _KEEP)
    if quoted := _QUOTED.fullmatch(text.strip()):
        yield Finding(where, f"shows the quotation marks around it: {quoted[0][:20]!r}", _QUOTES)
    if _DOLLAR.search(blanked(text)):
        yield Finding(where, "has a $ that is not closed", _PRICE)
    if stray := stray_brace(text):
        yield Finding(where, f"shows a brace to students: {stray}", _BRACE)


def folded_structure(text: str) -> str:
    """The kind of structure in *text* that YAML folded into one line; empty if there is none.

    >>> folded_structure("| a | b | |---|---| | 1 | 2 |")
    'a table'
    """
    bare = _SPAN.sub(BLANK, _FENCED.sub("", text))
    rows = "\n".join(line for line in bare.split("\n") if not _is_row(line))
    return next((what for what, pattern in _FOLDED.items() if pattern.search(rows)), "")


def _is_row(line: str) -> bool:
    """Whether *line* is a row of a table, by itself."""
    return line.strip().startswith("|") and not _RULE.search(line)


def stray_brace(text: str) -> str:
    """The words around a brace that students would see."""
    found = re.search(r".{0,20}[{}].{0,20}", re.sub(r"\\[{}]", "", blanked(text)))
    return repr(found[0].strip()) if found else ""


def prove_phrases(script: Script) -> Iterator[Finding]:
    """Sentences that depend on another exercise, mention other drawings, or invent a claim."""
    for where, text in script.questions:
        if where == ("prompt",) and (found := _LEANS.search(text)):
            says = f"depends on another exercise: {found[0].strip()!r}"
            yield Finding(where, says, "say all that is needed: exercises return in any order")
    for where, text in script.texts:
        if found := _OTHERS.search(text):
            says = f"mentions other drawings, which a student does not see: {found[0]!r}"
            yield Finding(where, says, "give each row of `cases` its own text, or remove it")
        for claim in _CLAIM.finditer(text):
            if drawn := script.mentioned(claim["said"]) & script.varying:
                says = f"makes a source state {sorted(drawn)[0]}, which is drawn"
                cure = "tie the sentence to the row it is true of: its own text in `cases`"
                yield Finding(where, says, cure)
