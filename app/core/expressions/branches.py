"""Sentences of a text that depend on the drawn values.

`{when reads > writes}It mostly reads.{or when reads == writes}It does both.{otherwise}It mostly
writes.{end}` shows the first of its pieces whose condition holds, and none if no condition does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.expressions.evaluation import Names, holds
from app.core.expressions.parser import ExpressionError

_TAG = re.compile(
    r"(?P<alone>^[ \t]*(?=\{[^{}]*\}[ \t]*$))?"
    r"\{(?:(?P<opens>(?:or )?when)\s+(?P<condition>[^{}]+)|(?P<word>otherwise|end))\}"
    r"(?(alone)[ \t]*\n?)",
    re.MULTILINE,
)
_AFTER = {
    "when": ("", "end"),
    "or when": ("when", "or when"),
    "otherwise": ("when", "or when"),
    "end": ("when", "or when", "otherwise"),
}  # the tags that may come before


@dataclass(frozen=True, slots=True)
class Branch:
    """A piece of a text that is shown where *condition* holds; "" means where no other does."""

    condition: str
    text: str


def choose_branches(text: str, names: Names) -> str:
    """*text* with one piece, or none, of each group of pieces with conditions.

    Raises:
        ExpressionError: a group is not complete, or a condition cannot be worked out.
    """
    if "{when" not in text:
        return text
    return "".join(part if isinstance(part, str) else _chosen(part, names) for part in parts(text))


def parts(text: str) -> Iterator[str | tuple[Branch, ...]]:
    """What *text* always shows, and each group of pieces with conditions.

    Raises:
        ExpressionError: a group is not complete.

    >>> [*parts("It is {when a > b}more{otherwise}less{end}.")][1][0]
    Branch(condition='a > b', text='more')
    """
    at, group, last, condition = 0, list[Branch](), "", ""
    for match in _TAG.finditer(text):
        word, piece = match["opens"] or match["word"], text[at : match.start()]
        if last not in _AFTER[word]:
            raise ExpressionError(f"{match[0].strip()} may not come after {{{last or 'nothing'}}}")
        if word == "when":
            yield piece
        else:
            group.append(Branch(condition, piece))
        if word == "end":
            yield tuple(group)
            group = []
        at, last, condition = match.end(), word, (match["condition"] or "").strip()
    if last not in _AFTER["when"]:
        raise ExpressionError(f"{{end}} is missing after {{{last} …}}")
    yield text[at:]


def conditions(text: str) -> list[str]:
    """Every condition in *text*, in complete groups or not."""
    return [match["condition"].strip() for match in _TAG.finditer(text) if match["condition"]]


def without_tags(text: str) -> str:
    """*text* with all of its pieces, and none of the tags."""
    return _TAG.sub("", text)


def _chosen(group: tuple[Branch, ...], names: Names) -> str:
    return next((b.text for b in group if not b.condition or holds(b.condition, names)), "")
