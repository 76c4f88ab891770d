"""Markdown with $LaTeX$ and code, as HTML that needs no scripts and no inline styles."""

import re
from collections.abc import Iterator
from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from math_core import LatexError, LatexToMathML
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_CACHED = 4096  # texts
_MATHEMATICS = LatexToMathML(fancy_error=False)
_PYTHON = PythonLexer(stripnl=False, ensurenl=False)
_BARE = HtmlFormatter(nowrap=True, classprefix="h-")
_MAY_LEAD = re.compile(r"\]\(|\]\[|\]:|<\w+:")
_STYLED_CELL = re.compile(r' style="text-align:(left|right|center)"')


class MathematicsError(ValueError):
    """The LaTeX between dollar signs cannot be converted."""


def mathml(latex: str, *, display: bool = False) -> Markup:
    """*latex* as MathML.

    Raises:
        MathematicsError: it cannot be converted.
    """
    try:
        return Markup(_MATHEMATICS.convert_with_local_state(latex, displaystyle=display))
    except LatexError as error:
        raise MathematicsError(f"${latex}$ is not valid LaTeX: {error}") from None


def python_html(source: str) -> Markup:
    """Python *source* as HTML, highlighted with classes that begin with h-."""
    return Markup(highlight(source, _PYTHON, _BARE))


@lru_cache(maxsize=_CACHED)
def html(text: str) -> Markup:
    """*text* as HTML blocks.

    Raises:
        MathematicsError: its LaTeX cannot be converted.
    """
    return Markup(_STYLED_CELL.sub(r' class="\1"', _MARKDOWN.render(text)))


@lru_cache(maxsize=_CACHED)
def inline_html(text: str) -> Markup:
    """*text* as inline HTML.

    Raises:
        MathematicsError: its LaTeX cannot be converted.
    """
    return Markup(_MARKDOWN.renderInline(text))


def addresses(text: str) -> Iterator[tuple[str, str]]:
    """The target of each link and image in *text*, as ("link" or "image", address)."""
    if not _MAY_LEAD.search(text):
        return
    for block in _MARKDOWN.parse(text):
        for token in block.children or ():
            if token.type == "link_open":
                yield "link", str(token.attrs["href"])
            elif token.type == "image":
                yield "image", str(token.attrs["src"])


def _fence(code: str, language: str, _: str) -> str:
    return str(python_html(code) if language in ("", "python") else escape(code))


def _mathematics(latex: str, options: dict[str, bool]) -> str:
    return str(mathml(latex.strip(), display=options["display_mode"]))


_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "highlight": _fence, "typographer": False})
    .enable("table")
    .use(dollarmath_plugin, renderer=_mathematics, allow_space=False, double_inline=True)
)
