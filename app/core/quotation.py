"""What a stranger wrote, as the sentences of the app quote it.

The text of a learner is data wherever it goes. A plain sentence quotes it with `quoted`, as every
`{name!r}` of `translate` does. A sentence in Markdown takes it with `code_span`, and a whole plain
sentence, which may quote one, with `escaped`. All of them show as escapes what cannot be seen, such
as signs that turn the direction of a line, and what is quoted has a limit.
"""

import json
import re
from typing import TypeVar

T = TypeVar("T")
LONGEST = 200  # characters of a quotation
_LONGEST_CODE, _LONGEST_JSON = 300, 40
_EXACT = 1e15  # from here on, a float is written with an exponent
LITERAL = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_OPENING = re.compile(r"""(?<!\w)['"]""")
# A bracket that is closed may be the text of a link or an image if one of these follows it.
_MARKUP = re.compile(r"[\\`*<&$~]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")
_BLOCK = re.compile(r"\A(?:[#>|=+-]|\d+(?=[.)]))")


def plain(value: T) -> T | int:
    """*value*; a float that is a whole number as an int, so that no sentence says "0.0"."""
    is_whole = isinstance(value, float) and value % 1 == 0 and abs(value) < _EXACT
    return int(value) if is_whole else value  # type: ignore[call-overload]


def quote_value(value: object, longest: int = LONGEST) -> str:
    """*value* as Python writes it, at most *longest* characters and a quotation mark.

    >>> quote_value("12 GB")
    "'12 GB'"
    >>> quote_value(["send", 1, "x"], 12)
    "['send', 1,…"
    """
    try:
        text = repr(value[:longest] if isinstance(value, str) else value)
    except ValueError:  # an int of more digits than Python writes
        return "a very long number"
    is_cut = isinstance(value, str) and len(value) > longest
    if len(text) <= longest and not is_cut:
        return text
    cut = f"{text[: longest - 1]}…"
    still_open = _OPENING.search(LITERAL.sub("", cut))
    return cut + still_open[0] if still_open else cut


def quote_json(value: object) -> str:
    """The beginning of *value* as JSON."""
    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_JSON)
    except ValueError:  # an int of more digits than Python writes
        return "a very long number"


def code_span(text: str) -> str:
    """*text* as Markdown code in one line, whatever it contains."""
    line = visible(" ".join(text.split()))
    line = line if len(line) <= _LONGEST_CODE else f"{line[: _LONGEST_CODE - 1]}…"
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def escape_markdown(text: str) -> str:
    r"""The plain *text* as Markdown that reads the same, in one line.

    >>> escape_markdown("rank 0 waits at F[3, 0] for x[3, 0]")
    'rank 0 waits at F[3, 0] for x[3, 0]'
    >>> print(escape_markdown("[click](https://evil.example) for $x$"))
    [click\](https://evil.example) for \$x\$
    """
    line = visible(" ".join(text.split()))
    return _BLOCK.sub(_with_backslash, _MARKUP.sub(_with_backslash, line))


def shorten(text: str, longest: int = 2_000) -> str:
    """*text*, at most *longest* characters of it, without what cannot be seen."""
    shown = visible(text[:longest])
    return shown if len(text) <= longest else f"{shown[: longest - 1]}…"


def visible(text: str, but: str = "") -> str:
    """*text*, with the characters that cannot be seen as escapes, *but* those."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in but else ascii(one)[1:-1] for one in text)


def visible_lines(text: str) -> str:
    """*text* with its lines and tabs, and whatever else cannot be seen as escapes."""
    return visible(text, "\n\t")


def _with_backslash(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"
