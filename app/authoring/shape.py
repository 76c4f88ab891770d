"""Structure that was lost on the way to the page: folded lines, stray braces."""

import re
from collections.abc import Iterator

from app.authoring.texts import Script
from app.expressions import BLANK, blanked
from app.kinds import Finding, Where

_FENCED = re.compile(r"^\s*(?P<fence>```|~~~).*?^\s*(?P=fence)\s*$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)|\$[^$]+\$")
_RULE = re.compile(r"^(?=.*[^\W_]).*\|\s*:?-{2,}:?\s*\|", re.MULTILINE)
_FOLDED = {
    "a code block": re.compile(r"```|~~~"),
    "a table": _RULE,
    "a list": re.compile(
        r"(?:^|: )(?:- [^\n]+? - \S|\* [^\n]+? \* \S|1[.)] [^\n]+ 2[.)] \S)", re.MULTILINE
    ),
    "a drawing": re.compile(r"([-#=._|*░▒▓█─])\1{2}[^\n]*[ |]\S*([-#=._|*░▒▓█─])\2{2}"),
}
_KEEP = "begin the text with `|` instead of `>`, which keeps its lines"
_FENCE = "put it between lines of ``` in a text that begins with `|`"
_BRACE = "a drawn value is {size}, and {{size}} only inside $...$; a brace for students is \\{"


def prove_shape(script: Script) -> Iterator[Finding]:
    """Texts that do not come out as they were meant."""
    for where, text in script.texts:
        yield from prove_shape_of(where, text)


def prove_shape_of(where: Where, text: str) -> Iterator[Finding]:
    """What does not come out as it was meant of the *text* at *where*."""
    if what := folded(text):
        yield Finding(where, f"folds {what} into one line", _FENCE if "draw" in what else _KEEP)
    if stray := stray_brace(text):
        yield Finding(where, f"shows a brace to students: {stray}", _BRACE)


def folded(text: str) -> str:
    """What in *text* was meant to have lines of its own and stands in one; nothing if all is well.

    >>> folded("| a | b | |---|---| | 1 | 2 |")
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
